// One recursion, many questions: Q(N) = leaf(N) (+) sum over splits of weight * Q(left) * Q(right).
#pragma once

#include <cstddef>
#include <vector>

#include "bcart/array.hpp"
#include "bcart/grammar.hpp"
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

// Finds the values of a grammar, one a place; those it has are not looked at.
template <class Addition>
Array<double> sweep(const Grammar& grammar, Workers& workers);

extern template Array<double> sweep<LogSum>(const Grammar&, Workers&);
extern template Array<double> sweep<Maximum>(const Grammar&, Workers&);

}  // namespace bcart
