#include "bcart/batch.hpp"

#include <algorithm>

namespace bcart {
namespace {

constexpr std::size_t kChunkSplits = 1024;              // work for one thread to take
constexpr std::size_t kBatchSplits = 4 * kChunkSplits;  // for each thread between two barriers: stays in its cache
constexpr std::size_t kPrefetchDistance = 32;

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

Batch::Batch(const SplitRules& rules, const TestNumbers& numbers, Workers& workers)
    : rules_(rules), numbers_(numbers), workers_(workers) {
  for (std::size_t worker = 0; worker < workers.size(); ++worker) listers_.push_back({SplitFinder(rules), {}});
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
    chunk.max_splits = 0;
    do {
      chunk.max_splits += rules_.max_splits(block.box(box++).size()) + 1;
    } while (box < block.n_boxes() && chunk.max_splits < kChunkSplits);
    chunk.last_box = box;
    n_batch += chunk.max_splits;
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
  workers_.run(kShards, [&](std::size_t shard, std::size_t) { look_up(shard); });
}

void Batch::list_splits(Chunk& chunk, std::size_t worker) {
  auto& [finder, splits] = listers_[worker];
  chunk.n_splits.clear();
  chunk.splits.clear();
  chunk.sought.clear(2 * chunk.max_splits);
  for (std::size_t box = chunk.first_box; box < chunk.last_box; ++box) {
    splits.clear();
    finder.find(chunk.block->box(box), splits);
    chunk.n_splits.push_back(static_cast<std::uint32_t>(splits.size()));
    append(splits, chunk);
    if (chunk.block->box(box).size() > kLargeBox) workers_.checkpoint(worker);
  }
  chunk.ids.resize(chunk.n_children());
  chunk.is_new.assign(chunk.n_children(), 0);
  chunk.new_slots.resize(chunk.n_children());
}

void Batch::append(std::span<const Split> splits, Chunk& chunk) const {
  BoxId child = kPending | static_cast<BoxId>(chunk.n_children());
  chunk.splits.resize(chunk.splits.size() + splits.size());
  ListedSplit* listed = chunk.splits.data() + chunk.splits.size() - splits.size();
  for (const Split& split : splits) {
    *listed++ = {split.mask, {split.n_cells[0], split.n_cells[1]}, numbers_.number(split.test)};
    for (const std::size_t side : {0, 1}) chunk.sought.add(split.n_cells[side], split.keys[side], child++);
  }
}

void Batch::look_up(std::size_t shard) {
  std::size_t n_keys = 0;
  for (const Chunk& chunk : chunks()) n_keys += chunk.sought.in(shard).size();
  table_[shard].reserve(n_keys);
  for (Chunk& chunk : chunks()) look_up(chunk, shard);
}

// A cache miss takes as long as a dozen look-ups, so buckets are fetched ahead; those beyond a key's home while all
// other keys are looked up at theirs. Equal keys stay in order.
void Batch::look_up(Chunk& chunk, std::size_t shard) {
  TableShard& table = table_[shard];
  const std::span<const TableShard::Entry> sought = chunk.sought.in(shard);
  std::vector<TableShard::Entry>& beyond_home = chunk.beyond_home[shard];
  const auto first_pending = kPending | static_cast<BoxId>(chunk.first_position);
  std::size_t n_new = 0;
  std::size_t n_new_cells = 0;
  const auto settle = [&](BoxId pending, BoxId& id) {
    const BoxId child = pending - first_pending;
    chunk.ids[child] = id;
    if (id != pending) return;
    chunk.is_new[child] = 1;
    chunk.new_slots[child] = &id;
    ++n_new;
    n_new_cells += chunk.n_cells(child);
  };
  beyond_home.clear();
  const std::size_t n = sought.size();
  for (std::size_t k = 0; k < std::min(kPrefetchDistance, n); ++k) table.prefetch(sought[k]);
  for (std::size_t k = 0; k < n; ++k) {
    table.prefetch(sought[std::min(k + kPrefetchDistance, n - 1)]);
    TableShard::Entry entry = sought[k];
    entry.id += static_cast<BoxId>(chunk.first_position);
    if (BoxId* id = table.find_at_home(entry); id != nullptr) {
      settle(entry.id, *id);
    } else {
      table.prefetch_beyond_home(entry);
      beyond_home.push_back(entry);
    }
  }
  for (const TableShard::Entry& entry : beyond_home) settle(entry.id, table.find_beyond_home(entry));
  chunk.n_new[shard] = n_new;
  chunk.n_new_cells[shard] = n_new_cells;
}

}  // namespace bcart
