// A batch of boxes whose splits are listed and whose children are looked up, in parallel and in a fixed order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "bcart/array.hpp"
#include "bcart/splits.hpp"
#include "bcart/table.hpp"
#include "bcart/workers.hpp"

namespace bcart {

inline constexpr std::size_t kSizeClasses = 4;
inline constexpr std::size_t kHashBits = 2;
inline constexpr std::size_t kShards = kSizeClasses << kHashBits;
inline constexpr BoxId kPending = BoxId{1} << 31;  // marks a position in the batch where an id is not known yet

// Consecutive boxes of one layer, with their cells.
struct FrontierBlock {
  Array<std::size_t> ends;  // in cells
  Array<Cell> cells;

  std::size_t n_boxes() const { return ends.size(); }
  std::size_t begin(std::size_t box) const { return box == 0 ? 0 : ends[box - 1]; }
  std::span<const Cell> box(std::size_t i) const { return {cells.data() + begin(i), ends[i] - begin(i)}; }
};

// What is kept of a split while its children are looked up.
struct ListedSplit {
  std::uint64_t mask;  // as in Split, as the next
  std::uint32_t n_cells[2];
  std::uint32_t test;  // its number
};

// Writes the cells of one side of a box, and not one more: behind them another worker may write. `scratch` has room for
// the cells of the box and one more, and may be the same place.
void write_side(const Cells& cells, const TestNumbers& numbers, std::span<const Cell> box, const ListedSplit& split,
                std::size_t side, Cell* scratch, Cell* written);

// A child that is looked for. Once it is found, the place of its id in the table and the id take the room of its key.
class Lookup {
 public:
  Lookup() = default;
  Lookup(const Fingerprint& key, std::uint32_t child) : entry_(key, child) {}

  std::uint32_t child() const { return entry_.id; }

  // What to look for: a box that is new gets this id.
  TableShard::Entry entry(BoxId id) const {
    TableShard::Entry entry = entry_;
    entry.id = id;
    return entry;
  }

  void settle(BoxId& kept) {
    entry_.high = reinterpret_cast<std::uintptr_t>(&kept);
    entry_.low = kept;
  }
  BoxId* slot() const { return reinterpret_cast<BoxId*>(static_cast<std::uintptr_t>(entry_.high)); }
  BoxId id() const { return entry_.low; }

 private:
  TableShard::Entry entry_;
};

// A few boxes of one block, and what is found out about them. Children stand in pairs: left, right.
struct alignas(kCacheLine) Chunk {
  const FrontierBlock* block = nullptr;
  std::size_t first_box = 0;
  std::size_t last_box = 0;
  std::vector<std::uint32_t> n_splits;  // of each box
  Array<ListedSplit> splits;
  Array<Lookup> lookups;  // of all children, by the shard of the table that may know them
  std::array<std::uint32_t, kShards + 1> shard_ends{};
  std::vector<std::uint8_t> is_new;      // of each child: 1 at its first sight
  std::vector<std::uint32_t> unsettled;  // children whose ids are not known yet, but positions of their first sight
  Array<BoxId*> new_slots;  // of each child: where the table keeps its id; if it is new, one that waits for it
  std::array<std::size_t, kShards> n_new{};        // first sights, by shard
  std::array<std::size_t, kShards> n_new_cells{};  // of those
  std::size_t first_position = 0;                  // of the chunk's first child in the batch

  // Where it goes, for the builder to say.
  std::size_t first_id = 0;        // of the chunk's first box
  std::size_t first_split = 0;     // in the graph
  std::size_t first_new_id = 0;    // of the boxes first seen here
  std::size_t first_new_cell = 0;  // in the block of new boxes

  std::size_t n_children() const { return 2 * splits.size(); }
  BoxId pending(std::uint32_t child) const { return kPending | static_cast<BoxId>(first_position + child); }
  std::uint32_t n_cells(std::size_t child) const { return splits[child / 2].n_cells[child % 2]; }

  std::span<Lookup> lookups_in(std::size_t shard) {
    return {lookups.data() + shard_ends[shard], lookups.data() + shard_ends[shard + 1]};
  }

  // Writes what the shards have found for the left and the right children: ids, or kPending and the position of a
  // first sight.
  void gather(const std::array<BoxId*, 2>& children);

  // The first child from this one on that was not seen before; n_children() if there is none.
  std::size_t next_new(std::size_t child) const {
    if (child == n_children()) return child;
    const void* found = std::memchr(is_new.data() + child, 1, n_children() - child);
    return found == nullptr ? n_children()
                            : static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - is_new.data());
  }
};

class Batch {
 public:
  Batch(const SplitRules& rules, const TestNumbers& numbers, Workers& workers);

  // Takes boxes from first_box on until there is enough to do; returns the first box not taken.
  std::size_t take(const FrontierBlock& block, std::size_t first_box);

  // Lists the splits of the boxes taken and asks the table for their children.
  void find_children();

  std::span<Chunk> chunks() { return {chunks_.data(), n_chunks_}; }
  std::size_t n_children() const { return n_children_; }

 private:
  // What a worker needs for the chunk or shard that it works at.
  struct alignas(kCacheLine) Tools {
    SplitFinder finder;
    std::vector<Split> splits;
    std::vector<std::uint8_t> shards;        // of each child
    std::vector<std::uint32_t> beyond_home;  // look-ups that take another cache line
  };

  void list_splits(Chunk& chunk, std::size_t worker);
  void keep_splits(Tools& tools, Chunk& chunk) const;
  void look_up(std::size_t shard, std::size_t worker);
  void look_up(Chunk& chunk, std::size_t shard, std::vector<std::uint32_t>& beyond_home);

  const SplitRules& rules_;
  const TestNumbers& numbers_;
  Workers& workers_;
  std::vector<Tools> tools_;  // one a worker
  std::array<TableShard, kShards> table_;
  std::vector<Chunk> chunks_;  // kept from batch to batch for their memory
  std::size_t n_chunks_ = 0;
  std::size_t n_children_ = 0;
};

}  // namespace bcart
