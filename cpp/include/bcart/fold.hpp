// The last two levels of a folded graph: splits that are not listed, and found again when they are asked for.
#pragma once

#include <cstddef>
#include <vector>

#include "bcart/cells.hpp"
#include "bcart/graph.hpp"
#include "bcart/splits.hpp"

namespace bcart {

// What the fold of a graph with these cells takes, but for four bytes a box.
std::size_t fold_bytes(const Cells& cells);

// Knows the cells of every box. The graph and what the cells point to have to stay.
class Fold {
 public:
  Fold(const Graph& graph, const Cells& cells, const Family& family);

  const Cells& cells() const { return cells_; }
  const Family& family() const { return family_; }
  const SplitRules& rules() const { return rules_; }

  // Whether all statistics are whole numbers whose sums are exact, so that differences of sums are, too.
  bool is_exact() const { return is_exact_; }

  // Replaces `found` by the cells of a box.
  void find_cells(std::size_t box, std::vector<Cell>& found) const;

 private:
  const Graph& graph_;
  Cells cells_;
  Family family_;
  SplitRules rules_;
  TestNumbers numbers_;
  bool is_exact_;
  std::vector<BoxId> parents_;  // of each box, one of them
};

}  // namespace bcart
