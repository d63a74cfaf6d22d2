#include "bcart/graph.hpp"

#include <algorithm>

namespace bcart {

void Graph::sort_boxes() {
  const std::size_t largest = n_boxes() == 0 ? 0 : n_cells[0];  // the root holds every cell
  std::vector<std::size_t> next(largest + 2, 0);
  for (const std::uint32_t n : n_cells) ++next[n + 1];
  for (std::size_t n = 1; n < next.size(); ++n) next[n] += next[n - 1];
  order_ends.assign(next.begin() + 1, next.end());
  order.resize(n_boxes());
  for (std::size_t box = 0; box < n_boxes(); ++box) order[next[n_cells[box]]++] = static_cast<BoxId>(box);
  order.shrink_to_fit();
}

}  // namespace bcart
