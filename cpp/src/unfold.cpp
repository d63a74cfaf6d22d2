#include "bcart/unfold.hpp"

#include <limits>

#include "bcart/build.hpp"

namespace bcart {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

// The trees of up to two splits that grow from some cells.
Graph graph_of(const Fold& fold, std::size_t box, Workers& workers) {
  std::vector<Cell> chosen;
  fold.find_cells(box, chosen);
  const Cells& all = fold.cells();
  std::vector<Code> codes;
  std::vector<double> statistics;
  std::vector<double> weights;
  for (const Cell cell : chosen) {
    const double* added = all.statistics + cell * all.n_statistics;
    codes.insert(codes.end(), all.row(cell), all.row(cell) + all.n_features);
    statistics.insert(statistics.end(), added, added + all.n_statistics);
    weights.push_back(all.weights[cell]);
  }
  const Cells cells{chosen.size(),     all.n_features, all.n_statistics, codes.data(),
                    statistics.data(), weights.data(), all.n_bins,       all.kinds};
  Family family = fold.family();
  family.max_depth = kFoldedLevels;
  Progress progress;
  return build_graph(cells, family, {kNoLimit, Folding::never}, workers, progress);
}

}  // namespace

template <class Addition>
Unfolded::Unfolded(const Grammar& whole, std::size_t box, Addition)
    : graph_(graph_of(*whole.fold, box, workers_)),
      prior_(whole.prior, *whole.graph.last_depth()),
      depths_(graph_, prior_.depends_on_depth(), workers_),
      log_leaf_(graph_.n_boxes()),
      weights_(graph_.n_boxes()),
      grammar_{graph_, depths_, prior_, log_leaf_.data(), nullptr, nullptr, whole.leaf} {
  for (std::size_t i = 0; i < graph_.n_boxes() && whole.leaf != nullptr; ++i) {
    const double* statistics = graph_.statistics.data() + i * graph_.n_statistics;
    log_leaf_[i] = whole.leaf->log_marginal(statistics);
    weights_[i] = whole.leaf->weight(statistics);
  }
  values_ = sweep<Addition>(grammar_, workers_);
  grammar_.values = values_.data();
}

std::size_t Unfolded::n_bytes() const {
  return graph_.n_boxes() * (64 + graph_.n_statistics * sizeof(double)) + graph_.n_splits() * 12;
}

template Unfolded::Unfolded(const Grammar&, std::size_t, LogSum);
template Unfolded::Unfolded(const Grammar&, std::size_t, Maximum);

}  // namespace bcart
