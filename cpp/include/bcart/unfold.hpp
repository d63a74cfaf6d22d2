// Boxes at the rim of a folded graph, opened up again.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bcart/addition.hpp"
#include "bcart/fold.hpp"
#include "bcart/grammar.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// A prior as it looks from a box that stands at some depth. One that is looked at through another is not needed any
// more.
class PriorFrom final : public TreePrior {
 public:
  PriorFrom(const TreePrior& prior, std::size_t depth) : prior_(&prior), depth_(depth) {
    if (const auto* nearer = dynamic_cast<const PriorFrom*>(&prior)) {
      prior_ = nearer->prior_;
      depth_ += nearer->depth_;
    }
  }
  double log_stop(std::size_t depth, std::size_t n_splits) const override {
    return prior_->log_stop(depth_ + depth, n_splits);
  }
  double log_split(std::size_t depth, std::size_t n_splits) const override {
    return prior_->log_split(depth_ + depth, n_splits);
  }
  bool depends_on_depth() const override { return prior_->depends_on_depth(); }

 private:
  const TreePrior* prior_;
  std::size_t depth_;
};

// The trees of a box at the rim as a graph and a grammar of their own: the box is its root, and depth counts from it.
// Where a box may have very many splits, and for the best tree, which looks at few of them, only those of the root are
// listed, and those of its children are folded. Of the whole it needs nothing but prior and leaf model once it is
// there.
class Unfolded {
 public:
  template <class Addition>
  Unfolded(const Grammar& whole, std::size_t box, Addition, Steps& steps);
  Unfolded(const Unfolded&) = delete;
  Unfolded& operator=(const Unfolded&) = delete;

  const Grammar& grammar() const { return grammar_; }
  const double* weights() const { return weights_.data(); }  // of each box
  std::size_t n_bytes() const;

 private:
  // The calling thread on its own, in the midst of a task that it does with others.
  struct Alone final : Monitor {
    explicit Alone(Steps& task) : steps(task) { steps.checkpoint(); }
    void poll() override { steps.checkpoint(); }

    Steps& steps;
    Workers workers{1, *this};
  };
  // The cells of the box, on their own.
  struct OwnCells {
    OwnCells(const Fold& fold, std::size_t box);
    OwnCells(const OwnCells&) = delete;
    OwnCells& operator=(const OwnCells&) = delete;

    std::vector<Code> codes;
    std::vector<double> statistics;
    std::vector<double> weights;
    Cells view;
  };
  template <class Addition>
  Unfolded(const Grammar& whole, std::size_t box, Addition, Alone&& alone);
  Graph list_splits(const Fold& fold, std::size_t n_levels, bool is_for_one_tree, Workers& workers) const;
  template <class Addition>
  void find_values(Workers& workers);

  OwnCells cells_;
  Graph graph_;
  PriorFrom prior_;
  Depths depths_;
  std::optional<Fold> fold_;
  std::vector<double> log_leaf_;
  std::vector<double> weights_;
  std::vector<double> values_;
  Grammar grammar_;
};

template <class Addition>
class Unfolder;

// A box at a depth: of the graph, or of one unfolded from it.
template <class Addition>
class Spot {
 public:
  explicit Spot(const Grammar& whole) : grammar_(&whole) {}

  const Grammar& grammar() const { return *grammar_; }
  std::size_t box() const { return box_; }
  std::size_t depth() const { return depth_; }
  const double* statistics() const { return grammar_->graph.statistics.data() + box_ * grammar_->graph.n_statistics; }
  BoxId id() const { return id_; }  // in the whole graph

  // Of all boxes where it is listed, given those of the whole graph.
  const double* weights(const double* of_whole) const { return unfolded_ ? unfolded_->weights() : of_whole; }

  Spot child(BoxId box) const {
    Spot spot = *this;
    spot.box_ = box;
    spot.id_ = unfolded_ ? kNoBox : box;
    ++spot.depth_;
    return spot;
  }
  // The same box where its rules are listed.
  Spot unfolded(Unfolder<Addition>& unfolder) const {
    if (!grammar_->is_rim(depth_)) return *this;
    Spot spot = *this;
    spot.unfolded_ = unfolder.at(*this);
    spot.grammar_ = &spot.unfolded_->grammar();
    spot.box_ = spot.depth_ = 0;
    return spot;
  }

 private:
  friend class Unfolder<Addition>;

  const Grammar* grammar_;
  std::shared_ptr<const Unfolded> unfolded_;  // keeps the grammar
  std::size_t box_ = 0;
  std::size_t depth_ = 0;
  BoxId id_ = 0;
};

// So many workers may each unfold a box at once within some bytes, one at least.
std::size_t n_unfolding(const Grammar& whole, std::size_t max_bytes, std::size_t n_workers);

// How the bytes that may be taken by unfolded boxes are shared out between those in work and those that are kept.
struct UnfoldingRoom {
  UnfoldingRoom(const Grammar& whole, std::size_t max_bytes, std::size_t n_workers);

  std::size_t n_at_once;    // workers, one at least
  std::size_t n_bytes = 0;  // that each may keep of boxes that it does not need at the moment
};

// Keeps what it has unfolded, as far as there is room; one a thread.
template <class Addition>
class Unfolder {
 public:
  Unfolder(const UnfoldingRoom& room, Workers& workers, std::size_t worker)
      : max_bytes_(room.n_bytes), steps_(workers, worker) {}

  std::shared_ptr<const Unfolded> at(const Spot<Addition>& spot) {
    const std::pair key(spot.unfolded_.get(), spot.box_);
    if (const auto found = kept_.find(key); found != kept_.end()) return found->second.opened;
    auto opened = std::make_shared<const Unfolded>(spot.grammar(), spot.box_, Addition(), steps_);
    n_bytes_ += opened->n_bytes();
    if (n_bytes_ > max_bytes_) {
      kept_.clear();
      n_bytes_ = opened->n_bytes();
    }
    kept_[key] = {opened, spot.unfolded_};
    return opened;
  }

 private:
  using Key = std::pair<const Unfolded*, std::size_t>;  // none for the whole graph
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<const void*>()(key.first) * 31 + std::hash<std::size_t>()(key.second);
    }
  };
  struct Kept {
    std::shared_ptr<const Unfolded> opened;
    std::shared_ptr<const Unfolded> within;  // whose address is in the key
  };

  std::unordered_map<Key, Kept, Hash> kept_;
  std::size_t max_bytes_;
  std::size_t n_bytes_ = 0;
  Steps steps_;
};

inline constexpr std::size_t kWaysTogether = 64;  // for one thread to take

// Calls task(i, unfolder) for each i below n, in parallel as far as there is room for the boxes that are unfolded.
template <class Addition, class Task>
void run_unfolding(const Grammar& whole, std::size_t n, std::size_t max_bytes, Workers& workers, const Task& task) {
  const UnfoldingRoom room(whole, max_bytes, workers.size());
  std::vector<Unfolder<Addition>> unfolders;
  for (std::size_t worker = 0; worker < workers.size(); ++worker) unfolders.emplace_back(room, workers, worker);
  const auto run_some = [&](std::size_t begin, std::size_t end, std::size_t worker) {
    for (std::size_t i = begin; i < end; ++i) {
      task(i, unfolders[worker]);
      workers.checkpoint(worker);
    }
  };
  workers.run_ranges(0, n, kWaysTogether, run_some, room.n_at_once);
}

extern template Unfolded::Unfolded(const Grammar&, std::size_t, LogSum, Steps&);
extern template Unfolded::Unfolded(const Grammar&, std::size_t, Maximum, Steps&);

}  // namespace bcart
