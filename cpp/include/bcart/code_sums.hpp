// Statistics of the children of one large box, whose cells need not be listed for them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bcart/cells.hpp"
#include "bcart/test_numbers.hpp"

namespace bcart {

// Sums of the statistics of a box's cells by their codes on one feature: both sides of every test on it follow.
class CodeSums {
 public:
  explicit CodeSums(const Cells& cells) : cells_(cells) {}

  static std::size_t n_bytes(const Cells& cells) {
    const auto most = std::max_element(cells.n_bins.begin(), cells.n_bins.end());
    return most == cells.n_bins.end() ? 0 : *most * cells.n_statistics * sizeof(double);
  }

  // From here on cells may be others, though they stand in the same place.
  void forget() { box_ = nullptr; }

  void write(std::span<const Cell> box, const Test& test, bool is_left, double* statistics) {
    if (box.data() != box_ || test.feature != feature_) add_up(box, test.feature);
    std::fill_n(statistics, cells_.n_statistics, 0.0);
    const std::size_t first = test.first(), end = std::size_t{test.lower} + 1;
    if (is_left) return add_codes(first, end, statistics);
    add_codes(0, first, statistics);
    add_codes(end, cells_.n_bins[feature_], statistics);
  }

 private:
  void add_up(std::span<const Cell> box, std::uint32_t feature) {
    box_ = box.data();
    feature_ = feature;
    const std::size_t n = cells_.n_statistics;
    sums_.assign(cells_.n_bins[feature] * n, 0.0);
    for (const Cell cell : box) {
      double* sums = sums_.data() + cells_.row(cell)[feature] * n;
      for (std::size_t k = 0; k < n; ++k) sums[k] += cells_.statistics[cell * n + k];
    }
  }

  void add_codes(std::size_t first, std::size_t end, double* statistics) const {
    const std::size_t n = cells_.n_statistics;
    for (std::size_t i = first * n; i < end * n; i += n) {
      for (std::size_t k = 0; k < n; ++k) statistics[k] += sums_[i + k];
    }
  }

  const Cells& cells_;
  const Cell* box_ = nullptr;
  std::uint32_t feature_ = 0;
  std::vector<double> sums_;
};

}  // namespace bcart
