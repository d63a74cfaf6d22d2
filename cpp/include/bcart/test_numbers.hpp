// Numbers for the tests that splits make.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bcart {

// "The code of `feature` is at most `lower`", in a box where `upper` is the next code that occurs. The gap between the
// two decides where the threshold lies in the original units.
struct Test {
  std::uint32_t feature = 0;
  std::uint32_t lower = 0;
  std::uint32_t upper = 0;
  friend bool operator==(const Test&, const Test&) = default;
};

// A one-to-one map between tests and 0, 1, ..., size() - 1, so that most problems need two bytes for a test.
class TestNumbers {
 public:
  explicit TestNumbers(const std::vector<std::size_t>& n_bins) : offsets_(n_bins.size() + 1, 0) {
    for (std::size_t f = 0; f < n_bins.size(); ++f) offsets_[f + 1] = offsets_[f] + n_bins[f] * (n_bins[f] - 1) / 2;
  }

  std::size_t size() const { return offsets_.back(); }

  std::uint32_t number(const Test& test) const {
    return static_cast<std::uint32_t>(offsets_[test.feature] + below(test.upper) + test.lower);
  }

  Test test(std::uint32_t number) const {
    const auto next = std::upper_bound(offsets_.begin(), offsets_.end(), std::size_t{number});
    const auto feature = static_cast<std::uint32_t>(next - offsets_.begin() - 1);
    const std::size_t pair = number - offsets_[feature];
    std::uint32_t upper = 1;
    while (below(upper + 1) <= pair) ++upper;
    return {feature, static_cast<std::uint32_t>(pair - below(upper)), upper};
  }

 private:
  static std::size_t below(std::size_t upper) { return upper * (upper - 1) / 2; }

  std::vector<std::size_t> offsets_;
};

}  // namespace bcart
