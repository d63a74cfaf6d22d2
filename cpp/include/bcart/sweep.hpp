// One recursion, many questions: Q(N) = leaf(N) (+) sum over splits of weight * Q(left) * Q(right).
#pragma once

#include <cstddef>
#include <vector>

#include "bcart/array.hpp"
#include "bcart/depths.hpp"
#include "bcart/graph.hpp"
#include "bcart/prior.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// The terms of a few consecutive boxes in logarithms, one box behind the other, each with its leaf first. Many boxes at
// a time keep many reads of memory under way, and make loops long enough to be worth vectorising.
struct alignas(kCacheLine) Terms {
  std::vector<std::size_t> ends;  // of each box, in log_terms
  std::vector<double> log_terms;
};

// What (+) means; a product is a sum of logarithms for both. `reduce` writes one value for each of the boxes.
struct LogSum {
  static void reduce(Terms& terms, double* values);
};
struct Maximum {
  static void reduce(Terms& terms, double* values);
};

// log_leaf holds one value a box, or is null if every leaf counts 1. Returns one value a place.
template <class Addition>
Array<double> sweep(const Graph& graph, const Depths& depths, const TreePrior& prior, const double* log_leaf,
                    Workers& workers);

extern template Array<double> sweep<LogSum>(const Graph&, const Depths&, const TreePrior&, const double*, Workers&);
extern template Array<double> sweep<Maximum>(const Graph&, const Depths&, const TreePrior&, const double*, Workers&);

}  // namespace bcart
