// From fingerprints to ids of boxes: an insert-only hash table with one cache line a look-up.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "bcart/array.hpp"
#include "bcart/fingerprint.hpp"

namespace bcart {

using BoxId = std::uint32_t;

// One shard of the table of all boxes but the root, used by one thread at a time. Fingerprints are uniform, so they are
// their own hash: the bucket follows from `low`.
class TableShard {
 public:
  // What a table that has grown takes for each box, at most.
  static constexpr std::size_t kBytesPerBox = 48;

  void prefetch(const Fingerprint& key) const { __builtin_prefetch(&buckets_[home(key)]); }

  // Makes room, so that the next n_more insertions move nothing.
  void reserve(std::size_t n_more);

  // The id kept for `key`, which is `id` if the key was not met before.
  BoxId& find_or_insert(const Fingerprint& key, BoxId id) {
    for (std::size_t i = home(key);; i = i + 1 < buckets_.size() ? i + 1 : 0) {
      Bucket& bucket = buckets_[i];
      if (const unsigned hits = bucket.matches(key); hits != 0) return bucket.ids[std::countr_zero(hits)];
      for (std::size_t entry = 0; entry < kEntries; ++entry) {
        if (bucket.ids[entry] != kFree) continue;
        ++n_used_;
        bucket.keys[entry] = key;
        bucket.ids[entry] = id;
        return bucket.ids[entry];
      }
    }
  }

 private:
  static constexpr BoxId kFree = 0;  // the root is nobody's child
  static constexpr std::size_t kEntries = 3;
  struct alignas(kCacheLine) Bucket {
    Fingerprint keys[kEntries];
    BoxId ids[kEntries] = {};

    // One bit an entry; all are compared, since a branch on the first that fits would be mispredicted every other time.
    unsigned matches(const Fingerprint& key) const {
      unsigned bits = 0;
      for (unsigned entry = 0; entry < kEntries; ++entry) {
        const std::uint64_t difference = (keys[entry].low ^ key.low) | (keys[entry].high ^ key.high);
        bits |= unsigned{difference == 0} << entry;
      }
      return bits;
    }
  };

  std::size_t home(const Fingerprint& key) const { return (key.low >> 32) * buckets_.size() >> 32; }
  void grow(std::size_t n_buckets);
  void reinsert(const Bucket& bucket);

  std::size_t n_used_ = 0;
  Array<Bucket> buckets_;
};

}  // namespace bcart
