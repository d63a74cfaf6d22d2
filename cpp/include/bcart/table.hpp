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
// their own hash: the bucket follows from the upper half of `low`. That and `high` are kept, 96 bits in all.
class alignas(kCacheLine) TableShard {
 public:
  static constexpr BoxId kFree = 0;  // the root is nobody's child

  // What a table that has grown takes for each box, at most.
  static constexpr std::size_t kBytesPerBox = 48;

  struct Entry {
    std::uint64_t high = 0;
    std::uint32_t low = 0;
    BoxId id = kFree;

    Entry() = default;
    Entry(const Fingerprint& key, BoxId box)
        : high(key.high), low(static_cast<std::uint32_t>(key.low >> 32)), id(box) {}
    bool has_key_of(const Entry& other) const { return ((high ^ other.high) | (low ^ other.low)) == 0; }
  };

  void prefetch(const Entry& entry) const { __builtin_prefetch(&buckets_[home(entry)]); }
  void prefetch_beyond_home(const Entry& entry) const { __builtin_prefetch(&buckets_[after(home(entry))]); }

  // Makes room, so that the next n_more insertions move nothing.
  void reserve(std::size_t n_more);

  // The id kept for a key, which is that of `entry` if the key was not met before.
  BoxId& find_or_insert(const Entry& entry) {
    BoxId* found = find_at_home(entry);
    return found != nullptr ? *found : find_beyond_home(entry);
  }

  // The same in two steps, since few keys stand beyond their home, and those take another cache line: null if this
  // does.
  BoxId* find_at_home(const Entry& entry) { return find_in(buckets_[home(entry)], entry); }
  BoxId& find_beyond_home(const Entry& entry) {
    for (std::size_t i = after(home(entry));; i = after(i)) {
      if (BoxId* found = find_in(buckets_[i], entry); found != nullptr) return *found;
    }
  }

 private:
  static constexpr std::size_t kEntries = 4;
  struct alignas(kCacheLine) Bucket {
    Entry entries[kEntries];

    // One bit an entry; all are compared, since a branch on the first that fits would be mispredicted every other time.
    unsigned matches(const Entry& sought) const {
      unsigned bits = 0;
      for (unsigned i = 0; i < kEntries; ++i) bits |= unsigned{entries[i].has_key_of(sought)} << i;
      return bits;
    }
  };

  // Null if the bucket is full of others.
  BoxId* find_in(Bucket& bucket, const Entry& sought) {
    if (const unsigned hits = bucket.matches(sought); hits != 0) return &bucket.entries[std::countr_zero(hits)].id;
    for (Entry& entry : bucket.entries) {
      if (entry.id != kFree) continue;
      ++n_used_;
      entry = sought;
      return &entry.id;
    }
    return nullptr;
  }

  std::size_t home(const Entry& entry) const { return entry.low * buckets_.size() >> 32; }
  std::size_t after(std::size_t i) const { return i + 1 < buckets_.size() ? i + 1 : 0; }
  void grow(std::size_t n_buckets);
  void reinsert(const Bucket& bucket);

  std::size_t n_used_ = 0;
  Array<Bucket> buckets_;
};

}  // namespace bcart
