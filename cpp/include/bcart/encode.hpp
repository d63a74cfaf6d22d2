// From the columns of a table to bins and codes, in passes that read every number once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bcart/cuts.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// Numbers where they lie in memory, any distance apart; NaN stands for a missing one.
struct Column {
  const double* data = nullptr;
  std::ptrdiff_t stride = 1;

  double operator[](std::size_t row) const { return data[static_cast<std::ptrdiff_t>(row) * stride]; }
};

// Columns of equal length.
struct Columns {
  std::size_t n_rows = 0;
  std::vector<Column> columns;

  std::size_t size() const { return columns.size(); }
};

struct Blemishes {
  bool has_missing = false, has_infinite = false;

  void operator|=(const Blemishes& other) {
    has_missing |= other.has_missing;
    has_infinite |= other.has_infinite;
  }
};

// Writes codes row by row: 0 for a missing number, else the count of cuts that are not above it and the first code of
// the column, which fit into a code together. Returns what each column holds besides finite numbers.
template <class Code>
std::vector<Blemishes> encode(const Columns& table, const std::vector<Cuts>& cuts,
                              const std::vector<std::uint32_t>& first_code, Code* codes, Workers& workers);

// What has to be known of a column before bins are chosen.
struct Extent {
  bool has_missing = false;
  bool has_many = false;         // more distinct numbers than were asked for
  std::vector<double> distinct;  // in ascending order; if there are many, only the lowest and the highest
};

std::vector<Extent> survey(const Columns& table, std::size_t max_distinct, Workers& workers);

// The lowest and the highest number between neighbouring cuts, the first being infinity where there is none.
struct Bounds {
  std::vector<double> lowest, highest;
};

std::vector<Bounds> find_bounds(const Columns& table, const std::vector<std::vector<double>>& cuts, Workers& workers);

}  // namespace bcart
