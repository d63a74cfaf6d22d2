#include "bcart/table.hpp"

#include <algorithm>
#include <utility>

namespace bcart {

void TableShard::reserve(std::size_t n_more) {
  const std::size_t n_needed = (n_used_ + n_more) / 2 + 1;  // two of three entries in use: most look-ups end at home
  if (n_needed > buckets_.size()) rebuild(std::max(n_needed, buckets_.size() + buckets_.size() / 2));
}

void TableShard::rebuild(std::size_t n_buckets) {
  const Array<Bucket> old = std::exchange(buckets_, Array<Bucket>(n_buckets));
  n_used_ = 0;
  for (const Bucket& bucket : old) {
    for (std::size_t entry = 0; entry < kEntries && bucket.ids[entry] != kFree; ++entry) {
      find_or_insert(bucket.keys[entry], bucket.ids[entry]);
    }
  }
}

}  // namespace bcart
