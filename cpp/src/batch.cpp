#include "bcart/batch.hpp"

#include <algorithm>
#include <numeric>

namespace bcart {
namespace {

constexpr std::size_t kChunkSplits = 1024;       // work for one thread, its lists stay in the cache
constexpr std::size_t kBatchSplits = 16 * 1024;  // work between two barriers
constexpr std::size_t kPrefetchDistance = 32;

void sort_by_shard(Chunk& chunk) {
  std::array<std::uint32_t, kShards + 1> next{};
  for (std::size_t child = 0; child < chunk.n_children(); ++child) ++next[chunk.shard(child) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  chunk.shard_ends = next;
  chunk.children_by_shard.resize(chunk.n_children());
  chunk.keys_by_shard.resize(chunk.n_children());
  for (std::uint32_t child = 0; child < chunk.n_children(); ++child) {
    const std::uint32_t place = next[chunk.shard(child)]++;
    chunk.children_by_shard[place] = child;
    chunk.keys_by_shard[place] = chunk.key(child);
  }
  chunk.ids.resize(chunk.n_children());
  chunk.new_slots.resize(chunk.n_children());
}

}  // namespace

// Boxes of up to two, of three and of four cells are few but asked for most: in shards of their own they stay cached.
std::size_t Chunk::shard(std::size_t child) const {
  const std::size_t size_class = std::clamp<std::size_t>(n_cells(child), 2, kSizeClasses + 1) - 2;
  return size_class << kHashBits | key(child).high >> (64 - kHashBits);
}

Batch::Batch(const SplitRules& rules, Workers& workers) : rules_(rules), workers_(workers) {
  for (std::size_t worker = 0; worker < workers.size(); ++worker) finders_.emplace_back(rules);
}

std::size_t Batch::take(const FrontierBlock& block, std::size_t first_box) {
  n_chunks_ = 0;
  std::size_t box = first_box;
  for (std::size_t n_batch = 0; box < block.n_boxes() && n_batch < kBatchSplits; ++n_chunks_) {
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
  workers_.run(kShards, [&](std::size_t shard, std::size_t) { look_up(shard); });
}

void Batch::list_splits(Chunk& chunk, std::size_t worker) {
  chunk.n_splits.clear();
  chunk.splits.clear();
  for (std::size_t box = chunk.first_box; box < chunk.last_box; ++box) {
    const std::size_t n_before = chunk.splits.size();
    finders_[worker].find(chunk.block->box(box), chunk.splits);
    chunk.n_splits.push_back(static_cast<std::uint32_t>(chunk.splits.size() - n_before));
    if (chunk.block->box(box).size() > kLargeBox) workers_.checkpoint(worker);
  }
  sort_by_shard(chunk);
}

// Walks the children of the batch that belong to one shard.
class Batch::ShardCursor {
 public:
  ShardCursor(Batch& batch, std::size_t shard) : batch_(batch), shard_(shard) { enter_chunk(); }
  Chunk& chunk() const { return batch_.chunks_[i_]; }
  std::uint32_t child() const { return chunk().children_by_shard[k_]; }
  const Fingerprint& key() const { return chunk().keys_by_shard[k_]; }
  void advance() {
    if (++k_ < end_) return;
    ++i_;
    enter_chunk();
  }

 private:
  void enter_chunk() {
    for (; i_ < batch_.n_chunks_; ++i_) {
      k_ = chunk().shard_ends[shard_];
      end_ = chunk().shard_ends[shard_ + 1];
      if (k_ < end_) return;
    }
  }

  Batch& batch_;
  std::size_t shard_;
  std::size_t i_ = 0;
  std::uint32_t k_ = 0;
  std::uint32_t end_ = 0;
};

void Batch::look_up(std::size_t shard) {
  TableShard& table = table_[shard];
  std::size_t n_keys = 0;
  for (Chunk& chunk : chunks()) {
    n_keys += chunk.shard_ends[shard + 1] - chunk.shard_ends[shard];
    chunk.n_new[shard] = 0;
    chunk.n_new_cells[shard] = 0;
  }
  table.reserve(n_keys);
  ShardCursor here(*this, shard);
  ShardCursor ahead(*this, shard);  // a cache miss takes as long as a dozen look-ups
  for (std::size_t k = 0; k < std::min(n_keys, kPrefetchDistance); ++k, ahead.advance()) table.prefetch(ahead.key());
  for (std::size_t k = 0; k < n_keys; ++k, here.advance()) {
    if (k + kPrefetchDistance < n_keys) {
      table.prefetch(ahead.key());
      ahead.advance();
    }
    Chunk& chunk = here.chunk();
    const std::uint32_t child = here.child();
    const BoxId position = kPending | static_cast<BoxId>(chunk.first_position + child);
    BoxId& id = table.find_or_insert(here.key(), position);
    chunk.ids[child] = id;
    if (id != position) continue;
    chunk.new_slots[child] = &id;
    ++chunk.n_new[shard];
    chunk.n_new_cells[shard] += chunk.n_cells(child);
  }
}

}  // namespace bcart
