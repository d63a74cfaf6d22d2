// Prior distributions over trees.
#pragma once

#include <cstddef>

namespace bcart {

// The prior weight of a tree is the product, over its boxes, of a weight of stopping or of making one split.
class TreePrior {
 public:
  virtual ~TreePrior() = default;
  // Of a box that stands at `depth` (the root at 0) and has `n_splits` splits to choose from. Where there are none, the
  // weight of stopping must be the same at all depths: such a box has one value.
  virtual double log_stop(std::size_t depth, std::size_t n_splits) const = 0;
  virtual double log_split(std::size_t depth, std::size_t n_splits) const = 0;
  virtual bool depends_on_depth() const = 0;
};

}  // namespace bcart
