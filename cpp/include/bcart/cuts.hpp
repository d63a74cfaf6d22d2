// What separates the bins of a feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bcart {

// Whether the processor compares four numbers at once instead of two.
bool has_wide_registers();

// Ascending numbers that part all others; a number belongs behind the cuts that are not above it.
class Cuts {
 public:
  static constexpr std::size_t kFew = 20;           // that are faster compared one by one than searched
  static constexpr std::size_t kMostNumbers = 256;  // at once, so that they stay in the nearest cache

  explicit Cuts(const std::vector<double>& cuts);

  std::span<const double> values() const { return {padded_.data(), n_cuts_}; }

  // How many cuts are not above each of n numbers; none if the number is missing.
  void count(const double* numbers, std::size_t n, std::int64_t* counts) const;

  // Adds as many, shifted to the left, to each of n words. Returns whether all numbers are finite.
  bool add_counts(const double* numbers, std::size_t n, int shift, std::uint64_t* words) const;

 private:
  void search(const double* numbers, std::size_t n, std::int64_t* counts) const;
  std::uint64_t search_and_add(const double* numbers, std::size_t n, int shift, std::uint64_t* words) const;

  std::size_t n_cuts_;
  int n_levels_ = 0;
  std::vector<double> padded_;  // to a power of two, with NaN, which no number reaches
};

}  // namespace bcart
