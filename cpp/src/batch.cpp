#include "bcart/batch.hpp"

#include <algorithm>

namespace bcart {
namespace {

constexpr std::size_t kMaxChunkSplits = 512;      // work for one thread to take, unless a box has more
constexpr std::size_t kMinBatchSplits = 8192;     // between two barriers
constexpr std::size_t kMaxBatchSplits = 1 << 14;  // the same for each thread
constexpr std::size_t kChunksAThread = 4;         // of a batch, at least
constexpr std::size_t kLookAhead = 32;            // children

// Boxes of up to two, of three and of four cells are few but asked for most: in shards of their own they stay cached.
// Comparisons are added up, since a branch on a size is often mispredicted.
std::uint32_t shard_of(std::uint32_t n_cells, std::uint64_t key) {
  static_assert(kSizeClasses == 4);
  const std::uint32_t size_class = std::uint32_t{n_cells > 2} + std::uint32_t{n_cells > 3} + std::uint32_t{n_cells > 4};
  return size_class << kHashBits | static_cast<std::uint32_t>(key >> (64 - kHashBits));
}

}  // namespace

void Chunk::write_cells(const Sight& sight, const Cells& cells, const TestNumbers& numbers, Cell* scratch,
                        Cell* written) const {
  const std::span<const Cell> parent = box(sight.box);
  if (sight.mask != 0) {
    select_cells(parent, sight.is_left() ? sight.mask : all_cells(parent.size()) ^ sight.mask, written);
  } else {
    select_cells(cells, parent, test(sight, numbers), sight.is_left(), scratch);
    if (written != scratch) std::copy_n(scratch, sight.n_cells, written);
  }
}

std::size_t Batch::take(const FrontierBlock& block, std::size_t first_box) {
  chunks_.clear();
  std::size_t n_batch = 0;
  std::size_t box = first_box;
  const std::size_t max_batch = std::clamp(n_known_ / kBoxesASplit, kMinBatchSplits, kMaxBatchSplits * workers_.size());
  const std::size_t max_chunk = std::min(kMaxChunkSplits, max_batch / (kChunksAThread * workers_.size()) + 1);
  while (box < block.n_boxes() && n_batch < max_batch) {
    Chunk& chunk = chunks_.emplace_back();
    chunk.block = &block;
    chunk.first_box = box;
    chunk.first_claim = kClaim + static_cast<BoxId>(2 * n_batch);
    std::size_t n_chunk = 0;
    do {
      n_chunk += rules_.max_splits(block.box(box++).size()) + 1;
    } while (box < block.n_boxes() && n_chunk < max_chunk);
    chunk.last_box = box;
    n_batch += n_chunk;
  }
  max_children_ = 2 * n_batch;
  if (max_children_ > kClaim) throw NumbersExhausted();
  numbers_.resize(max_children_);
  return box;
}

void Batch::find_children() {
  make_room();
  while (!try_to_explore()) continue;
  for_each_chunk([](const Chunk& chunk, std::size_t) { list_new(chunk); });
  for (const Chunk& chunk : chunks_) {
    for (std::size_t shard = 0; shard < kShards; ++shard) table_[shard].add_used(chunk.found->n_new[shard]);
    n_known_ += chunk.found->new_boxes.size();
  }
}

void Batch::for_each_chunk(const std::function<void(Chunk&, std::size_t)>& task) {
  workers_.run(chunks_.size(), [&](std::size_t i, std::size_t worker) { task(chunks_[i], worker); });
}

// The shards of one size class fill at the same pace: they grow together, so that every worker has one to move.
void Batch::make_room() {
  const std::size_t n_slots = max_children_ / kChildrenASlot + 1;
  std::array<bool, kSizeClasses> is_tight{};
  for (std::size_t shard = 0; shard < kShards; ++shard)
    is_tight[shard >> kHashBits] |= !table_[shard].has_room(n_slots);
  if (std::none_of(is_tight.begin(), is_tight.end(), [](bool is) { return is; })) return;
  workers_.run(kShards, [&](std::size_t shard, std::size_t worker) {
    const auto checkpoint = [&] { workers_.checkpoint(worker); };
    if (is_tight[shard >> kHashBits]) table_[shard].grow_for(n_slots, checkpoint);
  });
}

// If a shard was full, it has grown, and all has to be done again; claims that were made are met again as they are.
bool Batch::try_to_explore() {
  for (Tools& tools : tools_) tools.n_chunks = 0;
  for_each_chunk([&](Chunk& chunk, std::size_t worker) { explore(chunk, worker); });
  std::array<bool, kShards> is_full{};
  for (Tools& tools : tools_) {
    for (const std::uint32_t shard : tools.full_shards) is_full[shard] = true;
    tools.full_shards.clear();
  }
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    if (is_full[shard]) table_[shard].double_size([&] { workers_.watch(); });
  }
  return std::none_of(is_full.begin(), is_full.end(), [](bool is) { return is; });
}

// A cache miss takes as long as a dozen look-ups: while the children of a box are on their way, the splits of the next
// boxes are listed.
void Batch::explore(Chunk& chunk, std::size_t worker) {
  Tools& tools = tools_[worker];
  if (!tools.finder) tools.finder.emplace(rules_);
  if (tools.n_chunks == tools.findings.size()) tools.findings.emplace_back();
  chunk.found = &tools.findings[tools.n_chunks++];
  tools.splits.resize(0);
  tools.n_found = 0;
  tools.beyond_home.clear();
  std::vector<std::uint32_t>& n_splits = chunk.found->n_splits;
  n_splits.clear();
  for (std::size_t box = chunk.first_box; box < chunk.last_box; ++box) {
    const std::size_t n_before = tools.splits.size();
    tools.finder->find(chunk.block->box(box), tools.splits);
    n_splits.push_back(static_cast<std::uint32_t>(tools.splits.size() - n_before));
    ask_for(tools, n_before);
    const std::size_t n_children = 2 * tools.splits.size();
    if (n_children > kLookAhead) look_up(chunk, tools, n_children - kLookAhead);
    if (chunk.block->box(box).size() > kLargeBox) workers_.checkpoint(worker);
  }
  look_up(chunk, tools, 2 * tools.splits.size());
  if (look_beyond_home(chunk, tools)) keep(tools, *chunk.found);
}

void Batch::ask_for(Tools& tools, std::size_t first_split) {
  tools.sought.resize(2 * tools.splits.size());
  tools.found.resize(2 * tools.splits.size());
  Sought* sought = tools.sought.data() + 2 * first_split;
  for (const Split* split = tools.splits.data() + first_split; split != tools.splits.end(); ++split) {
    for (const std::size_t side : {0, 1}) {
      const TableKey key(split->keys[side]);
      const std::uint32_t shard = shard_of(split->n_cells[side], key.high);
      TableBucket* bucket = table_[shard].home(key);
      __builtin_prefetch(bucket);
      *sought++ = {key, shard, bucket};
    }
  }
}

void Batch::look_up(const Chunk& chunk, Tools& tools, std::size_t n_children) {
  const Sought* sought = tools.sought.data();
  Found* found = tools.found.data();
  for (std::size_t i = tools.n_found; i < n_children; ++i) {
    TableSlot* slot = sought[i].bucket->find_or_claim(sought[i].key, chunk.claim(i));
    if (slot != nullptr) {
      found[i] = {slot, slot->id()};
    } else {
      __builtin_prefetch(table_[sought[i].shard].after(sought[i].bucket));
      tools.beyond_home.push_back(static_cast<std::uint32_t>(i));
    }
  }
  tools.n_found = std::max(tools.n_found, n_children);
}

// False if a shard is full.
bool Batch::look_beyond_home(const Chunk& chunk, Tools& tools) {
  for (const std::uint32_t i : tools.beyond_home) {
    const Sought& sought = tools.sought[i];
    TableSlot* slot = table_[sought.shard].find_or_claim(sought.key, chunk.claim(i));
    if (slot == nullptr) {
      tools.full_shards.push_back(sought.shard);
      return false;
    }
    tools.found[i] = {slot, slot->id()};
  }
  return true;
}

void Batch::keep(const Tools& tools, Findings& findings) {
  const std::size_t n_splits = tools.splits.size();
  findings.tests.resize(n_splits);
  for (Array<BoxId>& children : findings.children) children.resize(n_splits);
  findings.sights.clear();
  std::uint32_t box = 0;
  std::size_t box_end = findings.n_splits[0];
  for (std::size_t i = 0; i < n_splits; ++i) {
    const Split& split = tools.splits[i];
    while (box_end <= i) box_end += findings.n_splits[++box];
    findings.tests[i] = split.test;
    for (const std::size_t side : {0, 1}) {
      const std::size_t child = 2 * i + side;
      const auto [slot, id] = tools.found[child];
      findings.children[side][i] = id;
      if ((id & kClaim) == 0) continue;
      findings.sights.push_back(
          {slot, split.mask, box, static_cast<std::uint32_t>(child), split.n_cells[side], tools.sought[child].shard});
    }
  }
}

void Batch::list_new(const Chunk& chunk) {
  Findings& found = *chunk.found;
  found.new_boxes.clear();
  found.n_new = {};
  found.n_new_cells = 0;
  chunk.for_each_sight([&](std::size_t i, const Sight& sight) {
    const BoxId claim = sight.slot->id();
    found.child(sight) = claim;
    if (claim != chunk.claim(sight.child)) return;
    found.new_boxes.push_back({static_cast<std::uint32_t>(i), sight.n_cells, claim});
    ++found.n_new[sight.shard];
    found.n_new_cells += sight.n_cells;
  });
}

}  // namespace bcart
