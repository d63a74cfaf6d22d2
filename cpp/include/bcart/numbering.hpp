// Numbers of boxes while they are found. Each size has runs of them, so that a number tells its place among all sizes
// by a list of runs, which stays in the cache where one of boxes would not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bcart/table.hpp"

namespace bcart {

class Numbering {
 public:
  explicit Numbering(std::size_t max_cells) : next_(max_cells + 1, 0) {}

  // Of the next box of so many cells. The first of all is zero.
  BoxId next(std::uint32_t n_cells) {
    BoxId& number = next_[n_cells];
    if (number % kRun == 0) {
      number = static_cast<BoxId>(end());
      sizes_of_runs_.push_back(n_cells);
    }
    return number++;
  }

  std::size_t end() const { return sizes_of_runs_.size() * kRun; }  // beyond all numbers

  // Numbers become ids: those of one size are consecutive and in the order in which they were given.
  class Ids {
   public:
    BoxId operator[](BoxId number) const { return first_of_runs_[number / kRun] + number % kRun; }

   private:
    friend class Numbering;
    std::vector<BoxId> first_of_runs_;
  };

  Ids ids(std::vector<BoxId> first_of_sizes) const {
    Ids ids;
    ids.first_of_runs_.reserve(sizes_of_runs_.size());
    for (const std::uint32_t size : sizes_of_runs_) {
      ids.first_of_runs_.push_back(first_of_sizes[size]);
      first_of_sizes[size] += kRun;
    }
    return ids;
  }

 private:
  static constexpr BoxId kRun = 256;

  std::vector<BoxId> next_;  // of each size; one that ends a run stands for none
  std::vector<std::uint32_t> sizes_of_runs_;
};

}  // namespace bcart
