#include "bcart/table.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "bcart/array.hpp"

namespace bcart {
namespace {

constexpr std::size_t kFirstBuckets = 16;
constexpr std::size_t kLargePage = std::size_t{1} << 21;

}  // namespace

void TableShard::Free::operator()(Bucket* buckets) const { std::free(buckets); }

TableShard::Buckets TableShard::allocate(std::size_t n_buckets) {
  const std::size_t alignment = n_buckets * sizeof(Bucket) >= kLargePage ? kLargePage : alignof(Bucket);
  const std::size_t n_bytes = (n_buckets * sizeof(Bucket) + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, n_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  advise_large_pages(memory, n_bytes);
  Buckets buckets(static_cast<Bucket*>(memory));
  for (std::size_t i = 0; i < n_buckets; ++i) std::fill_n(buckets[i].ids, kEntries, kFree);
  return buckets;
}

TableShard::TableShard() : n_buckets_(kFirstBuckets), buckets_(allocate(kFirstBuckets)) {}

BoxId& TableShard::find_or_insert(const Fingerprint& key, BoxId id) {
  for (std::size_t i = home(key);; i = i + 1 < n_buckets_ ? i + 1 : 0) {
    Bucket& bucket = buckets_[i];
    for (std::size_t entry = 0; entry < kEntries; ++entry) {
      if (bucket.ids[entry] == kFree) {
        ++n_used_;
        bucket.keys[entry] = key;
        return bucket.ids[entry] = id;
      }
      if (bucket.keys[entry] == key) return bucket.ids[entry];
    }
  }
}

void TableShard::reserve(std::size_t n_more) {
  const std::size_t n_needed = (n_used_ + n_more) / 2 + 1;  // two of three entries in use: most look-ups end at home
  if (n_needed > n_buckets_) rebuild(std::max(n_needed, n_buckets_ + n_buckets_ / 2));
}

void TableShard::rebuild(std::size_t n_buckets) {
  const Buckets old = std::exchange(buckets_, allocate(n_buckets));
  const std::size_t n_old = std::exchange(n_buckets_, n_buckets);
  n_used_ = 0;
  for (std::size_t i = 0; i < n_old; ++i) {
    for (std::size_t entry = 0; entry < kEntries && old[i].ids[entry] != kFree; ++entry) {
      find_or_insert(old[i].keys[entry], old[i].ids[entry]);
    }
  }
}

}  // namespace bcart
