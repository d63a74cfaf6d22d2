// The last two levels of a folded graph: splits that are not listed, and found again when they are asked for.
#pragma once

#include <cstddef>
#include <vector>

#include "bcart/cells.hpp"
#include "bcart/graph.hpp"
#include "bcart/splits.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// So many boxes with all cells may be added up at once, or more smaller ones.
inline constexpr std::size_t kBoxesAtOnce = 2;

// What the fold of a graph with these cells takes, and adding it up, but for four bytes a box.
std::size_t bytes_of_fold(const Cells& cells);

// What the cells of a box take that is opened, if these are all.
std::size_t bytes_of_own_cells(const Cells& cells);

// The fold, with the tables of all tests, any of which it may ask, and the cells of a box that is open and of its fold.
std::size_t bytes_of_folding(const Cells& cells);

// About how many sums a cell is added to for each box (see Twigs).
double sums_a_cell(const Cells& cells, Workers& workers);

// Seconds that one worker takes on a slow machine for two sweeps over the fold, below boxes that together have so many
// cells and pairs of splits.
double fold_seconds(double sums_a_cell, double n_cells_in_boxes, double n_pairs);

// Knows the cells of every box. The graph and what the cells point to have to stay.
class Fold {
 public:
  Fold(const Graph& graph, const Cells& cells, const Family& family, Workers& workers);
  Fold(const Fold&) = delete;
  Fold& operator=(const Fold&) = delete;

  const Cells& cells() const { return cells_; }
  const Family& family() const { return family_; }
  const SplitRules& rules() const { return rules_; }

  // The weight of a cell, then its statistics.
  const double* values(Cell cell) const { return values_.data() + cell * n_values(); }
  std::size_t n_values() const { return cells_.n_statistics + 1; }

  // Whether all statistics are whole numbers whose sums are exact, so that differences of sums are, too.
  bool is_exact() const { return is_exact_; }

  // Replaces `found` by the cells of a box.
  void find_cells(std::size_t box, std::vector<Cell>& found) const;

 private:
  const Graph& graph_;
  Cells cells_;
  Family family_;
  SplitRules rules_;
  bool is_exact_;
  std::vector<double> values_;  // of all cells
  std::vector<BoxId> parents_;  // of each box, one of them
};

}  // namespace bcart
