// From fingerprints to ids of boxes: an insert-only hash table that workers share without locks, with one cache line a
// look-up.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>

#include "bcart/array.hpp"
#include "bcart/fingerprint.hpp"
#include "bcart/relax.hpp"

namespace bcart {

using BoxId = std::uint32_t;

// Stands in the place of an id while a box has none; the other bits say where the box was first seen.
inline constexpr BoxId kClaim = BoxId{1} << 31;

struct NumbersExhausted : std::exception {
  const char* what() const noexcept override { return "there are more boxes than can be numbered"; }
};

// What is kept of a fingerprint, 96 bits. Fingerprints are uniform, so they are their own hash: `low` says where.
struct TableKey {
  std::uint64_t high = 0;
  std::uint32_t low = 0;

  TableKey() = default;
  explicit TableKey(const Fingerprint& fingerprint)
      : high(fingerprint.high == 0 ? 1 : fingerprint.high), low(static_cast<std::uint32_t>(fingerprint.low >> 32)) {}
};

// A key and its id, which is not zero. Free while `high` is zero; the worker that sets it has the slot, and writes the
// rest.
class TableSlot {
 public:
  BoxId id() const { return static_cast<BoxId>(rest()); }
  void set_id(BoxId id) { std::atomic_ref(rest_).store(rest() >> 32 << 32 | id, kRelaxed); }

  std::uint32_t low() const { return static_cast<std::uint32_t>(rest() >> 32); }
  std::uint64_t high() const { return std::atomic_ref(const_cast<std::uint64_t&>(high_)).load(kRelaxed); }

  // For a slot of the same `high`. Of several claims the lowest stays.
  bool try_to_join(const TableKey& key, BoxId claim) {
    std::uint64_t found = rest();
    for (; found == 0; found = rest()) relax();  // another worker has the slot, and is about to write
    if (found >> 32 != key.low) return false;
    while ((found & kClaim) != 0 && static_cast<BoxId>(found) > claim &&
           !std::atomic_ref(rest_).compare_exchange_weak(found, rest_of(key, claim), kRelaxed)) {
    }
    return true;
  }

  // False if it is another key's.
  bool try_to_take(const TableKey& key, BoxId claim) {
    std::uint64_t found = high();
    if (found != 0 || !std::atomic_ref(high_).compare_exchange_strong(found, key.high, kRelaxed)) {
      return found == key.high && try_to_join(key, claim);
    }
    std::atomic_ref(rest_).store(rest_of(key, claim), kRelaxed);
    return true;
  }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;  // a slot tells of nothing but itself

  std::uint64_t rest() const { return std::atomic_ref(const_cast<std::uint64_t&>(rest_)).load(kRelaxed); }
  static std::uint64_t rest_of(const TableKey& key, BoxId id) { return std::uint64_t{key.low} << 32 | id; }

  std::uint64_t high_ = 0;
  std::uint64_t rest_ = 0;
};

struct alignas(kCacheLine) TableBucket {
  static constexpr std::size_t kSlots = 4;
  TableSlot slots[kSlots];

  // The slot of a key if it is here or finds a free one; null if the bucket is full of others. All slots are compared,
  // since a branch on the first that fits would be mispredicted every other time.
  TableSlot* find_or_claim(const TableKey& key, BoxId claim) {
    const auto fits = [&](std::size_t i) { return static_cast<std::size_t>(slots[i].high() == key.high); };
    TableSlot& likely = slots[(fits(1) + 2 * fits(2) + 3 * fits(3)) % kSlots];
    return likely.high() == key.high && likely.try_to_join(key, claim) ? &likely : find_slowly(key, claim);
  }

 private:
  TableSlot* find_slowly(const TableKey& key, BoxId claim);
};

// One shard of the table of all boxes but the root.
class alignas(kCacheLine) TableShard {
 public:
  using Checkpoint = std::function<void()>;

  // What a table that has grown takes for each box, at most, unless it was asked for more room.
  static constexpr std::size_t kBytesPerBox = 3 * sizeof(TableSlot);

  // For one worker, while no other uses the shard: makes room for so many more boxes; or for as many as are there.
  bool has_room(std::size_t n_more) const { return n_buckets_for(n_more) <= buckets_.size(); }
  // Calls checkpoint from time to time; if that throws, the shard is lost.
  void grow_for(std::size_t n_more, const Checkpoint& checkpoint);
  void double_size(const Checkpoint& checkpoint) { grow(2 * buckets_.size(), checkpoint); }

  // Tells how many slots were taken: workers do not count them, since all would write to one place.
  void add_used(std::size_t n) { n_used_ += n; }

  // Where a key is looked for first, and after that.
  TableBucket* home(const TableKey& key) { return &buckets_[home_of(key.low)]; }
  TableBucket* after(const TableBucket* bucket) {
    return &buckets_[next(static_cast<std::size_t>(bucket - buckets_.data()))];
  }

  // The slot of a key: with an id or, if it was not met before or only claimed higher, with this claim. Null if it
  // would be new, but there is no slot left.
  TableSlot* find_or_claim(const TableKey& key, BoxId claim) {
    TableBucket* const first = home(key);
    TableBucket* bucket = first;
    do {
      if (TableSlot* found = bucket->find_or_claim(key, claim); found != nullptr) return found;
      bucket = after(bucket);
    } while (bucket != first);
    return nullptr;
  }

 private:
  std::size_t home_of(std::uint64_t low) const { return low * buckets_.size() >> 32; }
  std::size_t next(std::size_t i) const { return i + 1 < buckets_.size() ? i + 1 : 0; }
  std::size_t n_buckets_for(std::size_t n_more) const;
  void grow(std::size_t n_buckets, const Checkpoint& checkpoint);
  TableSlot* first_free(std::size_t bucket);

  std::size_t n_used_ = 0;
  Array<TableBucket> buckets_;
};

}  // namespace bcart
