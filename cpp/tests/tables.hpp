// Tables of numbers.
#pragma once

#include <cstddef>
#include <vector>

#include "bcart/encode.hpp"

namespace bcart::check {

// Numbers that stand row by row.
inline Columns columns_of(const std::vector<double>& numbers, std::size_t n_columns) {
  Columns table{numbers.size() / n_columns, {}};
  for (std::size_t i = 0; i < n_columns; ++i) {
    table.columns.push_back({numbers.data() + i, static_cast<std::ptrdiff_t>(n_columns)});
  }
  return table;
}

}  // namespace bcart::check
