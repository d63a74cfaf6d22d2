// The grammar of a problem twice: as the engine makes it, and by the definition in higher precision.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bcart/build.hpp"
#include "bcart/fold.hpp"
#include "bcart/grammar.hpp"
#include "bcart/leaf.hpp"
#include "bcart/registry.hpp"
#include "bcart/sweep.hpp"
#include "problems.hpp"

namespace bcart::check {

template <class T>
bool same_bytes(const Array<T>& a, const Array<T>& b) {
  return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// With statistics that tell which cells are in a box, up to 53 of them.
inline Problem with_telling_statistics(Problem problem) {
  problem.statistics.clear();
  for (Cell cell = 0; cell < problem.n_cells(); ++cell)
    problem.statistics.push_back(std::ldexp(1.0, static_cast<int>(cell)));
  return problem;
}
inline std::vector<Cell> told_cells(double statistic) {
  std::vector<Cell> cells;
  for (std::uint64_t bits = static_cast<std::uint64_t>(statistic); bits != 0; bits &= bits - 1) {
    cells.push_back(static_cast<Cell>(std::countr_zero(bits)));
  }
  return cells;
}

struct NamedModel {
  std::string name;
  std::vector<double> parameters;
};

inline const std::vector<NamedModel>& some_priors() {
  static const std::vector<NamedModel> priors{
      {"leaf-count", {2.0}}, {"leaf-count", {-1.5}}, {"depth-decay", {0.95, 0.5}}, {"depth-decay", {0.6, 2.0}}};
  return priors;
}

inline const std::vector<Family>& some_families() {
  static const std::vector<Family> families{{}, {1, 1, 2}, {2, 1, 2}, {3, 1, 2}, {{}, 1.5, 4}, {3, 1.5, 4}};
  return families;
}

// Numbers between -10 and 0, one a box.
inline std::vector<double> random_leaves(std::mt19937_64& random, std::size_t n_boxes) {
  std::vector<double> log_leaf(n_boxes);
  for (double& value : log_leaf) value = -0.01 * static_cast<double>(pick(random, 1000));
  return log_leaf;
}

// What the engine makes of a problem. Leaves count 1 until they are set.
class Engine {
 public:
  Engine(const Problem& problem, const Family& family, const NamedModel& prior, std::size_t n_workers = 1,
         Folding folding = Folding::never)
      : workers(n_workers, monitor_),
        graph(build_graph(problem.cells(), family, {kNoLimit, folding}, workers, progress_)),
        prior(Registered<TreePrior>::make(prior.name, prior.parameters)),
        depths(graph, this->prior->depends_on_depth(), workers) {
    if (graph.n_folded > 0) fold.emplace(graph, problem.cells(), family, workers);
  }

  void set_leaves(std::vector<double> log_leaf) {
    log_leaf_ = std::move(log_leaf);
    sums_ = sweep<LogSum>(grammar(nullptr), workers);
    maxima_ = sweep<Maximum>(grammar(nullptr), workers);
    const SumsAndMaxima both = sweep_both(grammar(nullptr), workers);
    CHECK(same_bytes(both.log_sums, sums_));
    CHECK(same_bytes(both.maxima, maxima_));
  }
  void set_leaves(const LeafModel& leaf) {
    leaf_ = &leaf;
    std::vector<double> log_leaf(graph.n_boxes());
    leaf.log_marginals(graph.statistics.data(), graph.n_boxes(), log_leaf.data(), workers);
    set_leaves(std::move(log_leaf));
  }
  const double* leaves() const { return log_leaf_.empty() ? nullptr : log_leaf_.data(); }
  Grammar sums() const { return grammar(sums_.data()); }
  Grammar maxima() const { return grammar(maxima_.data()); }

 private:
  Grammar grammar(const double* values) const {
    return {graph, depths, *prior, leaves(), values, fold ? &*fold : nullptr, leaf_};
  }

  const LeafModel* leaf_ = nullptr;
  Monitor monitor_;
  Progress progress_;
  std::vector<double> log_leaf_;
  Array<double> sums_;
  Array<double> maxima_;

 public:
  Workers workers;
  Graph graph;
  std::unique_ptr<TreePrior> prior;
  Depths depths;
  std::optional<Fold> fold;
};

enum class Adding { sums, maxima };

// The recursion as it is written, over sets of cells; boxes bear the numbers that they have in the graph.
class PlainGrammar {
 public:
  struct Children {
    Test test;
    std::size_t left;
    std::size_t right;
  };

  PlainGrammar(const Problem& problem, const Family& family, NamedModel prior, const double* log_leaf,
               Adding adding = Adding::sums)
      : max_depth_(family.max_depth), prior_(std::move(prior)), adding_(adding) {
    PlainGraph plain = plain_graph(problem, family);
    const std::vector<std::size_t> ids = expected_ids(plain);
    splits_.resize(ids.size());
    weights_.resize(ids.size());
    cells_.resize(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      weights_[ids[i]] = weight_of(problem, plain.boxes[i]);
      cells_[ids[i]] = plain.boxes[i];
      for (const PlainSplit& split : plain.splits[i]) {
        splits_[ids[i]].push_back({split.test, ids[plain.id(split.left)], ids[plain.id(split.right)]});
      }
    }
    log_leaf_.assign(ids.size(), 0);
    if (log_leaf != nullptr) log_leaf_.assign(log_leaf, log_leaf + ids.size());
  }

  std::size_t n_boxes() const { return splits_.size(); }
  double weight(std::size_t box) const { return weights_[box]; }
  const std::vector<Cell>& cells(std::size_t box) const { return cells_[box]; }
  const std::vector<Children>& splits(std::size_t box, std::size_t depth) const {
    static const std::vector<Children> none;
    return depth == max_depth_ ? none : splits_[box];
  }

  long double log_stop(std::size_t box, std::size_t depth) const {
    if (prior_.name == "leaf-count" || splits(box, depth).empty()) return log_leaf_[box];
    return log_leaf_[box] + std::log(1 - chance(depth));
  }
  long double log_split(std::size_t box, std::size_t depth) const {
    if (prior_.name == "leaf-count") return -prior_.parameters[0];
    return std::log(chance(depth) / static_cast<long double>(splits(box, depth).size()));
  }

  // The log weight of stopping, then of each split.
  std::vector<long double> log_terms(std::size_t box, std::size_t depth) {
    std::vector<long double> terms{log_stop(box, depth)};
    for (const Children& split : splits(box, depth)) {
      terms.push_back(log_split(box, depth) + value(split.left, depth + 1) + value(split.right, depth + 1));
    }
    return terms;
  }
  long double value(std::size_t box, std::size_t depth) {
    const auto known = values_.find({box, depth});
    if (known != values_.end()) return known->second;
    const std::vector<long double> terms = log_terms(box, depth);
    long double result = *std::max_element(terms.begin(), terms.end());
    if (adding_ == Adding::sums) {
      long double sum = 0;
      for (const long double term : terms) sum += std::exp(term - result);
      result += std::log(sum);
    }
    return values_[{box, depth}] = result;
  }
  // Probabilities of the rules.
  std::vector<long double> rules(std::size_t box, std::size_t depth) {
    std::vector<long double> terms = log_terms(box, depth);
    for (long double& term : terms) term = std::exp(term - value(box, depth));
    return terms;
  }

 private:
  long double chance(std::size_t depth) const {
    return prior_.parameters[0] * std::pow(1.0L + static_cast<long double>(depth), -prior_.parameters[1]);
  }

  std::optional<std::size_t> max_depth_;
  NamedModel prior_;
  Adding adding_;
  std::vector<std::vector<Children>> splits_;
  std::vector<double> weights_;
  std::vector<std::vector<Cell>> cells_;
  std::vector<long double> log_leaf_;
  std::map<std::pair<std::size_t, std::size_t>, long double> values_;
};

}  // namespace bcart::check
