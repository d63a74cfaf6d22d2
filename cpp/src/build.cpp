#include "bcart/build.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bcart/batch.hpp"
#include "bcart/code_sums.hpp"
#include "bcart/fold.hpp"
#include "bcart/layers.hpp"
#include "bcart/numbering.hpp"
#include "bcart/splits.hpp"

namespace bcart {
namespace {

constexpr std::size_t kBlockCells = std::size_t{1} << 20;
constexpr std::size_t kMaxBoxes = kClaim - 2;
constexpr double kMaxWantedPairs = 0x1p29;  // of splits, if just that depth is asked for: about a minute for a sweep
constexpr double kMaxFoldedPairs = 0x1p23;  // else: about a second
constexpr double kManyCells = 64;           // for each split of a box
constexpr double kSurely = 4;               // so many times too large, if it is expected two layers before the end
constexpr double kRather = 1.5;             // the same, one layer before it
constexpr std::size_t kShareOfWork = 16;    // of the bytes, one part may be held by workers at boxes
constexpr std::size_t kLittleWork = 1 << 16;

// Of each box: the table while the graph is built, later the answers of sweeps, what a response needs, and a copy of
// the statistics, which sorting and pickling take, with what comes with it.
constexpr std::size_t bytes_besides(std::size_t statistics) { return 52 + 5 * statistics / 4; }
static_assert(bytes_besides(2 * sizeof(double)) >= Batch::kBytesPerBox);

struct BytesExceeded : std::exception {};

class Builder {
 public:
  Builder(const Cells& cells, const Family& family, const BuildLimits& limits, Workers& workers, Progress& progress)
      : cells_(cells), family_(family), rules_(cells, family), limits_(limits), workers_(workers), progress_(progress) {
    workers.keep(n_affordable_workers());
    batch_.emplace(rules_, workers);
    for (std::size_t i = 0; i < workers.size(); ++i)
      tools_.push_back({Array<Cell>(cells.n_cells + 1), CodeSums(cells)});
    graph_.n_bins = cells.n_bins;
    graph_.kinds = cells.kinds;
    graph_.n_statistics = cells.n_statistics;
    graph_.tests = TestArray(rules_.numbers().size());
    graph_.n_bytes_of_rules = bytes_of_rules();
  }

  Graph build() {
    add_root();
    for (std::size_t depth = 0; has_splittable_box() && graph_.ending == Ending::complete; ++depth) {
      layers_.add(n_expanded_);
      if (family_.max_depth == depth) {
        end_at(depth, Ending::max_depth);
      } else if (is_better_folded(depth)) {
        fold_at(depth, Ending::max_depth);
      } else if (is_last_better_folded(depth)) {
        fold_at(depth - 1, Ending::max_depth);
      } else if (const Ending ending = expand_layer(depth); ending != Ending::complete) {
        end_early(depth, ending);
      }
    }
    if (graph_.ending == Ending::complete) layers_.add(n_expanded_);
    tell_layers();
    workers_.lift_deadline();  // what is left to do is short, and without it nothing stands
    finish();
    return std::move(graph_);
  }

 private:
  void tell_layers();
  void add_root();
  bool has_splittable_box() const;
  Ending expand_layer(std::size_t depth);
  void end_at(std::size_t depth, Ending ending);
  void fold_at(std::size_t depth, Ending ending);
  void end_early(std::size_t depth, Ending ending);
  double expected_bytes(std::size_t depth) const;
  bool is_better_folded(std::size_t depth) const;
  bool is_last_better_folded(std::size_t depth) const;
  bool is_foldable(std::size_t depth) const;
  void expand_blocks();
  std::optional<std::size_t> binding_depth() const;
  void shrink_to(std::size_t depth);
  void finish();

  void expand_batch();
  void place_chunks();
  void store_new_boxes(const Chunk& chunk, std::size_t worker);
  void store_splits(const Chunk& chunk);
  FrontierBlock& block_for_new_boxes();
  std::size_t n_bytes(std::size_t n_boxes, std::size_t n_splits, std::size_t n_next_cells) const;
  std::size_t bytes_of_work() const { return rules_.max_splits(cells_.n_cells) * Batch::kBytesPerSplit; }
  // With the work at the widest box, where it is more than a megabyte: budgets below that are for tests.
  std::size_t bytes_of_rules() const { return rules_.n_bytes() + (bytes_of_work() > 1'000'000 ? bytes_of_work() : 0); }
  // What the others hold while they work is not counted, so there are only as many as it is little for.
  std::size_t n_affordable_workers() const {
    const std::size_t tools = (cells_.n_cells + 1) * sizeof(Cell) + CodeSums::n_bytes(cells_);
    return limits_.max_bytes / kShareOfWork / std::max(bytes_of_work() + tools, kLittleWork);
  }
  std::size_t bytes_a_split() const { return 2 * sizeof(BoxId) + graph_.tests.bytes_each(); }
  std::size_t bytes_a_box() const {
    const std::size_t statistics = cells_.n_statistics * sizeof(double);
    const std::size_t besides = std::max(bytes_besides(statistics), Batch::kBytesPerBox);
    return sizeof(std::uint64_t) + 2 * sizeof(std::uint32_t) + statistics + besides;
  }

  struct Tools {
    Array<Cell> cells;  // of one box, and one more
    CodeSums sums;
  };

  const Cells& cells_;
  const Family& family_;
  SplitRules rules_;
  BuildLimits limits_;
  Workers& workers_;
  Progress& progress_;
  std::optional<Batch> batch_;
  std::vector<Tools> tools_;  // one a worker
  Graph graph_;
  Numbering numbering_{cells_.n_cells};  // of children, until the boxes are sorted
  Layers layers_{graph_, rules_};
  std::vector<std::unique_ptr<FrontierBlock>> frontier_;
  std::vector<std::unique_ptr<FrontierBlock>> next_frontier_;
  std::unique_ptr<FrontierBlock> spare_block_;  // its memory is used again
  std::size_t n_frontier_cells_ = 0;
  std::size_t n_next_cells_ = 0;
  bool keeps_cells_ = true;     // of new boxes: the last layer is never expanded
  std::size_t n_expanded_ = 0;  // boxes whose splits are in the graph
  std::size_t first_of_layer_ = 0;
};

void Builder::tell_layers() {
  std::size_t n_cells = 0;
  for (std::size_t box = 0; const Layer& layer : layers_) {
    while (box < std::min(layer.n_boxes, graph_.n_boxes())) n_cells += graph_.n_cells[box++];
    graph_.n_boxes_to.push_back(layer.n_boxes);
    graph_.n_cells_to.push_back(n_cells);
    graph_.n_splits_to.push_back(layer.n_splits);
  }
}

void Builder::add_root() {
  auto block = std::make_unique<FrontierBlock>();
  block->cells.resize(cells_.n_cells);
  std::iota(block->cells.data(), block->cells.data() + cells_.n_cells, Cell{0});
  block->ends.resize(1);
  block->ends[0] = cells_.n_cells;
  graph_.n_cells.resize(1);
  graph_.n_cells[0] = static_cast<std::uint32_t>(cells_.n_cells);
  graph_.statistics.resize(cells_.n_statistics);
  std::fill_n(graph_.statistics.data(), cells_.n_statistics, 0.0);
  for (std::size_t i = 0; i < cells_.n_cells * cells_.n_statistics; ++i) {
    graph_.statistics[i % cells_.n_statistics] += cells_.statistics[i];
  }
  n_next_cells_ = cells_.n_cells;
  graph_.n_cells_found = cells_.n_cells;
  numbering_.next(graph_.n_cells[0]);  // zero, which no slot of the table could hold
  next_frontier_.push_back(std::move(block));
}

bool Builder::has_splittable_box() const { return n_next_cells_ > graph_.n_boxes() - n_expanded_; }

Ending Builder::expand_layer(std::size_t depth) {
  frontier_ = std::exchange(next_frontier_, {});
  n_frontier_cells_ = std::exchange(n_next_cells_, 0);
  keeps_cells_ = family_.max_depth != depth + 1;
  progress_.depth = depth;
  progress_.n_expanded = 0;
  progress_.layer_size = graph_.n_boxes() - n_expanded_;
  first_of_layer_ = n_expanded_;
  try {
    expand_blocks();
  } catch (const BytesExceeded&) {
    return Ending::memory;
  } catch (const std::bad_alloc&) {
    return Ending::system;
  } catch (const DeadlinePassed&) {
    return Ending::time;
  }
  return Ending::complete;
}

// Boxes of this depth stop.
void Builder::end_at(std::size_t depth, Ending ending) {
  graph_.ending = ending;
  graph_.max_depth = depth;
  shrink_to(depth);
}

void Builder::fold_at(std::size_t depth, Ending ending) {
  end_at(depth, ending);
  graph_.n_bytes_counted += fold_bytes(cells_);
  graph_.max_depth = depth + kFoldedLevels;
  graph_.n_folded = kFoldedLevels;
}

// The boxes of a layer could not be expanded. Folded, it may still stand for trees that go deeper than it.
void Builder::end_early(std::size_t depth, Ending ending) {
  const std::size_t deepest = family_.max_depth.value_or(depth + kFoldedLevels);
  for (const std::size_t up : {0, 1}) {
    if (ending == Ending::time || depth < up || deepest < depth - up + kFoldedLevels || !is_foldable(depth - up))
      continue;
    return fold_at(depth - up, depth - up + kFoldedLevels == family_.max_depth ? Ending::max_depth : ending);
  }
  end_at(depth, ending);
}

bool Builder::is_foldable(std::size_t depth) const {
  const auto [n_boxes, n_splits, n_expanded] = layers_[depth];
  const std::size_t n_bytes =
      fold_bytes(cells_) + n_boxes * (bytes_a_box() + sizeof(BoxId)) + n_splits * bytes_a_split();
  if (n_bytes > limits_.max_bytes) return false;
  if (limits_.folding != Folding::automatic) return limits_.folding == Folding::always;
  const double n_pairs = layers_.n_possible(depth, 2);
  const std::size_t n_at_once = std::min(workers_.size(), layers_[depth].size());
  const double seconds = workers_.seconds_left() * static_cast<double>(n_at_once);
  if (std::isfinite(seconds) && fold_seconds(cells_, layers_.n_cells(depth), n_pairs) > seconds) return false;
  const bool is_wanted = depth + kFoldedLevels == family_.max_depth;
  return n_pairs <= (is_wanted ? kMaxWantedPairs : kMaxFoldedPairs);
}

double Builder::expected_bytes(std::size_t depth) const {
  const auto [n_boxes, n_splits] = layers_.expected(depth, *family_.max_depth);
  return n_boxes * static_cast<double>(bytes_a_box()) + n_splits * static_cast<double>(bytes_a_split()) +
         static_cast<double>(bytes_of_rules() + n_next_cells_ * sizeof(Cell));
}

// Whether the last two layers would surely take too much memory; or would have to read far more cells than there are
// splits, which a fold reads less often.
bool Builder::is_better_folded(std::size_t depth) const {
  if (depth + kFoldedLevels != family_.max_depth || !is_foldable(depth)) return false;
  if (limits_.folding != Folding::automatic) return limits_.folding == Folding::always;
  const bool has_time = workers_.seconds_left() == std::numeric_limits<double>::infinity();  // for a layer in vain
  return static_cast<double>(n_next_cells_) > kManyCells * layers_.n_possible(depth, 1) ||
         expected_bytes(depth) > (has_time ? kSurely : 1) * static_cast<double>(limits_.max_bytes);
}

// The same when the first of the two is there, and more is known.
bool Builder::is_last_better_folded(std::size_t depth) const {
  return depth > 0 && depth + 1 == family_.max_depth && limits_.folding == Folding::automatic &&
         expected_bytes(depth) > kRather * static_cast<double>(limits_.max_bytes) && is_foldable(depth - 1);
}

void Builder::expand_blocks() {
  if (n_bytes(graph_.n_boxes(), graph_.n_splits(), 0) > limits_.max_bytes) throw BytesExceeded();
  for (auto& block : frontier_) {
    for (std::size_t box = 0; box < block->n_boxes();) {
      box = batch_->take(*block, box);
      expand_batch();
      workers_.watch();
    }
    block->ends.resize(0);
    block->cells.resize(0);
    spare_block_ = std::move(block);
  }
}

// Takes back what was found by expanding a layer and those below it.
void Builder::shrink_to(std::size_t depth) {
  const auto [n_boxes, n_splits, n_expanded] = layers_[depth];
  n_expanded_ = n_expanded;
  graph_.n_cells.resize(n_boxes);
  graph_.statistics.resize(n_boxes * cells_.n_statistics);
  graph_.tests.resize(n_splits);
  graph_.left.resize(n_splits);
  graph_.right.resize(n_splits);
}

void Builder::finish() {
  frontier_.clear();
  next_frontier_.clear();
  spare_block_.reset();
  batch_.reset();
  graph_.first_split.resize(graph_.n_boxes());
  graph_.n_splits_of.resize(graph_.n_boxes());
  std::fill_n(graph_.first_split.data() + n_expanded_, graph_.n_boxes() - n_expanded_, graph_.n_splits());
  std::fill_n(graph_.n_splits_of.data() + n_expanded_, graph_.n_boxes() - n_expanded_, 0);
  graph_.shrink_to_fit();
  graph_.sort_by_size(numbering_, workers_);
  if (graph_.ending == Ending::complete) graph_.max_depth = binding_depth();
}

// The depth limit of the family, if some tree would be deeper.
std::optional<std::size_t> Builder::binding_depth() const {
  return family_.max_depth && graph_.height(workers_) > *family_.max_depth ? family_.max_depth : std::nullopt;
}

void Builder::expand_batch() {
  batch_->find_children();
  place_chunks();
  batch_->for_each_chunk([&](const Chunk& chunk, std::size_t worker) {
    store_new_boxes(chunk, worker);
    store_splits(chunk);
  });
}

FrontierBlock& Builder::block_for_new_boxes() {
  if (next_frontier_.empty() || next_frontier_.back()->cells.size() > kBlockCells) {
    auto block = spare_block_ ? std::move(spare_block_) : std::make_unique<FrontierBlock>();
    if (!next_frontier_.empty()) block->reserve_for(*next_frontier_.back());
    next_frontier_.push_back(std::move(block));
  }
  return *next_frontier_.back();
}

// Gives each chunk its places in the graph and among the new boxes, and makes room for them.
void Builder::place_chunks() {
  FrontierBlock& block = block_for_new_boxes();
  std::size_t n_boxes = graph_.n_boxes();
  std::size_t n_splits = graph_.n_splits();
  std::size_t n_new_cells = 0;
  for (Chunk& chunk : batch_->chunks()) {
    chunk.first_id = n_expanded_;
    chunk.first_split = n_splits;
    chunk.first_new_id = n_boxes;
    chunk.first_new_cell = block.cells.size() + n_new_cells;
    n_expanded_ += chunk.found->n_splits.size();
    n_splits += chunk.found->tests.size();
    n_boxes += chunk.found->new_boxes.size();
    n_new_cells += chunk.found->n_new_cells;
    for (const NewBox& box : chunk.found->new_boxes) batch_->number(box.claim) = numbering_.next(box.n_cells);
  }
  n_next_cells_ += n_new_cells;
  progress_.n_boxes = n_boxes;
  progress_.n_splits = n_splits;
  progress_.n_expanded = n_expanded_ - first_of_layer_;
  progress_.n_bytes = n_bytes(n_boxes, n_splits, n_next_cells_);
  graph_.n_boxes_found = n_boxes;
  graph_.n_cells_found += n_new_cells;
  graph_.n_splits_found = n_splits;
  graph_.n_boxes_tried = n_expanded_;
  if (progress_.n_bytes > limits_.max_bytes) throw BytesExceeded();
  graph_.n_bytes_counted = std::max(graph_.n_bytes_counted, progress_.n_bytes);
  if (numbering_.end() > kMaxBoxes) throw std::bad_alloc();
  if (keeps_cells_) {
    block.cells.resize(block.cells.size() + n_new_cells);
    block.ends.resize(block.ends.size() + n_boxes - graph_.n_boxes());
  }
  graph_.n_cells.resize(n_boxes);
  graph_.statistics.resize(n_boxes * cells_.n_statistics);
  graph_.first_split.resize(n_expanded_);
  graph_.n_splits_of.resize(n_expanded_);
  graph_.tests.resize(n_splits);
  graph_.left.resize(n_splits);
  graph_.right.resize(n_splits);
}

// A formula of what was found, not of how: the depth reached within a budget does not depend on the threads.
std::size_t Builder::n_bytes(std::size_t n_boxes, std::size_t n_splits, std::size_t n_next_cells) const {
  const std::size_t n_held_cells = n_frontier_cells_ + (keeps_cells_ ? n_next_cells : 0);
  const std::size_t n_frontier_boxes = n_boxes - first_of_layer_;
  return bytes_of_rules() + n_boxes * bytes_a_box() + n_splits * bytes_a_split() + n_held_cells * sizeof(Cell) +
         n_frontier_boxes * sizeof(std::size_t);
}

void Builder::store_new_boxes(const Chunk& chunk, std::size_t worker) {
  FrontierBlock& block = *next_frontier_.back();
  std::size_t id = chunk.first_new_id;
  std::size_t first_cell = chunk.first_new_cell;
  auto& [scratch, sums] = tools_[worker];
  sums.forget();
  chunk.for_each_new([&](const NewBox& box, const Sight& sight) {
    sight.slot->set_id(batch_->number(box.claim));
    graph_.n_cells[id] = sight.n_cells;
    double* statistics = graph_.statistics.data() + id * cells_.n_statistics;
    if (keeps_cells_ || sight.mask != 0) {
      Cell* place = keeps_cells_ ? block.cells.data() + first_cell : scratch.data();
      chunk.write_cells(sight, cells_, rules_.numbers(), scratch.data(), place);
      cells_.add_up({place, sight.n_cells}, statistics);
    } else {
      sums.write(chunk.box(sight.box), chunk.test(sight, rules_.numbers()), sight.is_left(), statistics);
    }
    if (keeps_cells_) {
      first_cell += sight.n_cells;
      block.ends[block.ends.size() - (graph_.n_boxes() - id)] = first_cell;
    }
    ++id;
    if (chunk.box(sight.box).size() > kLargeBox) workers_.checkpoint(worker);
  });
}

void Builder::store_splits(const Chunk& chunk) {
  Findings& found = *chunk.found;
  std::size_t first = chunk.first_split;
  for (std::size_t i = 0; i < found.n_splits.size(); ++i) {
    graph_.first_split[chunk.first_id + i] = first;
    graph_.n_splits_of[chunk.first_id + i] = found.n_splits[i];
    first += found.n_splits[i];
  }
  for (std::size_t i = 0; i < found.tests.size(); ++i) graph_.tests.set(chunk.first_split + i, found.tests[i]);
  for (const Sight& sight : found.sights) found.child(sight) = batch_->number(found.child(sight));
  std::copy(found.children[0].begin(), found.children[0].end(), graph_.left.data() + chunk.first_split);
  std::copy(found.children[1].begin(), found.children[1].end(), graph_.right.data() + chunk.first_split);
}

}  // namespace

Graph build_graph(const Cells& cells, const Family& family, const BuildLimits& limits, Workers& workers,
                  Progress& progress) {
  return Builder(cells, family, limits, workers, progress).build();
}

}  // namespace bcart
