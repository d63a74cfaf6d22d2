#include "bcart/batch.hpp"

#include <algorithm>
#include <numeric>

namespace bcart {
namespace {

constexpr std::size_t kChunkSplits = 1024;       // work for one thread, its lists stay in the cache
constexpr std::size_t kBatchSplits = 16 * 1024;  // work between two barriers
constexpr std::uint32_t kPrefetchDistance = 32;

// Boxes of up to two, of three and of four cells are few but asked for most: in shards of their own they stay cached.
std::uint8_t shard_of(std::uint32_t n_cells, const Fingerprint& key) {
  const std::size_t size_class = std::clamp<std::size_t>(n_cells, 2, kSizeClasses + 1) - 2;
  return static_cast<std::uint8_t>(size_class << kHashBits | key.high >> (64 - kHashBits));
}

void sort_by_shard(Chunk& chunk) {
  const std::size_t n = chunk.n_children();
  chunk.children_by_shard.resize(n);
  chunk.keys_by_shard.resize(n);
  chunk.beyond_home.resize(n);
  chunk.ids.resize(n);
  chunk.is_new.assign(n, 0);
  chunk.new_slots.resize(n);
  std::array<std::uint32_t, kShards + 1> next{};
  for (const std::uint8_t shard : chunk.shards) ++next[shard + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  chunk.shard_ends = next;
  for (std::uint32_t child = 0; child < n; ++child) {
    const std::uint32_t place = next[chunk.shards[child]]++;
    chunk.children_by_shard[place] = child;
    chunk.keys_by_shard[place] = chunk.key(child);
  }
}

}  // namespace

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
  chunk.shards.clear();
  for (std::size_t box = chunk.first_box; box < chunk.last_box; ++box) {
    const std::size_t n_before = chunk.splits.size();
    finders_[worker].find(chunk.block->box(box), chunk.splits);
    chunk.n_splits.push_back(static_cast<std::uint32_t>(chunk.splits.size() - n_before));
    chunk.shards.resize(chunk.n_children());
    for (std::size_t child = 2 * n_before; child < chunk.n_children(); ++child) {
      chunk.shards[child] = shard_of(chunk.n_cells(child), chunk.key(child));
    }
    if (chunk.block->box(box).size() > kLargeBox) workers_.checkpoint(worker);
  }
  sort_by_shard(chunk);
}

void Batch::look_up(std::size_t shard) {
  std::size_t n_keys = 0;
  for (const Chunk& chunk : chunks()) n_keys += chunk.shard_ends[shard + 1] - chunk.shard_ends[shard];
  table_[shard].reserve(n_keys);
  for (Chunk& chunk : chunks()) look_up(chunk, shard);
}

// A cache miss takes as long as a dozen look-ups, so buckets are fetched ahead; those beyond a key's home while all
// other keys are looked up at theirs. Equal keys stay in order.
void Batch::look_up(Chunk& chunk, std::size_t shard) {
  TableShard& table = table_[shard];
  const Fingerprint* keys = chunk.keys_by_shard.data();
  const std::uint32_t begin = chunk.shard_ends[shard];
  const std::uint32_t end = chunk.shard_ends[shard + 1];
  chunk.n_new[shard] = 0;
  chunk.n_new_cells[shard] = 0;
  const auto position = [&](std::uint32_t k) {
    return kPending | static_cast<BoxId>(chunk.first_position + chunk.children_by_shard[k]);
  };
  const auto settle = [&](std::uint32_t k, BoxId& id) {
    const std::uint32_t child = chunk.children_by_shard[k];
    chunk.ids[child] = id;
    if (id != position(k)) return;
    chunk.is_new[child] = 1;
    chunk.new_slots[child] = &id;
    ++chunk.n_new[shard];
    chunk.n_new_cells[shard] += chunk.n_cells(child);
  };
  std::uint32_t* beyond_home = chunk.beyond_home.data() + begin;
  for (std::uint32_t k = begin; k < std::min(begin + kPrefetchDistance, end); ++k) table.prefetch(keys[k]);
  for (std::uint32_t k = begin; k < end; ++k) {
    table.prefetch(keys[std::min(k + kPrefetchDistance, end - 1)]);
    if (BoxId* id = table.find_at_home(keys[k], position(k)); id != nullptr) {
      settle(k, *id);
    } else {
      table.prefetch_beyond_home(keys[k]);
      *beyond_home++ = k;
    }
  }
  for (const std::uint32_t k : std::span(chunk.beyond_home.data() + begin, beyond_home)) {
    settle(k, table.find_beyond_home(keys[k], position(k)));
  }
}

}  // namespace bcart
