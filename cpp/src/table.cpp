#include "bcart/table.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace bcart {
namespace {

constexpr std::size_t kBucketsAtOnce = 1 << 14;

}  // namespace

// Workers try free slots in the same order, so that no key gets two of them.
TableSlot* TableBucket::find_slowly(const TableKey& key, BoxId claim) {
  for (TableSlot& slot : slots) {
    if (slot.try_to_take(key, claim)) return &slot;
  }
  return nullptr;
}

// Half of the slots in use, so that most look-ups end at home; and enough for those that may come.
std::size_t TableShard::n_buckets_for(std::size_t n_more) const {
  return std::max(n_used_ / (TableBucket::kSlots / 2), (n_used_ + n_more) / TableBucket::kSlots) + 1;
}

void TableShard::grow_for(std::size_t n_more, const Checkpoint& checkpoint) {
  grow(std::max(n_buckets_for(n_more), buckets_.size() + buckets_.size() / 2), checkpoint);
}

// Homes are in the order of the keys, so in a longer table nearly all are behind the old place of their key: going from
// the back, slots move into space that is free by then. The few keys that belong before it, since they had overflowed,
// or find no place before the end, are set aside until the rest is done.
void TableShard::grow(std::size_t n_buckets, const Checkpoint& checkpoint) {
  const std::size_t n_old = buckets_.size();
  buckets_.resize(n_buckets);
  std::fill(buckets_.data() + n_old, buckets_.data() + n_buckets, TableBucket{});
  std::vector<TableSlot> aside;
  for (std::size_t i = n_old; i-- > 0;) {
    if (i % kBucketsAtOnce == 0) checkpoint();
    const TableBucket bucket = std::exchange(buckets_[i], TableBucket{});
    for (const TableSlot& slot : bucket.slots) {
      if (slot.high() == 0) continue;
      const std::size_t home = home_of(slot.low());
      TableSlot* place = home > i ? first_free(home) : nullptr;
      if (place != nullptr) {
        *place = slot;
      } else {
        aside.push_back(slot);
      }
    }
  }
  for (const TableSlot& slot : aside) {
    TableSlot* place = first_free(home_of(slot.low()));
    *(place != nullptr ? place : first_free(0)) = slot;
  }
}

// From a bucket to the end of the table; null if there is none.
TableSlot* TableShard::first_free(std::size_t bucket) {
  for (; bucket < buckets_.size(); ++bucket) {
    for (TableSlot& slot : buckets_[bucket].slots) {
      if (slot.high() == 0) return &slot;
    }
  }
  return nullptr;
}

}  // namespace bcart
