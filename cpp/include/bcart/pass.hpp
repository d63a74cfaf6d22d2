// The way of a few queries from the root of a graph through all trees.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "bcart/array.hpp"
#include "bcart/exponential.hpp"
#include "bcart/grammar.hpp"
#include "bcart/queries.hpp"
#include "bcart/workers.hpp"

namespace bcart {

inline constexpr std::size_t kMaxLanes = 8;

// A query at a box with some probability.
struct Visit {
  std::uint32_t box;
  std::uint32_t query;
  double weight;
};

// What a pass takes, but for the weights of its lanes.
inline std::size_t bytes_besides_lanes(const Graph& graph, const Queries& queries) {
  return graph.n_boxes() / 8 + queries.n_tests * (2 * sizeof(std::uint8_t) + sizeof(std::uint32_t));
}

// The probability that queries meet and end in each box: one pass from the root downwards over the boxes that they can
// reach. A few queries, one a lane, share the look at each box. What comes out does not depend on the company. A
// query may lose some of its probability on the way, so that boxes which it hardly ever meets need not be followed.
template <std::size_t kLanes>
class Pass {
 public:
  using Lanes = double[kLanes];

  // The weights of all boxes are needed if a query has a missing value. Of a query's weight, less than a part of
  // `may_lose` is lost.
  Pass(const Grammar& grammar, const Queries& queries, const double* weight_of, double may_lose)
      : grammar_(grammar),
        queries_(queries),
        weight_of_(weight_of),
        may_lose_(may_lose),
        weights_(grammar.depths.n_places() * kLanes),
        waiting_((grammar.graph.n_boxes() + 63) / 64),
        tests_(asked_by(grammar.graph, queries.n_tests)),
        left_(queries.n_tests),
        undecided_(queries.n_tests) {}

  // Starts the queries of these visits at the root with their weights, and calls end(box, weights) for each box
  // in which one of them may end, and rim(box, weights) for each at the rim of a folded graph.
  template <class End, class Rim>
  void run(std::span<const Visit> visits, Steps& steps, const End& end, const Rim& rim) {
    find_sides(visits, steps);
    for (std::size_t lane = 0; lane < visits.size(); ++lane) {
      weights_[lane] = visits[lane].weight;
      left_to_lose_[lane] = may_lose_ * visits[lane].weight;
    }
    waiting_[0] = 1;
    for (std::size_t word = 0; word < waiting_.size(); ++word) {
      while (waiting_[word] != 0) {
        const std::size_t box = 64 * word + static_cast<std::size_t>(std::countr_zero(waiting_[word]));
        waiting_[word] &= waiting_[word] - 1;
        Lanes ending = {};
        steps.add(1 + pass_on(box, ending, rim));
        end(box, ending);
      }
    }
  }

 private:
  static constexpr double kLeast = 1e-300;  // probabilities below it count as zero

  // A box may take this part of what is left to lose: so something is left, however many boxes are not followed.
  static constexpr double kPartLost = 0x1p-10;

  // 1 for each lane whose bit is set, so that loops over lanes need no branches.
  static constexpr auto kChosen = [] {
    std::array<std::array<double, kMaxLanes>, std::size_t{1} << kMaxLanes> chosen{};
    for (std::size_t lanes = 0; lanes < chosen.size(); ++lanes) {
      for (std::size_t lane = 0; lane < kMaxLanes; ++lane) chosen[lanes][lane] = static_cast<double>(lanes >> lane & 1);
    }
    return chosen;
  }();

  // The tests that a graph can ask: in a small one, those of its splits.
  static std::vector<std::uint32_t> asked_by(const Graph& graph, std::size_t n_tests) {
    std::vector<std::uint32_t> tests(std::min(graph.n_splits(), n_tests));
    if (graph.n_splits() >= n_tests) {
      std::iota(tests.begin(), tests.end(), 0);
      return tests;
    }
    for (std::size_t split = 0; split < tests.size(); ++split) tests[split] = graph.tests[split];
    std::sort(tests.begin(), tests.end());
    tests.erase(std::unique(tests.begin(), tests.end()), tests.end());
    return tests;
  }

  void find_sides(std::span<const Visit> visits, Steps& steps) {
    for (const std::uint32_t test : tests_) left_[test] = undecided_[test] = 0;
    for (std::size_t lane = 0; lane < visits.size(); ++lane) {
      steps.add(tests_.size());
      for (const std::uint32_t test : tests_) {
        left_[test] |= static_cast<std::uint8_t>(queries_.is_left(visits[lane].query, test) << lane);
        undecided_[test] |= static_cast<std::uint8_t>(queries_.is_undecided(visits[lane].query, test) << lane);
      }
    }
  }

  // Moves the weight of a box, at each of its depths, to where its rules lead, and tells how many they are.
  template <class Rim>
  std::size_t pass_on(std::size_t box, Lanes& ending, const Rim& rim) {
    const std::size_t begin = grammar_.depths.begin(box);
    const std::size_t end = grammar_.depths.end(box);
    std::size_t n_rules = 0;
    for (std::size_t place = begin; place < end; ++place) {
      Lanes weight;
      std::copy_n(&weights_[place * kLanes], kLanes, weight);
      unsigned active = 0;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        if (weight[lane] <= kPartLost * left_to_lose_[lane]) left_to_lose_[lane] -= std::exchange(weight[lane], 0.0);
        active |= unsigned{weight[lane] > 0} << lane;
      }
      std::fill_n(&weights_[place * kLanes], kLanes, 0.0);
      if (active == 0) continue;
      const std::size_t depth = grammar_.depths.first_depth(box) + (place - begin);
      if (grammar_.is_rim(depth)) {
        rim(box, weight);
        continue;
      }
      find_probabilities(box, depth, grammar_.values[place]);
      for (std::size_t lane = 0; lane < kLanes; ++lane) ending[lane] += weight[lane] * probabilities_[0];
      for (std::size_t i = 1; i < probabilities_.size(); ++i) {
        follow_split(grammar_.graph.first_split[box] + i - 1, depth, probabilities_[i], weight, active);
      }
      n_rules += probabilities_.size();
    }
    return n_rules;
  }

  void find_probabilities(std::size_t box, std::size_t depth, double total) {
    probabilities_.clear();
    grammar_.append_terms(box, depth, probabilities_);
    for (double& term : probabilities_) term -= total;
    exp_all(probabilities_.data(), probabilities_.size());
    for (double& probability : probabilities_) probability = probability < kLeast ? 0 : probability;
  }

  void follow_split(std::size_t split, std::size_t depth, double probability, const Lanes& weight, unsigned active) {
    const std::uint32_t test = grammar_.graph.tests[split];
    unsigned left = left_[test];
    if (const unsigned undecided = undecided_[test] & active; undecided != 0) {
      left = Queries::is_heavier_left(grammar_.graph, split, weight_of_) ? left | undecided : left & ~undecided;
    }
    if ((active & left) != 0) add(grammar_.graph.left[split], depth, probability, weight, left);
    if ((active & ~left) != 0) add(grammar_.graph.right[split], depth, probability, weight, ~left);
  }

  void add(BoxId box, std::size_t depth, double probability, const Lanes& weight, unsigned lanes) {
    double* sums = &weights_[grammar_.depths.place(box, depth + 1) * kLanes];
    const auto& is_chosen = kChosen[lanes % kChosen.size()];
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += weight[lane] * probability * is_chosen[lane];
    waiting_[box / 64] |= std::uint64_t{1} << box % 64;
  }

  const Grammar& grammar_;
  const Queries& queries_;
  const double* weight_of_;
  double may_lose_;
  Lanes left_to_lose_ = {};
  Array<double> weights_;               // of each place, for each lane; zero between runs
  std::vector<std::uint64_t> waiting_;  // one bit a box that has been met and not passed on
  std::vector<std::uint32_t> tests_;    // that occur
  std::vector<std::uint8_t> left_;      // of each test: the lanes that go left, one bit each
  std::vector<std::uint8_t> undecided_;
  std::vector<double> probabilities_;  // of the rules of one box
};

}  // namespace bcart
