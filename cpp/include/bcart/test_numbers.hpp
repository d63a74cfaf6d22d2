// Numbers for the tests that splits make.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "bcart/cells.hpp"

namespace bcart {

// What a test asks; cells for which it holds go left. A box without missing values cannot tell where they would go.
enum class Form : std::uint8_t {
  below = 0,          // the code is at most `lower`, and no cell of the box has a missing value
  missing_left = 1,   // the code is at most `lower`, or the value is missing
  missing_right = 2,  // the code is at most `lower`, and the value is not missing
  is_missing = 3,
  equals = 4,  // the code is `lower`
};

// In the box of the test, `upper` is the next code after `lower` that occurs. The gap between the two decides where the
// threshold lies in the original units. Forms without a threshold have lower == upper.
struct Test {
  std::uint32_t feature = 0;
  Form form = Form::below;
  std::uint32_t lower = 0;
  std::uint32_t upper = 0;

  // The codes that go left are consecutive: from here to `lower`.
  std::uint32_t first() const { return form == Form::equals ? lower : form == Form::missing_right ? 1 : 0; }
  bool is_left(std::uint32_t code) const { return code - first() <= lower - first(); }
  friend bool operator==(const Test&, const Test&) = default;
};

// Writes the cells of a box that answer the test as told; one cell more may be overwritten behind them.
inline void select_cells(const Cells& cells, std::span<const Cell> box, const Test& test, bool is_left,
                         Cell* selected) {
  const std::uint32_t first = test.first();
  const std::uint32_t span = test.lower - first;
  for (const Cell cell : box) {  // without a branch: it would be mispredicted for every other cell
    *selected = cell;
    selected += (cells.row(cell)[test.feature] - first <= span) == is_left ? 1 : 0;
  }
}

// The same for a box of up to 64 cells, each with a bit of the mask; writes no more than it selects.
inline void select_cells(std::span<const Cell> box, std::uint64_t mask, Cell* selected) {
  for (; mask != 0; mask &= mask - 1) *selected++ = box[static_cast<std::size_t>(std::countr_zero(mask))];
}
inline std::uint64_t all_cells(std::size_t n_cells) { return ~std::uint64_t{0} >> (64 - n_cells); }

struct TooManyTests : std::exception {
  const char* what() const noexcept override {
    return "the features can be tested in more ways than 32 bits can number; lower max_bins, or use fewer features";
  }
};

// A one-to-one map between tests and 0, 1, ..., size() - 1, so that most problems need two bytes for a test.
class TestNumbers {
 public:
  TestNumbers(std::vector<std::size_t> n_bins, std::vector<Kind> kinds)
      : n_bins_(std::move(n_bins)), kinds_(std::move(kinds)), offsets_(n_bins_.size() + 1, 0) {
    for (std::size_t f = 0; f < n_bins_.size(); ++f) offsets_[f + 1] = offsets_[f] + n_tests(f);
    if (size() > std::size_t{1} << 32) throw TooManyTests();
  }

  std::size_t size() const { return offsets_.back(); }

  std::uint32_t number(const Test& test) const {
    std::size_t number = offsets_[test.feature];
    switch (kinds_[test.feature]) {
      case Kind::numeric:
        number += pair(test.lower, test.upper);
        break;
      case Kind::nominal:
        number += test.lower;
        break;
      case Kind::optional:
        if (test.form == Form::is_missing) break;
        number += 1 + n_gaps(test.feature) * static_cast<std::size_t>(test.form) + pair(test.lower - 1, test.upper - 1);
    }
    return static_cast<std::uint32_t>(number);
  }

  Test test(std::uint32_t number) const {
    const auto next = std::upper_bound(offsets_.begin(), offsets_.end(), std::size_t{number});
    const auto feature = static_cast<std::uint32_t>(next - offsets_.begin() - 1);
    const std::size_t rest = number - offsets_[feature];
    if (kinds_[feature] == Kind::nominal) {
      return {feature, Form::equals, static_cast<std::uint32_t>(rest), static_cast<std::uint32_t>(rest)};
    }
    if (kinds_[feature] == Kind::numeric) return gap_test(feature, Form::below, rest, 0);
    if (rest == 0) return {feature, Form::is_missing, 0, 0};
    return gap_test(feature, static_cast<Form>((rest - 1) / n_gaps(feature)), (rest - 1) % n_gaps(feature), 1);
  }

 private:
  // Pairs (lower, upper) of codes of known values.
  std::size_t n_gaps(std::size_t feature) const {
    return pairs_below(kinds_[feature] == Kind::optional ? n_bins_[feature] - 1 : n_bins_[feature]);
  }
  std::size_t n_tests(std::size_t feature) const {
    switch (kinds_[feature]) {
      case Kind::nominal:
        return n_bins_[feature];
      case Kind::optional:
        return 1 + 3 * n_gaps(feature);
      default:
        return n_gaps(feature);
    }
  }
  static std::size_t pairs_below(std::size_t upper) { return upper * (upper - 1) / 2; }
  static std::size_t pair(std::size_t lower, std::size_t upper) { return pairs_below(upper) + lower; }
  static Test gap_test(std::uint32_t feature, Form form, std::size_t pair, std::uint32_t first_code) {
    // The largest whose pairs begin at or before this one: a root that is exact where it counts.
    const auto upper = static_cast<std::uint32_t>((1 + std::sqrt(1 + 8 * static_cast<double>(pair))) / 2);
    const auto lower = static_cast<std::uint32_t>(pair - pairs_below(upper));
    return {feature, form, lower + first_code, upper + first_code};
  }

  std::vector<std::size_t> n_bins_;
  std::vector<Kind> kinds_;
  std::vector<std::size_t> offsets_;
};

}  // namespace bcart
