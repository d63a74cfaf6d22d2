#include "bcart/sweep.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace bcart {
namespace {

constexpr std::size_t kGrain = 1024;
constexpr std::size_t kLookAhead = 8;  // boxes

// exp(x) for x <= 0, in plain arithmetic so that the compiler can do several at once and every platform gives the same
// bits. Below -700 the result is far too small to be seen in a sum with 1.
double exp_nonpositive(double x) {
  constexpr double kRound = 0x1.8p52;  // adding it rounds to a whole number, which then stands in the low bits
  constexpr double kLog2High = 0x1.62e42fefa3800p-1;
  constexpr double kLog2Low = 0x1.ef35793c76730p-45;
  x = x < -700 ? -700 : x;
  const double shifted = x * 0x1.71547652b82fep0 + kRound;
  const double n = shifted - kRound;
  const double r = (x - n * kLog2High) - n * kLog2Low;
  double p = 1.0 / 6227020800;  // Taylor's series: the rest is below 2^-56 for |r| <= log(2) / 2
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 1.0 / 2;
  p = p * r + 1;
  p = p * r + 1;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + (std::bit_cast<std::uint64_t>(shifted) << 52));
}

}  // namespace

double Maximum::add(double log_leaf, const double* log_terms, std::size_t n) {
  double largest = log_leaf;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, log_terms[i]);
  return largest;
}

double LogSum::add(double log_leaf, double* log_terms, std::size_t n) {
  const double largest = Maximum::add(log_leaf, log_terms, n);
  for (std::size_t i = 0; i < n; ++i) log_terms[i] = exp_nonpositive(log_terms[i] - largest);
  double sum = exp_nonpositive(log_leaf - largest);
  for (std::size_t i = 0; i < n; ++i) sum += log_terms[i];
  return largest + std::log(sum);
}

template <class Addition>
Values sweep(const Graph& graph, const double* log_leaf, double log_split, Workers& workers) {
  std::size_t most_splits = 0;
  for (std::size_t box = 0; box < graph.n_boxes(); ++box) {
    most_splits = std::max<std::size_t>(most_splits, graph.first_split[box + 1] - graph.first_split[box]);
  }
  std::vector<std::vector<double>> terms(workers.size(), std::vector<double>(most_splits));
  const auto leaf = [&](std::size_t box) { return log_leaf == nullptr ? 0.0 : log_leaf[box]; };
  const auto value = [&](std::size_t box, const double* child_values, std::size_t worker) {
    const std::size_t first = graph.first_split[box];
    const std::size_t n = graph.first_split[box + 1] - first;
    double* log_terms = terms[worker].data();
    for (std::size_t i = 0; i < n; ++i) {
      log_terms[i] = child_values[graph.left[first + i]] + child_values[graph.right[first + i]] + log_split;
    }
    return Addition::add(leaf(box), log_terms, n);
  };

  Values values;
  if (!graph.max_depth) {
    Array<double>& all = values.levels.emplace_back(graph.n_boxes());
    std::size_t begin = 0;
    for (const std::size_t end : graph.order_ends) {
      workers.run_ranges(begin, end, kGrain, [&](std::size_t first, std::size_t last, std::size_t worker) {
        for (std::size_t i = first; i < last; ++i) {
          const std::size_t next = graph.first_split[graph.order[std::min(i + kLookAhead, last - 1)]];
          __builtin_prefetch(graph.left.data() + next);
          __builtin_prefetch(graph.right.data() + next);
          all[graph.order[i]] = value(graph.order[i], all.data(), worker);
        }
      });
      begin = end;
    }
    return values;
  }
  for (std::size_t level = 0; level < graph.n_levels(); ++level) {
    Array<double>& here = values.levels.emplace_back(graph.level_size(level));
    const double* below = level == 0 ? nullptr : values.levels[level - 1].data();
    workers.run_ranges(0, here.size(), kGrain, [&](std::size_t first, std::size_t last, std::size_t worker) {
      for (std::size_t box = first; box < last; ++box) here[box] = below == nullptr ? leaf(box) : value(box, below, worker);
    });
  }
  return values;
}

template Values sweep<LogSum>(const Graph&, const double*, double, Workers&);
template Values sweep<Maximum>(const Graph&, const double*, double, Workers&);

}  // namespace bcart
