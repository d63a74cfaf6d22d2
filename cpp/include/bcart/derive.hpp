// Derivations of the grammar: the most probable tree, and independent samples of trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bcart/grammar.hpp"
#include "bcart/random.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// Trees one behind the other, each in preorder: the root first, left subtrees before right ones.
struct Derivations {
  static constexpr std::int32_t kLeaf = -1;

  std::vector<std::uint64_t> tree_ends;  // in nodes
  std::vector<double> log_weight;        // of each tree: leaves times prior, not normalised
  std::vector<double> statistics;        // of each node's box
  std::vector<std::int64_t> test;        // of each node: its number, or kLeaf
  std::vector<std::int32_t> right;       // within its tree; the left child is the next node

  std::size_t n_nodes() const { return test.size(); }
  void reserve(const std::vector<Derivations>& parts);  // for all of them
  void append(const Derivations& more);
};

// Which split a box makes, if it does not stop.
inline constexpr std::size_t kStop = ~std::size_t{0};

// Stops before it splits, and takes the first split of equals (up to rounding): values come from sweep<Maximum>.
std::size_t best_rule(const Grammar& grammar, std::size_t box, std::size_t depth);

// Takes each rule with its probability: values come from sweep<LogSum>.
std::size_t random_rule(const Grammar& grammar, std::size_t box, std::size_t depth, Random& random);

// Of boxes in a fold that are opened on the way, those are kept for which there is room in max_bytes; as below.
Derivations derive_best(const Grammar& grammar, std::size_t max_bytes, Workers& workers);

// Of the infinite sequence of trees that belongs to the seed, n from a place on.
Derivations derive_samples(const Grammar& grammar, std::uint64_t seed, std::size_t n, std::size_t max_bytes,
                           Workers& workers, std::size_t first = 0);

}  // namespace bcart
