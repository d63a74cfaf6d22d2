// Rows that are asked about, and the side of every test that they go to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bcart/cells.hpp"
#include "bcart/graph.hpp"

namespace bcart {

// A query has one position a feature. Of each test (by its number, see TestNumbers) it is known which feature it looks
// at and which positions, from `first` to `last`, go left. Position 0 is that of a missing value; some tests have not
// learned where it goes, and send it to the side of more weight.
struct Queries {
  std::size_t n_queries = 0;
  std::size_t n_features = 0;
  const std::uint32_t* positions = nullptr;  // n_queries x n_features
  std::size_t n_tests = 0;
  const std::uint32_t* feature = nullptr;  // of each test, as the next three
  const std::uint32_t* first = nullptr;
  const std::uint32_t* last = nullptr;
  const std::uint8_t* has_learned_missing = nullptr;
  const double* weight_of = nullptr;  // of each box; null if no query has a missing value

  bool is_undecided(std::size_t query, std::size_t test) const {
    return has_learned_missing[test] == 0 && positions[query * n_features + feature[test]] == 0;
  }
  bool is_left(std::size_t query, std::size_t test) const {
    return positions[query * n_features + feature[test]] - first[test] <= last[test] - first[test];
  }
  // With the weights of the boxes of that graph.
  static bool is_heavier_left(const Graph& graph, std::size_t split, const double* weight_of) {
    return is_enough(weight_of[graph.left[split]], weight_of[graph.right[split]]);
  }
};

}  // namespace bcart
