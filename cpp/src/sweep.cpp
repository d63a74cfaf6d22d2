#include "bcart/sweep.hpp"

#include <algorithm>
#include <cmath>

#include "bcart/exponential.hpp"
#include "bcart/grammar.hpp"

namespace bcart {
namespace {

constexpr std::size_t kGrain = 1024;   // boxes for one thread to take
constexpr std::size_t kTogether = 32;  // boxes whose terms are worked on together
constexpr std::size_t kLookAhead = 16;

double largest(const double* begin, const double* end) {
  double result = *begin;
  for (const double* term = begin + 1; term < end; ++term) result = std::max(result, *term);
  return result;
}

void prefetch_splits(const Graph& graph, std::size_t box) {
  const std::size_t last = graph.last_split(box);
  for (std::size_t split = graph.first_split[box]; split < last; split += kCacheLine / sizeof(BoxId)) {
    __builtin_prefetch(graph.left.data() + split);
    __builtin_prefetch(graph.right.data() + split);
  }
}

// The terms of some boxes, at all of their depths.
void collect_terms(const Grammar& grammar, std::size_t begin, std::size_t end, Terms& terms) {
  terms.ends.clear();
  terms.log_terms.clear();
  for (std::size_t box = begin; box < end; ++box) {
    prefetch_splits(grammar.graph, std::min(box + kLookAhead, grammar.graph.n_boxes() - 1));
    const std::size_t n_depths = grammar.depths.end(box) - grammar.depths.begin(box);
    for (std::size_t i = 0; i < n_depths; ++i) {
      grammar.append_terms(box, grammar.depths.first_depth(box) + i, terms.log_terms);
      terms.ends.push_back(terms.log_terms.size());
    }
  }
}

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

// A child has fewer cells than its parent, so boxes of equal cell count do not need each other.
template <class Addition>
Array<double> sweep(const Graph& graph, const Depths& depths, const TreePrior& prior, const double* log_leaf,
                    Workers& workers) {
  Array<double> values(depths.n_places());
  const Grammar grammar{graph, depths, prior, log_leaf, values.data()};
  std::vector<Terms> terms(workers.size());
  graph.for_each_size_upward([&](std::size_t first, std::size_t last) {
    workers.run_ranges(first, last, kGrain, [&](std::size_t begin, std::size_t end, std::size_t worker) {
      for (std::size_t box = begin; box < end; box += kTogether) {
        collect_terms(grammar, box, std::min(box + kTogether, end), terms[worker]);
        Addition::reduce(terms[worker], values.data() + depths.begin(box));
      }
    });
  });
  return values;
}

template Array<double> sweep<LogSum>(const Graph&, const Depths&, const TreePrior&, const double*, Workers&);
template Array<double> sweep<Maximum>(const Graph&, const Depths&, const TreePrior&, const double*, Workers&);

}  // namespace bcart
