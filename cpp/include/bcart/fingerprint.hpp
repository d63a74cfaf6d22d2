// The identity of a set of cells: a sum of fixed random words, one 128-bit word a cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bcart {

struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  Fingerprint& operator+=(const Fingerprint& other) {
    low += other.low;
    high += other.high;
    return *this;
  }
  friend Fingerprint operator-(const Fingerprint& a, const Fingerprint& b) { return {a.low - b.low, a.high - b.high}; }
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// The words of cells 0, 1, ..., the same in every run and on every platform.
std::vector<Fingerprint> cell_fingerprints(std::size_t n_cells);

}  // namespace bcart
