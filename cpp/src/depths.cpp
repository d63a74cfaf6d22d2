#include "bcart/depths.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

namespace bcart {
namespace {

constexpr std::size_t kGrain = 4096;

void lower_to(std::uint32_t& value, std::uint32_t bound) {
  std::atomic_ref<std::uint32_t> shared(value);
  std::uint32_t seen = shared.load(std::memory_order_relaxed);
  while (seen > bound && !shared.compare_exchange_weak(seen, bound, std::memory_order_relaxed)) {
  }
}

void raise_to(std::uint32_t& value, std::uint32_t bound) {
  std::atomic_ref<std::uint32_t> shared(value);
  std::uint32_t seen = shared.load(std::memory_order_relaxed);
  while (seen < bound && !shared.compare_exchange_weak(seen, bound, std::memory_order_relaxed)) {
  }
}

// The least and the greatest number of splits above each box.
void find_depths(const Graph& graph, Array<std::uint32_t>& first, Array<std::uint32_t>& last, Workers& workers) {
  const std::size_t limit = graph.last_depth().value_or(std::numeric_limits<std::uint32_t>::max());
  std::fill_n(first.data(), first.size(), std::numeric_limits<std::uint32_t>::max());
  std::fill_n(last.data(), last.size(), 0);
  first[0] = 0;
  graph.for_each_size([&](std::size_t begin, std::size_t end) {
    workers.run_ranges(begin, end, kGrain, [&](std::size_t from, std::size_t to, std::size_t worker) {
      Steps steps(workers, worker);
      for (std::size_t box = from; box < to; ++box) {
        const auto deepest = static_cast<std::uint32_t>(std::min<std::size_t>(last[box] + std::size_t{1}, limit));
        steps.add(1 + graph.n_splits_of[box]);
        for (std::size_t split = graph.first_split[box]; split < graph.last_split(box); ++split) {
          for (const BoxId child : {graph.left[split], graph.right[split]}) {
            lower_to(first[child], first[box] + 1);
            raise_to(last[child], deepest);
          }
        }
      }
    });
  });
}

}  // namespace

Depths::Depths(const Graph& graph, bool prior_depends_on_depth, Workers& workers)
    : n_boxes_(graph.n_boxes()), n_places_(graph.n_boxes()) {
  if (!graph.max_depth && !prior_depends_on_depth) return;
  first_.resize(n_boxes_);
  places_.resize(n_boxes_);
  Array<std::uint32_t> last(n_boxes_);
  find_depths(graph, first_, last, workers);
  n_places_ = 0;
  for (std::size_t box = 0; box < n_boxes_; ++box) {
    const bool is_alike = graph.n_splits_of[box] == 0;
    places_[box] = is_alike ? n_places_ | kAnyDepth : n_places_ - first_[box];  // so many boxes stand above it
    n_places_ += is_alike ? 1 : last[box] - first_[box] + std::size_t{1};
    if (box % kGrain == 0) workers.watch();
  }
}

}  // namespace bcart
