#include "bcart/graph.hpp"

#include <atomic>
#include <bit>
#include <numeric>
#include <type_traits>
#include <utility>

namespace bcart {
namespace {

constexpr std::size_t kGrain = 4096;

}  // namespace

void Graph::shrink_to_fit() {
  first_split.shrink_to_fit();
  n_splits_of.shrink_to_fit();
  n_cells.shrink_to_fit();
  statistics.shrink_to_fit();
  tests.shrink_to_fit();
  left.shrink_to_fit();
  right.shrink_to_fit();
}

std::size_t Graph::n_bytes() const {
  const std::size_t a_box = sizeof(std::uint64_t) + 2 * sizeof(std::uint32_t) + n_statistics * sizeof(double);
  return n_boxes() * a_box + n_splits() * (2 * sizeof(BoxId) + tests.bytes_each());
}

std::size_t Graph::height(Workers& workers) const {
  Array<std::uint32_t> heights(n_boxes());
  Steps steps(workers, 0);
  for (std::size_t box = n_boxes(); box-- > 0;) {
    steps.add(1 + n_splits_of[box]);
    for (std::size_t split = first_split[box]; split < last_split(box); ++split) {
      heights[box] = std::max({heights[box], heights[left[split]] + 1, heights[right[split]] + 1});
    }
  }
  return heights[0];
}

// One bit stands for each possible test, and the place of one that is asked is the count of bits before its own.
void Graph::list_tests(std::size_t n_possible, Workers& workers) {
  Array<std::uint64_t> is_asked((n_possible + 63) / 64);
  const auto bit_of = [](std::uint32_t test) { return std::uint64_t{1} << test % 64; };
  workers.run_ranges(0, n_splits(), kGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t split = begin; split < end; ++split) {
      const std::atomic_ref word(is_asked[tests[split] / 64]);
      const std::uint64_t bit = bit_of(tests[split]);
      if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
    }
  });
  Array<std::uint32_t> n_before(is_asked.size());
  std::uint32_t n_asked = 0;
  for (std::size_t word = 0; word < is_asked.size(); ++word) {
    n_before[word] = n_asked;
    n_asked += static_cast<std::uint32_t>(std::popcount(is_asked[word]));
  }
  has_listed_tests = true;
  asked = Array<std::uint32_t>(n_asked);
  workers.run_ranges(0, n_splits(), kGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t split = begin; split < end; ++split) {
      const std::uint32_t test = tests[split];
      const int n_in_word = std::popcount(is_asked[test / 64] & (bit_of(test) - 1));
      tests.set(split, n_before[test / 64] + static_cast<std::uint32_t>(n_in_word));
    }
  });
  std::uint32_t* next = asked.data();
  for (std::size_t word = 0; word < is_asked.size(); ++word) {
    for (std::uint64_t left = is_asked[word]; left != 0; left &= left - 1) {
      *next++ = static_cast<std::uint32_t>(64 * word) + static_cast<std::uint32_t>(std::countr_zero(left));
    }
  }
}

// The ids of the first box of each cell count, if the largest comes first.
std::vector<BoxId> Graph::first_of_sizes() const {
  std::vector<BoxId> first(n_cells[0] + 1, 0);  // the root holds every cell
  for (const std::uint32_t n : n_cells) ++first[n];
  std::exclusive_scan(first.rbegin(), first.rend(), first.rbegin(), BoxId{0});
  return first;
}

void Graph::sort_by_size(const Numbering& numbering, Workers& workers) {
  std::vector<BoxId> next = first_of_sizes();
  const Numbering::Ids ids = numbering.ids(next);
  Array<BoxId> old_place;
  old_place.resize(n_boxes());
  for (std::size_t box = 0; box < n_boxes(); ++box) {
    old_place[next[n_cells[box]]++] = static_cast<BoxId>(box);
    if (box % kGrain == 0) workers.watch();
  }
  const auto reorder = [&](auto& array, std::size_t width) {
    std::remove_reference_t<decltype(array)> moved;
    moved.resize(array.size());
    workers.run_ranges(0, n_boxes(), kGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t box = begin; box < end; ++box) {
        std::copy_n(array.data() + old_place[box] * width, width, moved.data() + box * width);
      }
    });
    array = std::move(moved);
  };
  reorder(first_split, 1);
  reorder(n_splits_of, 1);
  reorder(n_cells, 1);
  reorder(statistics, n_statistics);
  workers.run_ranges(0, n_splits(), kGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t split = begin; split < end; ++split) {
      left[split] = ids[left[split]];
      right[split] = ids[right[split]];
    }
  });
}

}  // namespace bcart
