#include "bcart/sweep.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

// Compiled for several widths of vectors, the widest that the processor has is taken at run time. The bits are the
// same.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(BCART_SANITIZED)
#define BCART_WIDEST_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define BCART_WIDEST_VECTORS
#endif

namespace bcart {
namespace {

constexpr std::size_t kGrain = 1024;   // boxes for one thread to take
constexpr std::size_t kTogether = 32;  // boxes whose terms are worked on together
constexpr std::size_t kLookAhead = 16;

// exp(x) for x <= 0, in plain arithmetic so that the compiler can do several at once and every platform gives the same
// bits. Below -700 the result is far too small to be seen in a sum with 1.
inline double exp_nonpositive(double x) {
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

BCART_WIDEST_VECTORS void exp_all(double* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) x[i] = exp_nonpositive(x[i]);
}

double largest(const double* begin, const double* end) {
  double result = *begin;
  for (const double* term = begin + 1; term < end; ++term) result = std::max(result, *term);
  return result;
}

// One sweep over one graph.
template <class Addition>
class Sweep {
 public:
  Sweep(const Graph& graph, const double* log_leaf, double log_split, Workers& workers)
      : graph_(graph), log_leaf_(log_leaf), log_split_(log_split), workers_(workers), terms_(workers.size()) {}

  Values run() {
    graph_.max_depth ? run_by_level() : run_by_size();
    return std::move(values_);
  }

 private:
  // Boxes of equal cell count do not depend on each other.
  void run_by_size() {
    const std::uint32_t* n_cells = graph_.n_cells.data();
    double* values = values_.levels.emplace_back(graph_.n_boxes()).data();
    for (std::size_t end = graph_.n_boxes(); end > 0;) {
      const std::uint32_t* begin = std::lower_bound(n_cells, n_cells + end, n_cells[end - 1], std::greater<>());
      const auto first = static_cast<std::size_t>(begin - n_cells);
      evaluate(first, end, values, values);
      end = first;
    }
  }

  // Boxes with some depth left depend on boxes with one less.
  void run_by_level() {
    const double* below = nullptr;
    for (std::size_t level = 0; level < graph_.n_levels(); ++level) {
      double* values = values_.levels.emplace_back(graph_.level_size(level)).data();
      evaluate(0, graph_.level_size(level), below, values);
      below = values;
    }
  }

  void evaluate(std::size_t first, std::size_t last, const double* child_values, double* values) {
    workers_.run_ranges(first, last, kGrain, [&](std::size_t begin, std::size_t end, std::size_t worker) {
      for (std::size_t box = begin; box < end; box += kTogether) {
        collect_terms(box, std::min(box + kTogether, end), child_values, terms_[worker]);
        Addition::reduce(terms_[worker], values + box);
      }
    });
  }

  // Without child values, boxes may only stop.
  void collect_terms(std::size_t begin, std::size_t end, const double* child_values, Terms& terms) const {
    terms.ends.clear();
    terms.log_terms.clear();
    for (std::size_t box = begin; box < end; ++box) {
      prefetch_splits(std::min(box + kLookAhead, graph_.n_boxes() - 1));
      terms.log_terms.push_back(log_leaf_ == nullptr ? 0.0 : log_leaf_[box]);
      if (child_values != nullptr) append_splits(box, child_values, terms.log_terms);
      terms.ends.push_back(terms.log_terms.size());
    }
  }

  void prefetch_splits(std::size_t box) const {
    const std::size_t last = graph_.last_split(box);
    for (std::size_t split = graph_.first_split[box]; split < last; split += kCacheLine / sizeof(BoxId)) {
      __builtin_prefetch(graph_.left.data() + split);
      __builtin_prefetch(graph_.right.data() + split);
    }
  }

  void append_splits(std::size_t box, const double* child_values, std::vector<double>& log_terms) const {
    const std::size_t first = graph_.first_split[box];
    const std::size_t n = graph_.n_splits_of[box];
    const BoxId* left = graph_.left.data() + first;
    const BoxId* right = graph_.right.data() + first;
    log_terms.resize(log_terms.size() + n);
    double* term = log_terms.data() + log_terms.size() - n;
    for (std::size_t i = 0; i < n; ++i) term[i] = child_values[left[i]] + child_values[right[i]] + log_split_;
  }

  const Graph& graph_;
  const double* log_leaf_;
  double log_split_;
  Workers& workers_;
  std::vector<Terms> terms_;  // one a worker
  Values values_;
};

}  // namespace

void Maximum::reduce(Terms& terms, double* values) {
  const double* begin = terms.log_terms.data();
  for (std::size_t i = 0; i < terms.ends.size(); ++i) {
    const double* end = terms.log_terms.data() + terms.ends[i];
    values[i] = largest(begin, end);
    begin = end;
  }
}

void LogSum::reduce(Terms& terms, double* values) {
  Maximum::reduce(terms, values);
  double* log_terms = terms.log_terms.data();
  std::size_t k = 0;
  for (std::size_t i = 0; i < terms.ends.size(); ++i) {
    for (const double most = values[i]; k < terms.ends[i]; ++k) log_terms[k] -= most;
  }
  exp_all(log_terms, terms.log_terms.size());
  k = 0;
  for (std::size_t i = 0; i < terms.ends.size(); ++i) {
    double sum = 0;
    for (; k < terms.ends[i]; ++k) sum += log_terms[k];
    values[i] += std::log(sum);
  }
}

template <class Addition>
Values sweep(const Graph& graph, const double* log_leaf, double log_split, Workers& workers) {
  return Sweep<Addition>(graph, log_leaf, log_split, workers).run();
}

template Values sweep<LogSum>(const Graph&, const double*, double, Workers&);
template Values sweep<Maximum>(const Graph&, const double*, double, Workers&);

}  // namespace bcart
