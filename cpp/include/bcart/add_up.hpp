// The statistics of rows, added up for each group.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bcart/encode.hpp"
#include "bcart/group.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// Statistics of consecutive rows, one row behind the other, and the weight of each row.
struct Summands {
  std::size_t n_rows = 0;
  std::size_t n_statistics = 0;
  const double* statistics = nullptr;
  Column weights;
};

// Adds to the sums of each group the statistics of its rows, each times its weight, and behind them the weight. Rows
// are added in their order, so every bit of a sum is that of a plain loop over the rows.
void add_up(const Group* group_of, std::size_t n_groups, const Summands& rows, double* sums, Workers& workers);

// Labels 0, 1, ... of consecutive rows, and the weight of each row.
template <class Label>
struct Labelled {
  std::size_t n_rows = 0;
  std::size_t n_labels = 0;
  const Label* labels = nullptr;
  Column weights;
};

// As add_up does for rows whose statistics are a 1 in the place of the label and else 0. Throws std::out_of_range if a
// label has no place.
template <class Label>
void count_labels(const Group* group_of, std::size_t n_groups, const Labelled<Label>& rows, double* sums,
                  Workers& workers);

}  // namespace bcart
