#include "bcart/batch.hpp"

#include <algorithm>
#include <numeric>

namespace bcart {
namespace {

constexpr std::size_t kChunkSplits = 1024;              // work for one thread to take
constexpr std::size_t kBatchSplits = 4 * kChunkSplits;  // for each thread between two barriers: stays in its cache
constexpr std::size_t kPrefetchDistance = 32;

// Boxes of up to two, of three and of four cells are few but asked for most: in shards of their own they stay cached.
std::uint8_t shard_of(std::uint32_t n_cells, const Fingerprint& key) {
  const std::size_t size_class = std::clamp<std::size_t>(n_cells, 2, kSizeClasses + 1) - 2;
  return static_cast<std::uint8_t>(size_class << kHashBits | key.high >> (64 - kHashBits));
}

}  // namespace

void write_side(const Cells& cells, const TestNumbers& numbers, std::span<const Cell> box, const ListedSplit& split,
                std::size_t side, Cell* scratch, Cell* written) {
  if (split.mask != 0) {
    select_cells(box, side == 0 ? split.mask : all_cells(box.size()) ^ split.mask, written);
  } else {
    select_cells(cells, box, numbers.test(split.test), side == 0, scratch);
    if (written != scratch) std::copy_n(scratch, split.n_cells[side], written);
  }
}

void Chunk::gather(const std::array<BoxId*, 2>& children) {
  is_new.resize(n_children());
  new_slots.resize(n_children());
  unsettled.resize(n_children() + 1);
  std::size_t n_unsettled = 0;
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    for (const Lookup& lookup : lookups_in(shard)) {  // without a branch, as one would often be mispredicted
      const std::uint32_t child = lookup.child();
      children[child % 2][child / 2] = lookup.id();
      is_new[child] = lookup.id() == pending(child) ? 1 : 0;
      new_slots[child] = lookup.slot();
      unsettled[n_unsettled] = child;
      n_unsettled += (lookup.id() & kPending) != 0 ? 1 : 0;
    }
  }
  unsettled.resize(n_unsettled);
}

Batch::Batch(const SplitRules& rules, const TestNumbers& numbers, Workers& workers)
    : rules_(rules), numbers_(numbers), workers_(workers) {
  for (std::size_t worker = 0; worker < workers.size(); ++worker) tools_.push_back({SplitFinder(rules), {}, {}, {}});
}

std::size_t Batch::take(const FrontierBlock& block, std::size_t first_box) {
  n_chunks_ = 0;
  std::size_t box = first_box;
  const std::size_t max_batch = kBatchSplits * workers_.size();
  for (std::size_t n_batch = 0; box < block.n_boxes() && n_batch < max_batch; ++n_chunks_) {
    if (n_chunks_ == chunks_.size()) chunks_.emplace_back();
    Chunk& chunk = chunks_[n_chunks_];
    chunk.block = &block;
    chunk.first_box = box;
    std::size_t n_chunk = 0;
    do {
      n_chunk += rules_.max_splits(block.box(box++).size()) + 1;
    } while (box < block.n_boxes() && n_chunk < kChunkSplits);
    chunk.last_box = box;
    n_batch += n_chunk;
  }
  return box;
}

void Batch::find_children() {
  workers_.run(n_chunks_, [&](std::size_t i, std::size_t worker) { list_splits(chunks_[i], worker); });
  n_children_ = 0;
  for (Chunk& chunk : chunks()) {
    chunk.first_position = n_children_;
    n_children_ += chunk.n_children();
  }
  workers_.run(kShards, [&](std::size_t shard, std::size_t worker) { look_up(shard, worker); });
}

void Batch::list_splits(Chunk& chunk, std::size_t worker) {
  Tools& tools = tools_[worker];
  tools.splits.clear();
  chunk.n_splits.clear();
  for (std::size_t box = chunk.first_box; box < chunk.last_box; ++box) {
    const std::size_t n_before = tools.splits.size();
    tools.finder.find(chunk.block->box(box), tools.splits);
    chunk.n_splits.push_back(static_cast<std::uint32_t>(tools.splits.size() - n_before));
    if (chunk.block->box(box).size() > kLargeBox) workers_.checkpoint(worker);
  }
  keep_splits(tools, chunk);
}

void Batch::keep_splits(Tools& tools, Chunk& chunk) const {
  chunk.splits.resize(tools.splits.size());
  tools.shards.resize(chunk.n_children());
  std::array<std::uint32_t, kShards + 1> next{};
  for (std::size_t i = 0; const Split& split : tools.splits) {
    chunk.splits[i] = {split.mask, {split.n_cells[0], split.n_cells[1]}, numbers_.number(split.test)};
    for (const std::size_t side : {0, 1}) {
      const std::uint8_t shard = shard_of(split.n_cells[side], split.keys[side]);
      tools.shards[2 * i + side] = shard;
      ++next[shard + 1];
    }
    ++i;
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  chunk.shard_ends = next;
  chunk.lookups.resize(chunk.n_children());
  for (std::uint32_t child = 0; child < chunk.n_children(); ++child) {
    chunk.lookups[next[tools.shards[child]]++] = {tools.splits[child / 2].keys[child % 2], child};
  }
}

void Batch::look_up(std::size_t shard, std::size_t worker) {
  std::size_t n_keys = 0;
  for (Chunk& chunk : chunks()) n_keys += chunk.lookups_in(shard).size();
  table_[shard].reserve(n_keys);
  for (Chunk& chunk : chunks()) look_up(chunk, shard, tools_[worker].beyond_home);
}

// A cache miss takes as long as a dozen look-ups, so buckets are fetched ahead; those beyond a key's home while all
// other keys are looked up at theirs. Equal keys stay in order.
void Batch::look_up(Chunk& chunk, std::size_t shard, std::vector<std::uint32_t>& beyond_home) {
  TableShard& table = table_[shard];
  const std::span<Lookup> lookups = chunk.lookups_in(shard);
  const std::size_t n = lookups.size();
  std::size_t n_new = 0;
  std::size_t n_new_cells = 0;
  const auto settle = [&](Lookup& lookup, BoxId& id) {
    if (id == chunk.pending(lookup.child())) {
      ++n_new;
      n_new_cells += chunk.n_cells(lookup.child());
    }
    lookup.settle(id);
  };
  beyond_home.clear();
  for (std::size_t k = 0; k < std::min(kPrefetchDistance, n); ++k) table.prefetch(lookups[k].entry(0));
  for (std::size_t k = 0; k < n; ++k) {
    table.prefetch(lookups[std::min(k + kPrefetchDistance, n - 1)].entry(0));
    const TableShard::Entry entry = lookups[k].entry(chunk.pending(lookups[k].child()));
    if (BoxId* id = table.find_at_home(entry); id != nullptr) {
      settle(lookups[k], *id);
    } else {
      table.prefetch_beyond_home(entry);
      beyond_home.push_back(static_cast<std::uint32_t>(k));
    }
  }
  for (const std::uint32_t k : beyond_home) {
    settle(lookups[k], table.find_beyond_home(lookups[k].entry(chunk.pending(lookups[k].child()))));
  }
  chunk.n_new[shard] = n_new;
  chunk.n_new_cells[shard] = n_new_cells;
}

}  // namespace bcart
