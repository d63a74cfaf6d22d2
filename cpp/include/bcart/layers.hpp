// The layers of a graph that is being built, and what those to come may bring.
#pragma once

#include <cstddef>
#include <vector>

#include "bcart/graph.hpp"
#include "bcart/splits.hpp"

namespace bcart {

// What is there before the boxes of a layer are expanded.
struct Layer {
  std::size_t n_boxes;
  std::size_t n_splits;
  std::size_t n_expanded;  // boxes of the layers above
  std::size_t n_cells;     // of all its boxes together

  std::size_t size() const { return n_boxes - n_expanded; }
};

class Layers {
 public:
  Layers(const Graph& graph, const SplitRules& rules) : graph_(graph), rules_(rules) {}
  Layers(const Layers&) = delete;
  Layers& operator=(const Layers&) = delete;

  // The boxes that are not expanded are the next layer.
  void add(std::size_t n_expanded, std::size_t n_cells) {
    layers_.push_back({graph_.n_boxes(), graph_.n_splits(), n_expanded, n_cells});
  }

  const Layer& operator[](std::size_t depth) const { return layers_[depth]; }

  // Tells the graph what is there of trees up to each depth.
  void tell(Graph& graph) const;

  // How many splits there may be in the boxes of a layer; or pairs of splits, one made after the other.
  double n_possible(std::size_t depth, int power) const;

  struct Sizes {
    double n_boxes;
    double n_splits;
  };
  // Of all trees up to max_depth, if the layers from `depth` on are like the one above: as large a part of the splits
  // that there may be, as many new boxes a split, and boxes that have as many splits. Mostly these fall from layer to
  // layer, and it is rather too much.
  Sizes expected(std::size_t depth, std::size_t max_depth) const;

 private:
  const Graph& graph_;
  const SplitRules& rules_;
  std::vector<Layer> layers_;
};

}  // namespace bcart
