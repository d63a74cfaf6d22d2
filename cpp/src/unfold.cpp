#include "bcart/unfold.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <type_traits>

#include "bcart/batch.hpp"
#include "bcart/build.hpp"
#include "bcart/sweep.hpp"
#include "bcart/twigs.hpp"

namespace bcart {
namespace {

constexpr std::size_t kManySplits = 128;
constexpr std::size_t kBytesABoxAtWork = 160;                // but for its statistics, while it is listed
constexpr std::size_t kBytesABox = 80;                       // the same when all have their values and places
constexpr std::size_t kBytesASplit = 12;                     // two children and a test
constexpr std::size_t kBytesAThread = std::size_t{1} << 20;  // for its stack and what its heap keeps
constexpr std::size_t kShareToOpen = 4;  // of the bytes, one part is for opening boxes: what is kept saves time
constexpr std::size_t kMostKept = std::size_t{1} << 26;  // bytes, in all threads together

// What a box with all cells takes while it is unfolded: where there may be very many splits, together with one of its
// children.
std::size_t most_unfolded_bytes(const Fold& fold) {
  const std::size_t n_splits = fold.rules().max_splits(fold.cells().n_cells);
  const bool has_many = n_splits > kManySplits;
  const std::size_t n_listed = n_splits + (has_many ? 0 : 2 * n_splits * n_splits);
  const std::size_t n_sides = 2 * TestNumbers(fold.cells().n_bins, fold.cells().kinds).size();  // of rows, see Pass
  const std::size_t n_bytes =
      kBytesAThread + bytes_of_fold(fold.cells()) + bytes_of_own_cells(fold.cells()) +
      n_splits * Batch::kBytesPerSplit + n_sides +
      n_listed * (kBytesASplit + 2 * (kBytesABoxAtWork + fold.cells().n_statistics * sizeof(double)));
  return has_many ? 2 * n_bytes : n_bytes;
}

}  // namespace

Unfolded::OwnCells::OwnCells(const Fold& fold, std::size_t box) {
  const Cells& all = fold.cells();
  std::vector<Cell> chosen;
  fold.find_cells(box, chosen);
  codes.reserve(chosen.size() * all.n_features);
  statistics.reserve(chosen.size() * all.n_statistics);
  weights.reserve(chosen.size());
  for (const Cell cell : chosen) {
    const double* added = all.statistics + cell * all.n_statistics;
    codes.insert(codes.end(), all.row(cell), all.row(cell) + all.n_features);
    statistics.insert(statistics.end(), added, added + all.n_statistics);
    weights.push_back(all.weights[cell]);
  }
  view = {weights.size(),    all.n_features, all.n_statistics, codes.data(),
          statistics.data(), weights.data(), all.n_bins,       all.kinds};
}

template <class Addition>
Unfolded::Unfolded(const Grammar& whole, std::size_t box, Addition addition, Steps& steps)
    : Unfolded(whole, box, addition, Alone(steps)) {}

template <class Addition>
Unfolded::Unfolded(const Grammar& whole, std::size_t box, Addition, Alone&& alone)
    : cells_(*whole.fold, box),
      graph_(list_splits(*whole.fold, whole.graph.n_folded, std::is_same_v<Addition, Maximum>, alone.workers)),
      prior_(whole.prior, *whole.graph.last_depth()),
      depths_(graph_, prior_.depends_on_depth(), alone.workers),
      log_leaf_(graph_.n_boxes()),
      weights_(graph_.n_boxes()),
      values_(depths_.n_places()),
      grammar_{graph_, depths_, prior_, log_leaf_.data(), values_.data(), nullptr, whole.leaf} {
  if (graph_.n_folded > 0) grammar_.fold = &fold_.emplace(graph_, cells_.view, whole.fold->family(), alone.workers);
  for (std::size_t i = 0; i < graph_.n_boxes() && whole.leaf != nullptr; ++i) {
    const double* statistics = graph_.statistics.data() + i * graph_.n_statistics;
    log_leaf_[i] = whole.leaf->log_marginal(statistics);
    weights_[i] = whole.leaf->weight(statistics);
  }
  find_values<Addition>(alone.workers);
}

// All of the levels that are left, unless there may be very many splits, or most of them will not be looked at: then
// the first.
Graph Unfolded::list_splits(const Fold& fold, std::size_t n_levels, bool is_for_one_tree, Workers& workers) const {
  const bool has_many = fold.rules().max_splits(cells_.weights.size()) > kManySplits;
  const std::size_t n_listed = has_many || is_for_one_tree ? 1 : n_levels;
  Family family = fold.family();
  family.max_depth = n_listed;
  Progress progress;
  Graph graph = build_graph(cells_.view, family, {.folding = Folding::never}, workers, progress);
  if (graph.ending == Ending::system) throw std::bad_alloc();  // fewer levels would be another answer
  if (graph.ending == Ending::time) throw DeadlinePassed();
  graph.max_depth = n_levels;
  graph.n_folded = n_levels - n_listed;
  return graph;
}

template <class Addition>
void Unfolded::find_values(Workers& workers) {
  if (graph_.n_folded == 0) {
    const Array<double> found = sweep<Addition>(grammar_, workers);
    values_.assign(found.begin(), found.end());
    return;
  }
  Steps steps(workers, 0);
  Twigs twigs(*fold_, prior_, grammar_.leaf, 0, steps);
  std::vector<Cell> all(cells_.weights.size());
  std::iota(all.begin(), all.end(), Cell{0});
  values_[depths_.place(0, 0)] = twigs.value<Addition>(all, log_leaf_[0]);
  for (std::size_t split = 0; split < graph_.n_splits_of[0]; ++split) {
    const std::size_t listed = graph_.first_split[0] + split;
    values_[depths_.place(graph_.left[listed], 1)] = twigs.child_values()[2 * split];
    values_[depths_.place(graph_.right[listed], 1)] = twigs.child_values()[2 * split + 1];
  }
}

std::size_t n_unfolding(const Grammar& whole, std::size_t max_bytes, std::size_t n_workers) {
  if (whole.fold == nullptr) return n_workers;
  return std::clamp<std::size_t>(max_bytes / most_unfolded_bytes(*whole.fold), 1, n_workers);
}

UnfoldingRoom::UnfoldingRoom(const Grammar& whole, std::size_t max_bytes, std::size_t n_workers)
    : n_at_once(n_unfolding(whole, max_bytes / kShareToOpen, n_workers)) {
  if (whole.fold == nullptr) return;
  const std::size_t in_work = std::min(max_bytes, n_at_once * most_unfolded_bytes(*whole.fold));
  n_bytes = std::min({max_bytes / 2, max_bytes - in_work, kMostKept}) / n_at_once;
}

std::size_t Unfolded::n_bytes() const {
  const std::size_t a_cell = cells_.view.n_features + (cells_.view.n_statistics + 4) * sizeof(double);
  return sizeof(*this) + cells_.weights.size() * a_cell + (fold_ ? bytes_of_fold(fold_->cells()) : 0) +
         graph_.n_boxes() * (kBytesABox + graph_.n_statistics * sizeof(double)) + graph_.n_splits() * kBytesASplit;
}

template Unfolded::Unfolded(const Grammar&, std::size_t, LogSum, Steps&);
template Unfolded::Unfolded(const Grammar&, std::size_t, Maximum, Steps&);

}  // namespace bcart
