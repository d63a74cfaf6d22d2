// Where the values of a box stand.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bcart/array.hpp"
#include "bcart/graph.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// One value a box; or, when depth is limited or the prior looks at it, one for each depth at which the box can be met
// (and a single one for boxes that have no split, which are alike at all depths). Places go up with the boxes.
class Depths {
 public:
  Depths(const Graph& graph, bool prior_depends_on_depth, Workers& workers);

  bool is_flat() const { return places_.size() == 0; }
  std::size_t n_places() const { return n_places_; }
  std::size_t n_bytes() const { return first_.size() * sizeof(std::uint32_t) + places_.size() * sizeof(std::uint64_t); }
  std::size_t place(std::size_t box, std::size_t depth) const {
    if (is_flat()) return box;
    const std::uint64_t place = places_[box];
    return (place & kAnyDepth) != 0 ? place & ~kAnyDepth : place + depth;
  }
  // The least depth of a box, and its places.
  std::size_t first_depth(std::size_t box) const { return is_flat() ? 0 : first_[box]; }
  std::size_t begin(std::size_t box) const { return place(box, first_depth(box)); }
  std::size_t end(std::size_t box) const { return box + 1 < n_boxes_ ? begin(box + 1) : n_places_; }

 private:
  static constexpr std::uint64_t kAnyDepth = std::uint64_t{1} << 63;

  std::size_t n_boxes_;
  std::size_t n_places_;
  Array<std::uint32_t> first_;
  Array<std::uint64_t> places_;  // minus the first depth, where there are several
};

}  // namespace bcart
