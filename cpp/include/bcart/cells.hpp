// What the engine sees of the data, and the family of trees it looks at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace bcart {

using Code = std::uint8_t;
using Cell = std::uint32_t;

// Distinct rows of bin codes (row-major) with their leaf statistics and weights; borrowed for the time of a build.
struct Cells {
  std::size_t n_cells = 0;
  std::size_t n_features = 0;
  std::size_t n_statistics = 0;
  const Code* codes = nullptr;
  const double* statistics = nullptr;
  const double* weights = nullptr;
  std::vector<std::size_t> n_bins;  // per feature

  const Code* row(Cell cell) const { return codes + cell * n_features; }
};

struct Family {
  std::optional<std::size_t> max_depth;
  double min_samples_leaf = 1;
  double min_samples_split = 2;
};

// Weights are sums of floating-point numbers: one part in a billion short is not short.
inline bool is_enough(double weight, double minimum) { return weight * (1 + 1e-9) >= minimum; }

}  // namespace bcart
