#include "bcart/layers.hpp"

#include <algorithm>
#include <cmath>

namespace bcart {

double Layers::n_possible(std::size_t depth, int power) const {
  double n = 0;
  for (std::size_t box = layers_[depth].n_expanded; box < layers_[depth].n_boxes; ++box) {
    n += std::pow(static_cast<double>(rules_.max_splits(graph_.n_cells[box])), power);
  }
  return n;
}

void Layers::tell(Graph& graph) const {
  std::size_t n_cells = 0;
  for (const Layer& layer : layers_) {
    graph.n_boxes_to.push_back(layer.n_boxes);
    graph.n_cells_to.push_back(n_cells += layer.n_cells);
    graph.n_splits_to.push_back(layer.n_splits);
  }
}

Layers::Sizes Layers::expected(std::size_t depth, std::size_t max_depth) const {
  const Layer& layer = layers_[depth];
  double part = 1;
  double n_new = 2;
  if (depth > 0) {
    const auto n_splits_above = static_cast<double>(layer.n_splits - layers_[depth - 1].n_splits);
    part = n_splits_above / std::max(n_possible(depth - 1, 1), 1.0);
    n_new = static_cast<double>(layer.size()) / std::max(n_splits_above, 1.0);
  }
  auto n_boxes = static_cast<double>(layer.size());
  const double splits_a_box = part * n_possible(depth, 1) / n_boxes;
  Sizes sizes{static_cast<double>(layer.n_boxes), static_cast<double>(layer.n_splits)};
  for (; depth < max_depth; ++depth) {
    sizes.n_splits += n_boxes * splits_a_box;
    n_boxes *= splits_a_box * n_new;
    sizes.n_boxes += n_boxes;
  }
  return sizes;
}

}  // namespace bcart
