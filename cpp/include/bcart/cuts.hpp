// What separates the bins of a feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bcart {

// Ascending numbers that part all others; a number belongs behind the cuts that are not above it.
class Cuts {
 public:
  explicit Cuts(const std::vector<double>& cuts);

  // How many cuts are not above each of n numbers; none if the number is missing.
  void count(const double* numbers, std::size_t n, std::int64_t* counts) const;

 private:
  std::size_t n_cuts_;
  int n_levels_ = 0;
  std::vector<double> padded_;  // to a power of two, with NaN, which no number reaches
};

}  // namespace bcart
