// The distinct numbers of a column, for bins of equal weight.
#pragma once

#include <cstddef>

#include "bcart/array.hpp"
#include "bcart/encode.hpp"
#include "bcart/workers.hpp"

namespace bcart {

struct WeighedNumbers {
  Array<double> numbers;  // distinct and ascending, without missing ones
  Array<double> weights;  // of each: the sum over its rows, in their order
};

// Weights without data are all 1.
WeighedNumbers weigh(const Column& column, const Column& weights, std::size_t n_rows, Workers& workers);

}  // namespace bcart
