// One recursion, many questions: Q(N) = leaf(N) (+) sum over splits of weight * Q(left) * Q(right).
#pragma once

#include <cstddef>
#include <vector>

#include "bcart/array.hpp"
#include "bcart/graph.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// The terms of a few consecutive boxes in logarithms, one box behind the other, each with its leaf first. Many boxes at
// a time keep many reads of memory under way, and make loops long enough to be worth vectorising.
struct Terms {
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

// The value of every box: one array, or one for each remaining depth (see Graph::n_levels).
struct Values {
  Values() = default;
  Values(Values&&) = default;  // move-only: a vector of move-only arrays claims to be copyable

  std::vector<Array<double>> levels;
  double root() const { return levels.back()[0]; }
};

// log_leaf holds one value a box, or is null if every leaf counts 1.
template <class Addition>
Values sweep(const Graph& graph, const double* log_leaf, double log_split, Workers& workers);

extern template Values sweep<LogSum>(const Graph&, const double*, double, Workers&);
extern template Values sweep<Maximum>(const Graph&, const double*, double, Workers&);

}  // namespace bcart
