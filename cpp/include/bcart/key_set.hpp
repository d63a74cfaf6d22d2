// The distinct keys of some rows, found by hashing, and their ranks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bcart/array.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// Keys in order of first sight, and the rows that met them first.
class KeySet {
 public:
  using Key = std::uint64_t;
  using Row = std::uint32_t;
  using Id = std::uint32_t;  // a place in the order

  // Whoever takes long calls checkpoint() now and then.
  template <class Checkpoint>
  void make_room(std::size_t n_more, const Checkpoint& checkpoint) {
    keys.resize(n_keys + n_more);
    rows.resize(n_keys + n_more);
    if (2 * keys.size() > slots_.size) grow(std::bit_width(2 * keys.size() - 1), checkpoint);
  }

  // There must be room for the key.
  Id find_or_insert(Key key, std::size_t row) {
    Slot& slot = slot_of(key);
    if (slot.number == 0) {
      keys[n_keys] = key;
      rows[n_keys] = static_cast<Row>(row);
      slot = {key, static_cast<Id>(++n_keys)};
    }
    return slot.number - 1;
  }

  void prefetch(Key key) const { __builtin_prefetch(slots_.first + start(key)); }

  std::size_t n_keys = 0;
  Array<Key> keys;
  Array<Row> rows;

 private:
  static constexpr std::size_t kManySlots = 1U << 20;
  static constexpr std::size_t kSlotsAtOnce = 1U << 14;

  struct Slot {
    Key key;
    Id number;  // of the key, from 1 on; 0 where there is none
  };

  // The heap gives memory that was used before, the system large pages, and clears them when they are needed.
  struct Slots {
    Slots() = default;
    explicit Slots(std::size_t n) : few(n < kManySlots ? n : 0), many(n < kManySlots ? 0 : n), size(n) {
      first = n < kManySlots ? few.data() : many.data();
    }

    std::vector<Slot> few;
    Array<Slot> many;
    Slot* first = nullptr;
    std::size_t size = 0;
  };

  std::size_t start(Key key) const { return (key * 0x9E3779B97F4A7C15ULL) >> shift_; }

  Slot& slot_of(Key key) {
    std::size_t place = start(key);
    while (slots_.first[place].number != 0 && slots_.first[place].key != key) place = (place + 1) & (slots_.size - 1);
    return slots_.first[place];
  }

  // Slots are taken in their order, so that neighbours stay neighbours.
  template <class Checkpoint>
  void grow(int n_bits, const Checkpoint& checkpoint) {
    const Slots old = std::move(slots_);
    slots_ = Slots(1ULL << n_bits);
    shift_ = 64 - n_bits;
    for (std::size_t i = 0; i < old.size; ++i) {
      if (old.first[i].number != 0) slot_of(old.first[i].key) = old.first[i];
      if (i % kSlotsAtOnce == 0) checkpoint();
    }
  }

  int shift_ = 64;
  Slots slots_;
};

// The rank of each key among those of all sets together, and a row for each rank.
std::vector<Array<KeySet::Id>> rank_keys(const std::vector<KeySet>& sets, Array<KeySet::Row>& some_row,
                                         Workers& workers);

}  // namespace bcart
