// The cuts that may divide a box, and what tells the cells of a box apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bcart/array.hpp"
#include "bcart/cells.hpp"
#include "bcart/cut_counts.hpp"
#include "bcart/fingerprint.hpp"
#include "bcart/test_numbers.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// Boxes of so many cells, and two at least, are divided by what each cell answers to each cut.
inline constexpr std::size_t kMaxMaskCells = 64;
inline bool is_divided_by_answers(std::size_t n_cells) { return n_cells > 1 && n_cells <= kMaxMaskCells; }

// What SplitRules takes for so many cells and these cuts, or less.
std::size_t bytes_of_rules(const CutCounts& counts, std::size_t n_cells);

// All that is prepared once for a set of cells and read by every thread.
class SplitRules {
 public:
  SplitRules(const Cells& cells, const Family& family, Workers& workers);

  std::size_t max_splits(std::size_t n_cells) const { return counts_.max_splits(n_cells); }
  const Fingerprint& fingerprint(Cell cell) const { return fingerprints_[cell]; }
  const TestNumbers& numbers() const { return numbers_; }

  // Finds what all cells answer to all cuts, if it is not known. It has to be before the first box is divided by it; as
  // there may be none, and answers take long for many cells, it is not always done.
  void find_answers(Workers& workers);

 private:
  friend class SplitFinder;

  // Asks whether the code of a feature lies between two bounds, both included.
  struct Cut {
    std::uint32_t feature;
    Form form;
    std::uint32_t first;
    std::uint32_t last;
    std::size_t block_end;  // of the cuts of this form
    std::uint32_t number;   // of the test, if the next code occurs and, for a form that sends them, a missing value
  };

  std::vector<std::uint32_t> features_that_divide_anew(Workers& workers) const;
  void find_sides(std::size_t first_feature, std::size_t last_feature, std::vector<std::vector<Fingerprint>>& sides,
                  Workers& workers, std::size_t worker) const;
  std::vector<Fingerprint> sides_of_cuts(std::size_t feature, std::span<Fingerprint> bins) const;
  void add_cuts(std::size_t feature, const CutBlock& block);
  void write_answers(Cell cell);
  std::size_t n_cuts() const { return cuts_.size(); }

  const Cells& cells_;
  Family family_;
  TestNumbers numbers_;
  std::vector<Fingerprint> fingerprints_;
  std::vector<std::uint32_t> features_;  // that divide the cells as none before them does
  std::vector<Cut> cuts_;                // in the order of the representatives
  std::vector<std::size_t> first_cut_;   // of each of these features, as the next
  std::vector<std::size_t> first_bin_;
  std::size_t n_bins_ = 0;   // of all of them
  CutCounts counts_;         // the same
  std::size_t n_words_ = 0;  // 64-bit words of answers per cell
  bool checks_leaf_weight_ = false;
  bool checks_box_weight_ = false;  // of boxes of two cells and more

  bool has_answers_ = false;
  Array<std::uint64_t> answers_;  // bit k of a cell's words: its answer to cut k
};

}  // namespace bcart
