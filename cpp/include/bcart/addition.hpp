// What is added up over trees: probabilities in logarithms, or the best of them.
#pragma once

#include <cstddef>
#include <vector>

#include "bcart/memory.hpp"

namespace bcart {

// The terms of a few consecutive boxes in logarithms, one box behind the other, each with its leaf first. Many boxes at
// a time keep many reads of memory under way, and make loops long enough to be worth vectorising.
struct alignas(kCacheLine) Terms {
  std::vector<std::size_t> ends;  // of each box, in log_terms
  std::vector<double> log_terms;
  std::vector<double> values;  // of each box
};

// What (+) means; a product is a sum of logarithms for both. `reduce` writes one value for each of the boxes.
struct LogSum {
  static void reduce(Terms& terms);
};
struct Maximum {
  static void reduce(Terms& terms);
};

}  // namespace bcart
