// A batch of boxes whose splits are listed and whose children are looked up, in parallel and in a fixed order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
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

// Consecutive boxes of one layer, with their cells.
struct FrontierBlock {
  Array<std::size_t> ends;  // in cells
  Array<Cell> cells;

  // Makes room for what is likely to come, after another block.
  void reserve_for(const FrontierBlock& before) {
    ends.reserve(before.ends.size() + before.ends.size() / 8);
    cells.reserve(before.cells.size() + before.cells.size() / 8);
  }

  std::size_t n_boxes() const { return ends.size(); }
  std::size_t begin(std::size_t box) const { return box == 0 ? 0 : ends[box - 1]; }
  std::span<const Cell> box(std::size_t i) const { return {cells.data() + begin(i), ends[i] - begin(i)}; }
};

// A child that has no id yet: this, or another one in the batch, is its first sight.
struct Sight {
  TableSlot* slot;
  std::uint64_t mask;  // of the split, as in Split
  std::uint32_t box;   // of the chunk
  std::uint32_t child;
  std::uint32_t n_cells;
  std::uint32_t shard;

  bool is_left() const { return child % 2 == 0; }
};

// A box whose first sight is one of the chunk's.
struct NewBox {
  std::uint32_t sight;
  std::uint32_t n_cells;
  BoxId claim;
};

// What a worker finds out about a few boxes. Children are counted in pairs: left, right.
struct alignas(kCacheLine) Findings {
  std::vector<std::uint32_t> n_splits;   // of each box
  Array<std::uint32_t> tests;            // the number of each split's, as the next
  std::array<Array<BoxId>, 2> children;  // ids, or claims: once the new boxes are listed, those that they are known by
  std::vector<Sight> sights;             // in the order of the children
  std::vector<NewBox> new_boxes;
  std::array<std::size_t, kShards> n_new{};  // boxes of each shard
  std::size_t n_new_cells = 0;

  BoxId& child(const Sight& sight) { return children[sight.child % 2][sight.child / 2]; }
};

// A few boxes of one block.
struct Chunk {
  const FrontierBlock* block = nullptr;
  std::size_t first_box = 0;
  std::size_t last_box = 0;
  BoxId first_claim = 0;      // of the first child
  Findings* found = nullptr;  // a worker's

  // Where it goes, for the builder to say.
  std::size_t first_id = 0;        // of the chunk's first box
  std::size_t first_split = 0;     // in the graph
  std::size_t first_new_id = 0;    // of the boxes first seen here
  std::size_t first_new_cell = 0;  // in the block of new boxes

  std::span<const Cell> box(std::size_t i) const { return block->box(first_box + i); }
  BoxId claim(std::size_t child) const { return first_claim + static_cast<BoxId>(child); }

  Test test(const Sight& sight, const TestNumbers& numbers) const {
    return numbers.test(found->tests[sight.child / 2]);
  }

  // Writes the cells of a child and not one more: behind them another worker may write. `scratch` has room for the
  // cells of its parent and one more, and may be the same place.
  void write_cells(const Sight& sight, const Cells& cells, const TestNumbers& numbers, Cell* scratch,
                   Cell* written) const;

  // Calls visit(i, sight) in order. By now slots are far from the processor again: they are fetched ahead.
  template <class Visit>
  void for_each_sight(const Visit& visit) const {
    const std::vector<Sight>& sights = found->sights;
    for (std::size_t i = 0; i < sights.size(); ++i) {
      __builtin_prefetch(sights[std::min(i + kAhead, sights.size() - 1)].slot);
      visit(i, sights[i]);
    }
  }
  // The same for boxes with their first sights, whose slots are to be written.
  template <class Visit>
  void for_each_new(const Visit& visit) const {
    const std::vector<NewBox>& boxes = found->new_boxes;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      __builtin_prefetch(found->sights[boxes[std::min(i + kAhead, boxes.size() - 1)].sight].slot, 1);
      visit(boxes[i], found->sights[boxes[i].sight]);
    }
  }

 private:
  static constexpr std::size_t kAhead = 12;
};

class Batch {
 public:
  // A large batch has one split for so many boxes that are there, and each shard of the table gets room for a part of
  // its children. That is far more than are new, but for the first layers: where it is not enough, the shard grows, and
  // the batch is explored again.
  static constexpr std::size_t kBoxesASplit = 16;
  static constexpr std::size_t kChildrenASlot = 8;
  static constexpr std::size_t kBytesPerBox =
      TableShard::kBytesPerBox + kShards * 3 * sizeof(TableSlot) / (kBoxesASplit * kChildrenASlot);

  // What listing a box and looking its children up takes for each split, about; and the tools of a worker.
  static constexpr std::size_t kBytesPerSplit = 512;

  Batch(const SplitRules& rules, Workers& workers) : rules_(rules), workers_(workers), tools_(workers.size()) {}

  // Takes boxes from first_box on until there is enough to do; returns the first box not taken.
  std::size_t take(const FrontierBlock& block, std::size_t first_box);

  // Lists the splits of the boxes taken and asks the table for their children.
  void find_children();

  std::span<Chunk> chunks() { return chunks_; }

  // The number of a box that was first seen in this batch, for the builder to say.
  BoxId& number(BoxId claim) { return numbers_[claim - kClaim]; }

  // Most chunks go to the worker that has found their splits, and has them in its cache.
  void for_each_chunk(const std::function<void(Chunk&, std::size_t worker)>& task);

 private:
  // A child that is looked for.
  struct Sought {
    TableKey key;
    std::uint32_t shard;
    TableBucket* bucket;  // that may have its key
  };
  struct Found {
    TableSlot* slot;
    BoxId id;  // or a claim
  };

  // What a worker needs for the chunk that it works at.
  struct alignas(kCacheLine) Tools {
    std::optional<SplitFinder> finder;  // made when it is needed
    Array<Split> splits;
    Array<Sought> sought;  // a child each
    Array<Found> found;    // the same
    std::size_t n_found = 0;
    std::vector<std::uint32_t> beyond_home;  // children whose keys are not where they are looked for first
    std::vector<std::uint32_t> full_shards;  // that had no slot for a child
    std::deque<Findings> findings;           // of each chunk of the batch; kept for their memory
    std::size_t n_chunks = 0;
  };

  void explore(Chunk& chunk, std::size_t worker);
  void ask_for(Tools& tools, std::size_t first_split);
  void look_up(const Chunk& chunk, Tools& tools, std::size_t n_children);
  bool look_beyond_home(const Chunk& chunk, Tools& tools);
  static void keep(const Tools& tools, Findings& findings);
  static void list_new(const Chunk& chunk);
  void make_room();
  bool try_to_explore();

  const SplitRules& rules_;
  Workers& workers_;
  std::vector<Tools> tools_;  // one a worker
  std::array<TableShard, kShards> table_;
  std::size_t n_known_ = 0;  // boxes in the table
  std::vector<Chunk> chunks_;
  std::size_t max_children_ = 0;  // of the batch
  Array<BoxId> numbers_;          // of its claims
};

}  // namespace bcart
