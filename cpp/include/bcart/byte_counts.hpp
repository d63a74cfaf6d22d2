// The bytes that are held against the budget of a build.
#pragma once

#include <cstddef>

#include "bcart/cells.hpp"

namespace bcart {

// They are told before any memory is taken, by the number of cells and the kinds and bins of features alone.
struct ByteCounts {
  explicit ByteCounts(const Cells& cells);

  std::size_t rules;      // see SplitRules
  std::size_t work;       // of one worker at the widest box
  std::size_t workspace;  // that each worker holds besides
  std::size_t a_box;
  std::size_t a_split;
  std::size_t fold;  // if the graph is folded, but for what it takes for each box

  std::size_t before_first_box() const { return rules + work; }

  // What the others hold while they work is not counted, so there are only as many as it is little for.
  std::size_t n_affordable_workers(std::size_t max_bytes) const;
};

}  // namespace bcart
