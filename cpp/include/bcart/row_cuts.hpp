// What separates the bins of all features of a table whose rows lie behind one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bcart/cuts.hpp"

namespace bcart {

// The cuts of some whole rows, in the order in which a processor with wide registers meets their numbers: it compares
// them where they lie, and no column has to be picked out first.
class RowCuts {
 public:
  // None if the processor is another, a feature has many cuts, or all together do not stay in the nearest cache.
  static std::optional<RowCuts> of(const std::vector<Cuts>& cuts, const std::vector<std::uint32_t>& first_code);

  // Writes the first code of its feature and the cuts that are not above it for each of n numbers, beginning with a
  // row. Returns whether all numbers are finite.
  bool encode(const double* numbers, std::size_t n, std::uint8_t* codes) const;

 private:
  RowCuts(const std::vector<Cuts>& cuts, const std::vector<std::uint32_t>& first_code, std::size_t most_cuts);

  std::size_t most_cuts_;                 // of a feature; the others have some that no number reaches
  std::vector<double> cuts_;              // for each four numbers the first cut of each, the second of each, ...
  std::vector<std::uint8_t> first_code_;  // of each number
};

}  // namespace bcart
