// From fingerprints to ids of boxes: an insert-only hash table with one cache line a look-up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bcart/fingerprint.hpp"

namespace bcart {

using BoxId = std::uint32_t;

// One shard of the table of all boxes, used by one thread at a time. Fingerprints are uniform, so they are their own
// hash: a shard holds those with the same top bits of `high`, its bucket follows from `low`.
class TableShard {
 public:
  static constexpr BoxId kFree = ~BoxId{0};
  // What the table takes for each box, at most, once it has grown past its first allocation.
  static constexpr std::size_t kBytesPerBox = 48;

  TableShard();

  void prefetch(const Fingerprint& key) const { __builtin_prefetch(&buckets_[home(key)]); }

  // Makes room, so that the next n_more insertions move nothing.
  void reserve(std::size_t n_more);

  // The id kept for `key`, which is `id` if the key was not met before.
  BoxId& find_or_insert(const Fingerprint& key, BoxId id);

 private:
  static constexpr std::size_t kEntries = 3;
  struct alignas(64) Bucket {
    Fingerprint keys[kEntries];
    BoxId ids[kEntries];
  };
  struct Free {
    void operator()(Bucket* buckets) const;
  };
  using Buckets = std::unique_ptr<Bucket[], Free>;

  static Buckets allocate(std::size_t n_buckets);
  std::size_t home(const Fingerprint& key) const { return (key.low >> 32) * n_buckets_ >> 32; }
  void rebuild(std::size_t n_buckets);

  std::size_t n_buckets_;
  std::size_t n_used_ = 0;
  Buckets buckets_;
};

}  // namespace bcart
