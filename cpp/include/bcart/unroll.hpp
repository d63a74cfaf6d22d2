// Short loops that the compiler writes out, so that what they need stays in registers.
#pragma once

#include <cstddef>
#include <utility>

namespace bcart {

// Calls work(std::index_sequence<0, ..., n - 1>()) for n up to the most there may be.
template <std::size_t most, class Work>
void with_indices(std::size_t n, const Work& work) {
  if (n == most) return work(std::make_index_sequence<most>());
  if constexpr (most > 0) with_indices<most - 1>(n, work);
}

}  // namespace bcart
