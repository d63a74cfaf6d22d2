// The rules of the grammar: what a box may do at a depth, and how much each choice weighs.
#pragma once

#include <cstddef>
#include <vector>

#include "bcart/depths.hpp"
#include "bcart/graph.hpp"
#include "bcart/leaf.hpp"
#include "bcart/prior.hpp"

namespace bcart {

class Fold;

struct Grammar {
  const Graph& graph;
  const Depths& depths;
  const TreePrior& prior;
  const double* log_leaf;           // of each box; null if every leaf counts 1
  const double* values;             // of each place: the logarithm of a box's sum or maximum over its trees
  const Fold* fold = nullptr;       // of a folded graph
  const LeafModel* leaf = nullptr;  // for the boxes in the fold; null if every leaf counts 1
  std::size_t stride = 1;           // from one place to the next, in values

  // At the rim of a folded graph the trees of a box go on in the fold, and its rules are not listed here.
  bool is_rim(std::size_t depth) const { return fold != nullptr && graph.last_depth() == depth; }
  bool has_rim(std::size_t box) const {
    return fold != nullptr && is_rim(depths.first_depth(box) + depths.end(box) - depths.begin(box) - 1);
  }

  // Splits that a box may still make.
  std::size_t n_splits(std::size_t box, std::size_t depth) const {
    return graph.last_depth() == depth ? 0 : graph.n_splits_of[box];
  }
  double value(std::size_t box, std::size_t depth) const { return values[stride * depths.place(box, depth)]; }
  double log_stop(std::size_t box, std::size_t depth) const {
    return (log_leaf == nullptr ? 0.0 : log_leaf[box]) + prior.log_stop(depth, n_splits(box, depth));
  }

  std::size_t n_rules() const {
    std::size_t n = depths.n_places();
    for (std::size_t box = 0; box < graph.n_boxes(); ++box) {
      const std::size_t n_depths = depths.end(box) - depths.begin(box);
      for (std::size_t i = 0; i < n_depths; ++i) n += n_splits(box, depths.first_depth(box) + i);
    }
    return n;
  }

  // Appends the log weight of stopping, then of each split; at the rim that of all trees in one.
  void append_terms(std::size_t box, std::size_t depth, std::vector<double>& log_terms) const {
    if (is_rim(depth)) return log_terms.push_back(value(box, depth));
    const std::size_t n = n_splits(box, depth);
    log_terms.push_back(log_stop(box, depth));
    if (n == 0) return;
    const BoxId* left = graph.left.data() + graph.first_split[box];
    const BoxId* right = graph.right.data() + graph.first_split[box];
    const double log_split = prior.log_split(depth, n);
    log_terms.resize(log_terms.size() + n);
    double* term = log_terms.data() + log_terms.size() - n;
    if (depths.is_flat()) {
      for (std::size_t i = 0; i < n; ++i) term[i] = values[stride * left[i]] + values[stride * right[i]] + log_split;
    } else {
      for (std::size_t i = 0; i < n; ++i) term[i] = value(left[i], depth + 1) + value(right[i], depth + 1) + log_split;
    }
  }
};

}  // namespace bcart
