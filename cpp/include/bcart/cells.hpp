// What the engine sees of the data, and the family of trees it looks at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bcart {

using Code = std::uint8_t;
using Cell = std::uint32_t;

// What the codes of a feature mean. Those of numeric features are in ascending order of the values; code 0 of an
// optional feature stands for a missing value, and the rest is as if it were numeric. Nominal codes have no order.
enum class Kind : std::uint8_t { numeric = 0, optional = 1, nominal = 2 };

// Distinct rows of bin codes (row-major) with their leaf statistics and weights; borrowed for the time of a build.
struct Cells {
  std::size_t n_cells = 0;
  std::size_t n_features = 0;
  std::size_t n_statistics = 0;
  const Code* codes = nullptr;
  const double* statistics = nullptr;
  const double* weights = nullptr;
  std::vector<std::size_t> n_bins;  // per feature: number of codes
  std::vector<Kind> kinds;          // per feature

  const Code* row(Cell cell) const { return codes + cell * n_features; }

  // Writes the sums of the statistics of some cells; of a few cells one sum after the other, which stays in a register.
  void add_up(std::span<const Cell> some, double* sums) const {
    constexpr std::size_t kFew = 64;
    if (some.size() > kFew) return add_up_rows(some, sums);
    for (std::size_t k = 0; k < n_statistics; ++k) {
      double sum = 0;
      for (const Cell cell : some) sum += statistics[cell * n_statistics + k];
      sums[k] = sum;
    }
  }

 private:
  void add_up_rows(std::span<const Cell> some, double* sums) const {
    std::fill_n(sums, n_statistics, 0.0);
    for (const Cell cell : some) {
      const double* added = statistics + cell * n_statistics;
      for (std::size_t k = 0; k < n_statistics; ++k) sums[k] += added[k];
    }
  }
};

struct Family {
  std::optional<std::size_t> max_depth;
  double min_samples_leaf = 1;
  double min_samples_split = 2;
};

// Weights are sums of floating-point numbers: one part in a billion short is not short.
inline bool is_enough(double weight, double minimum) { return weight * (1 + 1e-9) >= minimum; }

}  // namespace bcart
