#include "bcart/table.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace bcart {
namespace {

// An entry stands at most a few buckets behind its home, and the table grows by half: from here on, the new home of an
// entry is well behind its old place.
constexpr std::size_t kFrontBuckets = 4096;

}  // namespace

void TableShard::reserve(std::size_t n_more) {
  const std::size_t n_needed = (n_used_ + n_more) / 2 + 1;  // half of the entries in use: most look-ups end at home
  if (n_needed > buckets_.size()) grow(std::max(n_needed, buckets_.size() + buckets_.size() / 2));
}

// Homes are in the order of the keys, so a longer table has each entry at or behind its old place: going from the back,
// entries move into space that is free by then. Only near the front may an entry that had overflowed belong before its
// old place; these few are set aside until the rest is done.
void TableShard::grow(std::size_t n_buckets) {
  const std::size_t n_old = buckets_.size();
  const std::size_t n_aside = std::min(n_old, kFrontBuckets);
  buckets_.resize(n_buckets);
  std::fill(buckets_.data() + n_old, buckets_.data() + n_buckets, Bucket{});
  n_used_ = 0;
  for (std::size_t i = n_old; i > n_aside; --i) reinsert(std::exchange(buckets_[i - 1], Bucket{}));
  std::vector<Bucket> aside(buckets_.data(), buckets_.data() + n_aside);
  std::fill_n(buckets_.data(), n_aside, Bucket{});
  for (const Bucket& bucket : aside) reinsert(bucket);
}

void TableShard::reinsert(const Bucket& bucket) {
  for (const Entry& entry : bucket.entries) {
    if (entry.id != kFree) find_or_insert(entry);
  }
}

}  // namespace bcart
