// Builds the graph of boxes, layer by layer.
#pragma once

#include <cstddef>
#include <limits>

#include "bcart/cells.hpp"
#include "bcart/graph.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// What a monitor may want to tell while a build runs.
struct Progress {
  std::size_t depth = 0;       // of the layer being expanded
  std::size_t n_boxes = 0;     // found so far
  std::size_t n_splits = 0;    // found so far
  std::size_t n_expanded = 0;  // of the layer
  std::size_t layer_size = 0;
  std::size_t n_bytes = 0;
};

// Whether the last two levels of a graph whose depth is limited are folded, see Fold.
enum class Folding : int { automatic = 0, never = 1, always = 2 };

struct BuildLimits {
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
  Folding folding = Folding::automatic;
  std::size_t max_boxes = kClaim - 2;  // that can be numbered
};

// When the byte budget, the workers' deadline or the numbers of boxes would be exceeded, the deepest complete layer
// stands: the graph then holds every tree of the family up to `graph.max_depth`, which is 0 if not even the root could
// be expanded. Workers whose tools would not be small beside the budget are ended.
Graph build_graph(const Cells& cells, const Family& family, const BuildLimits& limits, Workers& workers,
                  Progress& progress);

}  // namespace bcart
