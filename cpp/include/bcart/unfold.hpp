// Boxes at the rim of a folded graph, opened up again.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bcart/fold.hpp"
#include "bcart/grammar.hpp"
#include "bcart/sweep.hpp"

namespace bcart {

// A prior as it looks from a box that stands at some depth.
class PriorFrom final : public TreePrior {
 public:
  PriorFrom(const TreePrior& prior, std::size_t depth) : prior_(prior), depth_(depth) {}
  double log_stop(std::size_t depth, std::size_t n_splits) const override {
    return prior_.log_stop(depth_ + depth, n_splits);
  }
  double log_split(std::size_t depth, std::size_t n_splits) const override {
    return prior_.log_split(depth_ + depth, n_splits);
  }
  bool depends_on_depth() const override { return prior_.depends_on_depth(); }

 private:
  const TreePrior& prior_;
  std::size_t depth_;
};

// The trees of a box at the rim as a graph and a grammar of their own: the box is its root, and depth counts from it.
class Unfolded {
 public:
  template <class Addition>
  Unfolded(const Grammar& whole, std::size_t box, Addition);
  Unfolded(const Unfolded&) = delete;
  Unfolded& operator=(const Unfolded&) = delete;

  const Grammar& grammar() const { return grammar_; }
  const double* weights() const { return weights_.data(); }  // of each box
  std::size_t n_bytes() const;

 private:
  Monitor monitor_;
  Workers workers_{1, monitor_};
  Graph graph_;
  PriorFrom prior_;
  Depths depths_;
  std::vector<double> log_leaf_;
  std::vector<double> weights_;
  Array<double> values_;
  Grammar grammar_;
};

// Keeps what it has unfolded, up to some megabytes; one a thread.
template <class Addition>
class Unfolder {
 public:
  explicit Unfolder(const Grammar& whole) : whole_(&whole) {}

  std::shared_ptr<const Unfolded> at(std::size_t box) {
    std::shared_ptr<const Unfolded>& found = kept_[box];
    if (found) return found;
    auto opened = std::make_shared<const Unfolded>(*whole_, box, Addition());
    n_bytes_ += opened->n_bytes();
    if (n_bytes_ > kMaxBytes) {
      kept_.clear();
      n_bytes_ = opened->n_bytes();
    }
    return kept_[box] = std::move(opened);
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 26;

  const Grammar* whole_;
  std::unordered_map<std::size_t, std::shared_ptr<const Unfolded>> kept_;
  std::size_t n_bytes_ = 0;
};

// A box at a depth: of the graph, or of one unfolded from it.
template <class Addition>
class Spot {
 public:
  explicit Spot(const Grammar& whole) : grammar_(&whole) {}

  const Grammar& grammar() const { return *grammar_; }
  std::size_t box() const { return box_; }
  std::size_t depth() const { return depth_; }
  const double* statistics() const { return grammar_->graph.statistics.data() + box_ * grammar_->graph.n_statistics; }
  BoxId id() const { return !unfolded_ ? static_cast<BoxId>(box_) : box_ == 0 ? rim_ : kNoBox; }

  // Of all boxes where it is listed, given those of the whole graph.
  const double* weights(const double* of_whole) const { return unfolded_ ? unfolded_->weights() : of_whole; }

  Spot child(BoxId box) const {
    Spot spot = *this;
    spot.box_ = box;
    ++spot.depth_;
    return spot;
  }
  // The same box where its rules are listed.
  Spot unfolded(Unfolder<Addition>& unfolder) const {
    if (!grammar_->is_rim(depth_)) return *this;
    Spot spot = *this;
    spot.unfolded_ = unfolder.at(box_);
    spot.rim_ = static_cast<BoxId>(box_);
    spot.grammar_ = &spot.unfolded_->grammar();
    spot.box_ = spot.depth_ = 0;
    return spot;
  }

 private:
  const Grammar* grammar_;
  std::shared_ptr<const Unfolded> unfolded_;  // keeps the grammar
  BoxId rim_ = kNoBox;                        // the box that was unfolded
  std::size_t box_ = 0;
  std::size_t depth_ = 0;
};

extern template Unfolded::Unfolded(const Grammar&, std::size_t, LogSum);
extern template Unfolded::Unfolded(const Grammar&, std::size_t, Maximum);

}  // namespace bcart
