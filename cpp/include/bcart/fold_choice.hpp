// Whether the last two levels of a graph are better folded than listed.
#pragma once

#include <cstddef>
#include <optional>

#include "bcart/build.hpp"
#include "bcart/byte_counts.hpp"
#include "bcart/layers.hpp"

namespace bcart {

// Asked as soon as the boxes of a layer are there. What it is made with has to stay.
class FoldChoice {
 public:
  FoldChoice(const Cells& cells, const Family& family, const BuildLimits& limits, const ByteCounts& bytes,
             const Layers& layers, Workers& workers)
      : cells_(cells), family_(family), limits_(limits), bytes_(bytes), layers_(layers), workers_(workers) {}

  // Whether it would take neither too many bytes nor too long to add up what is below the boxes of a layer.
  bool is_possible(std::size_t depth);

  // Whether this is better than listing the next two layers, which are the last.
  bool is_better(std::size_t depth);

  // The same when the first of the two is there, and more is known.
  bool is_better_from_above(std::size_t depth);

 private:
  bool has_time_for(double n_pairs, const Layer& layer);
  double expected_bytes(std::size_t depth) const;

  const Cells& cells_;
  const Family& family_;
  const BuildLimits& limits_;
  const ByteCounts& bytes_;
  const Layers& layers_;
  Workers& workers_;
  std::optional<double> sums_a_cell_;  // once it is known
};

}  // namespace bcart
