// One recursion, many questions: Q(N) = leaf(N) (+) sum over splits of weight * Q(left) * Q(right).
#pragma once

#include <cstddef>
#include <vector>

#include "bcart/array.hpp"
#include "bcart/graph.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// In logarithms: what (+) means. Products are sums of logarithms in both.
struct LogSum {
  static double add(double log_leaf, double* log_terms, std::size_t n);
};
struct Maximum {
  static double add(double log_leaf, const double* log_terms, std::size_t n);
};

// The value of every box: one array, or one for each remaining depth (see Graph::n_levels).
struct Values {
  Values() = default;
  Values(Values&&) = default;  // an Array moves and does not copy, which a vector of them would hide

  std::vector<Array<double>> levels;
  double root() const { return levels.back()[0]; }
};

// log_leaf holds one value a box, or is null if every leaf counts 1.
template <class Addition>
Values sweep(const Graph& graph, const double* log_leaf, double log_split, Workers& workers);

extern template Values sweep<LogSum>(const Graph&, const double*, double, Workers&);
extern template Values sweep<Maximum>(const Graph&, const double*, double, Workers&);

}  // namespace bcart
