// Derivations of the grammar: the most probable tree, and independent samples of trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bcart/graph.hpp"
#include "bcart/sweep.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// Trees one behind the other, each in preorder: the root first, left subtrees before right ones.
struct Derivations {
  static constexpr std::int32_t kLeaf = -1;

  std::vector<std::uint64_t> tree_ends;  // in nodes
  std::vector<double> log_weight;        // of each tree: leaves times splits, not normalised
  std::vector<BoxId> box;                // of each node, as all below
  std::vector<std::int32_t> feature;     // kLeaf if it is one
  std::vector<std::int32_t> lower;       // the test's codes, see Test
  std::vector<std::int32_t> upper;
  std::vector<std::int32_t> right;  // within its tree; the left child is the next node

  void append(const Derivations& more);
};

// Stops before it splits, and takes the first split of equals (up to rounding): maxima come from sweep<Maximum>.
Derivations derive_best(const Graph& graph, const double* log_leaf, const Values& maxima, double log_split);

// The first n trees of the infinite sequence that belongs to the seed.
Derivations derive_samples(const Graph& graph, const double* log_leaf, const Values& sums, double log_split,
                           std::uint64_t seed, std::size_t n, Workers& workers);

}  // namespace bcart
