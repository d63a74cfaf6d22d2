// All boxes and splits of a family of trees, in flat arrays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "bcart/array.hpp"
#include "bcart/numbering.hpp"
#include "bcart/table.hpp"
#include "bcart/test_numbers.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// Numbers of tests in two bytes each where that is enough, else in four.
class TestArray {
 public:
  explicit TestArray(std::size_t n_tests = 0) : is_narrow_(n_tests <= std::size_t{1} << 16) {}

  bool is_narrow() const { return is_narrow_; }
  std::size_t bytes_each() const { return is_narrow_ ? 2 : 4; }
  const Array<std::uint16_t>& narrow() const { return narrow_; }
  const Array<std::uint32_t>& wide() const { return wide_; }
  std::uint32_t operator[](std::size_t i) const { return is_narrow_ ? narrow_[i] : wide_[i]; }

  void set(std::size_t i, std::uint32_t number) {
    if (is_narrow_) {
      narrow_[i] = static_cast<std::uint16_t>(number);
    } else {
      wide_[i] = number;
    }
  }
  void resize(std::size_t size) { is_narrow_ ? narrow_.resize(size) : wide_.resize(size); }
  void shrink_to_fit() { is_narrow_ ? narrow_.shrink_to_fit() : wide_.shrink_to_fit(); }

 private:
  bool is_narrow_;
  Array<std::uint16_t> narrow_;
  Array<std::uint32_t> wide_;
};

// What is known of each test that may be asked, for rows and trees (see Routing in Python).
inline constexpr std::size_t kBytesPerTest = 38;

inline constexpr std::size_t kFoldedLevels = 2;
inline constexpr BoxId kNoBox = ~BoxId{0};  // of a box in the fold, which has no number

// Why the build stopped adding layers.
enum class Ending : int { complete = 0, max_depth = 1, memory = 2, time = 3, system = 4, numbers = 5 };

// Boxes are sorted by cell count, the largest first: box 0 is the root, and parents come before children. The splits of
// a box are consecutive.
struct Graph {
  std::vector<std::size_t> n_bins;  // of each feature, as the next
  std::vector<Kind> kinds;
  std::size_t n_statistics = 0;
  Array<std::uint64_t> first_split;  // of each box, as the next three
  Array<std::uint32_t> n_splits_of;
  Array<std::uint32_t> n_cells;
  Array<double> statistics;  // n_boxes x n_statistics
  TestArray tests;           // of each split, as the next two
  Array<BoxId> left;
  Array<BoxId> right;
  bool has_listed_tests = false;  // `tests` holds places among those that are asked, whose numbers these are:
  Array<std::uint32_t> asked;
  std::optional<std::size_t> max_depth;  // none: every tree of the family is here
  std::size_t n_folded = 0;              // so many of the last levels of splits are not listed, see Fold
  Ending ending = Ending::complete;
  std::size_t n_bytes_counted = 0;  // against the budget, at most

  // Boxes, their cells, and listed splits of trees up to depth 0, 1, ..., as far as all of them were found.
  std::vector<std::size_t> n_boxes_to;
  std::vector<std::size_t> n_cells_to;
  std::vector<std::size_t> n_splits_to;

  // All that was found, with what is not kept since its layer was not finished; and the boxes whose splits were listed.
  std::size_t n_boxes_found = 0;
  std::size_t n_cells_found = 0;  // of the boxes
  std::size_t n_splits_found = 0;
  std::size_t n_boxes_tried = 0;

  std::size_t n_boxes() const { return n_cells.size(); }
  std::size_t n_splits() const { return left.size(); }
  std::size_t n_bytes() const;
  // That have a number here.
  std::size_t n_tests() const { return has_listed_tests ? asked.size() : TestNumbers(n_bins, kinds).size(); }
  std::size_t last_split(std::size_t box) const { return first_split[box] + n_splits_of[box]; }
  // Where boxes have no listed split any more.
  std::optional<std::size_t> last_depth() const { return n_folded > 0 ? *max_depth - n_folded : max_depth; }

  // The depth of the deepest tree.
  std::size_t height(Workers& workers) const;

  // Calls visit(begin, end) for the boxes of each cell count, the largest first; or the smallest first.
  template <class Visit>
  void for_each_size(const Visit& visit) const {
    for (std::size_t begin = 0; begin < n_boxes();) {
      const std::uint32_t* next =
          std::upper_bound(n_cells.begin() + begin, n_cells.end(), n_cells[begin], std::greater());
      const auto end = static_cast<std::size_t>(next - n_cells.begin());
      visit(begin, end);
      begin = end;
    }
  }
  template <class Visit>
  void for_each_size_upward(const Visit& visit) const {
    for (std::size_t end = n_boxes(); end > 0;) {
      const std::uint32_t* first =
          std::lower_bound(n_cells.begin(), n_cells.begin() + end, n_cells[end - 1], std::greater());
      const auto begin = static_cast<std::size_t>(first - n_cells.begin());
      visit(begin, end);
      end = begin;
    }
  }

  // Whether tables of all possible tests would be large. Those that a fold asks are not known yet.
  bool wants_listed_tests() const { return n_folded == 0 && !tests.is_narrow(); }

  // Numbers the tests anew, of which far more are possible than splits ask: of these and in their order.
  void list_tests(std::size_t n_possible, Workers& workers);

  void shrink_to_fit();

  // Puts boxes into the order of falling cell counts, those of equal count in the order in which they stand, and gives
  // them ids instead of numbers. The small ones, which are asked for most, then share cache lines.
  void sort_by_size(const Numbering& numbering, Workers& workers);

 private:
  std::vector<BoxId> first_of_sizes() const;
};

}  // namespace bcart
