// The cuts of features: which there are, how many, and what they take, before any cell is looked at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bcart/cells.hpp"
#include "bcart/test_numbers.hpp"

namespace bcart {

// Cuts of one form, which ask whether a code lies between `first` and a last one: `begin` for the first of them, then
// each code up to, but without, `end`.
struct CutBlock {
  Form form;
  std::uint32_t first;
  std::uint32_t begin;
  std::uint32_t end;

  std::size_t size() const { return end - begin; }
};

// Calls visit(block) in the order of the representatives.
template <class Visit>
void for_each_block(Kind kind, std::size_t n_bins, const Visit& visit) {
  const auto end = static_cast<std::uint32_t>(n_bins);
  const auto visit_some = [&](const CutBlock& block) {
    if (block.begin < block.end) visit(block);
  };
  switch (kind) {
    case Kind::numeric:
      visit_some({Form::below, 0, 0, end - 1});
      break;
    case Kind::nominal:
      for (std::uint32_t code = 0; code < end; ++code) visit_some({Form::equals, code, code, code + 1});
      break;
    case Kind::optional:
      visit_some({Form::is_missing, 0, 0, 1});
      visit_some({Form::missing_left, 0, 1, end - 1});
      visit_some({Form::missing_right, 1, 1, end - 1});
  }
}

// Of some features together.
struct CutCounts {
  std::size_t n_cuts = 0;
  std::size_t per_cell = 0;  // bounds the ways to divide a box, for each of its cells

  void add(Kind kind, std::size_t n_bins) {
    for_each_block(kind, n_bins, [&](const CutBlock& block) { n_cuts += block.size(); });
    per_cell += kind == Kind::optional ? 2 : 1;
  }

  std::size_t n_words() const { return (n_cuts + 63) / 64; }  // of 64 bits, one a cut
  std::size_t max_splits(std::size_t n_cells) const {
    constexpr std::size_t kMaxSmallBox = 20;  // beyond, 2^(cells-1) bipartitions bound nothing
    const std::size_t by_cuts = std::min(n_cuts, n_cells * per_cell);
    return n_cells > kMaxSmallBox ? by_cuts : std::min(by_cuts, (std::size_t{1} << (n_cells - 1)) - 1);
  }
};

inline CutCounts count_cuts(const std::vector<std::size_t>& n_bins, const std::vector<Kind>& kinds) {
  CutCounts counts;
  for (std::size_t f = 0; f < n_bins.size(); ++f) counts.add(kinds[f], n_bins[f]);
  return counts;
}

}  // namespace bcart
