#include "bcart/build.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bcart/batch.hpp"
#include "bcart/byte_counts.hpp"
#include "bcart/code_sums.hpp"
#include "bcart/fold_choice.hpp"
#include "bcart/layers.hpp"
#include "bcart/numbering.hpp"
#include "bcart/splits.hpp"

namespace bcart {
namespace {

constexpr std::size_t kBlockCells = std::size_t{1} << 20;

struct BytesExceeded : std::exception {};

// How some work of a build has ended.
template <class Work>
Ending ending_of(const Work& work) {
  try {
    work();
  } catch (const BytesExceeded&) {
    return Ending::memory;
  } catch (const std::bad_alloc&) {
    return Ending::system;
  } catch (const NumbersExhausted&) {
    return Ending::numbers;
  } catch (const DeadlinePassed&) {
    return Ending::time;
  }
  return Ending::complete;
}

// The root, whose splits are not listed.
Graph graph_of_root(const Cells& cells) {
  Graph graph;
  graph.n_bins = cells.n_bins;
  graph.kinds = cells.kinds;
  graph.n_statistics = cells.n_statistics;
  graph.tests = TestArray(TestNumbers(cells.n_bins, cells.kinds).size());
  graph.first_split = Array<std::uint64_t>(1);
  graph.n_splits_of = Array<std::uint32_t>(1);
  graph.n_cells = Array<std::uint32_t>(1);
  graph.n_cells[0] = static_cast<std::uint32_t>(cells.n_cells);
  graph.statistics = Array<double>(cells.n_statistics);
  for (std::size_t cell = 0; cell < cells.n_cells; ++cell) {
    const double* added = cells.statistics + cell * cells.n_statistics;
    for (std::size_t i = 0; i < cells.n_statistics; ++i) graph.statistics[i] += added[i];
  }
  graph.n_cells_found = cells.n_cells;
  return graph;
}

class Builder {
 public:
  Builder(const Cells& cells, const Family& family, const BuildLimits& limits, const ByteCounts& bytes,
          SplitRules& rules, Graph root, Workers& workers, Progress& progress)
      : cells_(cells),
        family_(family),
        limits_(limits),
        bytes_(bytes),
        rules_(rules),
        graph_(std::move(root)),
        workers_(workers),
        progress_(progress) {
    for (std::size_t i = 0; i < workers.size(); ++i)
      tools_.push_back({Array<Cell>(cells.n_cells + 1), CodeSums(cells)});
  }

  Graph build() {
    add_root();
    for (std::size_t depth = 0; has_splittable_box() && graph_.ending == Ending::complete; ++depth) {
      layers_.add(n_expanded_, n_next_cells_);
      if (family_.max_depth == depth) {
        end_at(depth, Ending::max_depth);
      } else if (folding_.is_better(depth)) {
        fold_at(depth, Ending::max_depth);
      } else if (folding_.is_better_from_above(depth)) {
        fold_at(depth - 1, Ending::max_depth);
      } else if (const Ending ending = ending_of([&] { expand_layer(depth); }); ending != Ending::complete) {
        end_early(depth, ending);
      }
    }
    if (graph_.ending == Ending::complete) layers_.add(n_expanded_, n_next_cells_);
    layers_.tell(graph_);
    workers_.lift_deadline();  // what is left to do is short, and without it nothing stands
    finish();
    return std::move(graph_);
  }

 private:
  void add_root();
  bool has_splittable_box() const;
  void expand_layer(std::size_t depth);
  bool has_box_for_answers() const;
  void end_at(std::size_t depth, Ending ending);
  void fold_at(std::size_t depth, Ending ending);
  void end_early(std::size_t depth, Ending ending);
  std::optional<std::size_t> binding_depth() const;
  void shrink_to(std::size_t depth);
  void finish();

  void expand_batch();
  void place_chunks();
  void store_new_boxes(const Chunk& chunk, std::size_t worker);
  void store_splits(const Chunk& chunk);
  FrontierBlock& block_for_new_boxes();
  std::size_t n_bytes(std::size_t n_boxes, std::size_t n_splits, std::size_t n_next_cells) const;

  struct Tools {
    Array<Cell> cells;  // of one box, and one more
    CodeSums sums;
  };

  const Cells& cells_;
  const Family& family_;
  const BuildLimits& limits_;
  const ByteCounts& bytes_;
  SplitRules& rules_;
  Graph graph_;
  Workers& workers_;
  Progress& progress_;
  std::optional<Batch> batch_{std::in_place, rules_, workers_};
  std::vector<Tools> tools_;             // one a worker
  Numbering numbering_{cells_.n_cells};  // of children, until the boxes are sorted
  Layers layers_{graph_, rules_};
  FoldChoice folding_{cells_, family_, limits_, bytes_, layers_, workers_};
  std::vector<std::unique_ptr<FrontierBlock>> frontier_;
  std::vector<std::unique_ptr<FrontierBlock>> next_frontier_;
  std::unique_ptr<FrontierBlock> spare_block_;  // its memory is used again
  std::size_t n_frontier_cells_ = 0;
  std::size_t n_next_cells_ = 0;
  bool keeps_cells_ = true;     // of new boxes: the last layer is never expanded
  std::size_t n_expanded_ = 0;  // boxes whose splits are in the graph
  std::size_t first_of_layer_ = 0;
};

void Builder::add_root() {
  auto block = std::make_unique<FrontierBlock>();
  block->cells.resize(cells_.n_cells);
  std::iota(block->cells.data(), block->cells.data() + cells_.n_cells, Cell{0});
  block->ends.resize(1);
  block->ends[0] = cells_.n_cells;
  n_next_cells_ = cells_.n_cells;
  numbering_.next(graph_.n_cells[0]);  // zero, which no slot of the table could hold
  next_frontier_.push_back(std::move(block));
}

bool Builder::has_splittable_box() const { return n_next_cells_ > graph_.n_boxes() - n_expanded_; }

void Builder::expand_layer(std::size_t depth) {
  frontier_ = std::exchange(next_frontier_, {});
  n_frontier_cells_ = std::exchange(n_next_cells_, 0);
  keeps_cells_ = family_.max_depth != depth + 1;
  progress_.depth = depth;
  progress_.n_expanded = 0;
  progress_.layer_size = graph_.n_boxes() - n_expanded_;
  first_of_layer_ = n_expanded_;
  if (n_bytes(graph_.n_boxes(), graph_.n_splits(), 0) > limits_.max_bytes) throw BytesExceeded();
  if (has_box_for_answers()) rules_.find_answers(workers_);
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

bool Builder::has_box_for_answers() const {
  for (const auto& block : frontier_) {
    for (std::size_t box = 0; box < block->n_boxes(); ++box) {
      if (is_divided_by_answers(block->box(box).size())) return true;
    }
  }
  return false;
}

// Boxes of this depth stop.
void Builder::end_at(std::size_t depth, Ending ending) {
  graph_.ending = ending;
  graph_.max_depth = depth;
  shrink_to(depth);
}

void Builder::fold_at(std::size_t depth, Ending ending) {
  end_at(depth, ending);
  graph_.n_bytes_counted += bytes_.fold;
  graph_.max_depth = depth + kFoldedLevels;
  graph_.n_folded = kFoldedLevels;
}

// The boxes of a layer could not be expanded. Folded, it may still stand for trees that go deeper than it.
void Builder::end_early(std::size_t depth, Ending ending) {
  const std::size_t deepest = family_.max_depth.value_or(depth + kFoldedLevels);
  for (const std::size_t up : {0, 1}) {
    if (ending == Ending::time || depth < up || deepest < depth - up + kFoldedLevels ||
        !folding_.is_possible(depth - up))
      continue;
    return fold_at(depth - up, depth - up + kFoldedLevels == family_.max_depth ? Ending::max_depth : ending);
  }
  end_at(depth, ending);
}

// Takes back what was found by expanding a layer and those below it.
void Builder::shrink_to(std::size_t depth) {
  const auto [n_boxes, n_splits, n_expanded, n_cells] = layers_[depth];
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
  if (numbering_.end() > limits_.max_boxes) throw NumbersExhausted();
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
  return bytes_.before_first_box() + n_boxes * bytes_.a_box + n_splits * bytes_.a_split + n_held_cells * sizeof(Cell) +
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
  const ByteCounts bytes(cells);
  workers.keep(bytes.n_affordable_workers(limits.max_bytes));
  Graph root = graph_of_root(cells);
  std::optional<SplitRules> rules;
  root.ending = ending_of([&] {
    if (cells.n_cells > 1 && bytes.rules > limits.max_bytes) throw BytesExceeded();
    rules.emplace(cells, family, workers);
  });
  if (root.ending == Ending::complete) {
    return Builder(cells, family, limits, bytes, *rules, std::move(root), workers, progress).build();
  }
  workers.lift_deadline();
  root.max_depth = 0;
  root.n_boxes_to = {1};
  root.n_cells_to = {cells.n_cells};
  root.n_splits_to = {0};
  return root;
}

}  // namespace bcart
