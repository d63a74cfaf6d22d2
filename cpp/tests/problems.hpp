// Random data for the tests, and the splits of a box by the definition: list all tests, keep each bipartition once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "bcart/cells.hpp"
#include "bcart/test_numbers.hpp"

namespace bcart::check {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kRoom = std::size_t{1} << 26;  // for boxes that are unfolded

// std::uniform_int_distribution differs between libraries; this does not.
inline std::size_t pick(std::mt19937_64& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }

// Of `n` features, with 1 to max_bins codes each.
inline std::vector<std::size_t> random_bins(std::mt19937_64& random, std::size_t n, std::size_t max_bins) {
  std::vector<std::size_t> n_bins(n);
  for (std::size_t& n_codes : n_bins) n_codes = 1 + pick(random, max_bins);
  return n_bins;
}

inline std::vector<Kind> random_kinds(std::mt19937_64& random, std::size_t n) {
  std::vector<Kind> kinds(n);
  for (Kind& kind : kinds) kind = static_cast<Kind>(pick(random, 3));
  return kinds;
}

// Cells that own their data.
struct Problem {
  std::size_t n_features = 0;
  std::vector<std::size_t> n_bins;
  std::vector<Kind> kinds;
  std::vector<Code> codes;
  std::vector<double> statistics;
  std::vector<double> weights;

  std::size_t n_cells() const { return weights.size(); }
  Cells cells() const {
    return {n_cells(), n_features, statistics.size() / n_cells(), codes.data(), statistics.data(), weights.data(),
            n_bins,    kinds};
  }
  Code code(Cell cell, std::size_t feature) const { return codes[cell * n_features + feature]; }
  std::vector<Cell> root() const {
    std::vector<Cell> all(n_cells());
    std::iota(all.begin(), all.end(), Cell{0});
    return all;
  }
};

// Up to n_cells distinct rows; weights are multiples of a quarter, so that their sums are exact.
inline Problem random_problem(std::mt19937_64& random, std::size_t n_cells, const std::vector<std::size_t>& n_bins,
                              std::vector<Kind> kinds = {}) {
  Problem problem;
  problem.n_features = n_bins.size();
  std::set<std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < n_cells; ++i) {
    std::vector<std::size_t> row;
    for (const std::size_t n : n_bins) row.push_back(pick(random, n));
    if (!rows.insert(row).second) continue;
    for (const std::size_t code : row) problem.codes.push_back(static_cast<Code>(code));
    problem.statistics.push_back(static_cast<double>(pick(random, 4)));
    problem.statistics.push_back(static_cast<double>(pick(random, 4)));
    problem.weights.push_back(0.25 * static_cast<double>(1 + pick(random, 12)));
  }
  kinds.resize(n_bins.size(), Kind::numeric);
  problem.n_bins = n_bins;
  problem.kinds = std::move(kinds);
  return problem;
}

// Features of all kinds.
inline Problem mixed_problem(std::mt19937_64& random, std::size_t n_cells, std::size_t max_features,
                             std::size_t max_bins) {
  const std::size_t n_features = 1 + pick(random, max_features);
  const std::vector<std::size_t> n_bins = random_bins(random, n_features, max_bins);
  return random_problem(random, n_cells, n_bins, random_kinds(random, n_features));
}

// A split by its test and the cells on either side, in ascending order.
struct PlainSplit {
  Test test;
  std::vector<Cell> left;
  std::vector<Cell> right;
};

inline double weight_of(const Problem& problem, const std::vector<Cell>& box) {
  double weight = 0;
  for (const Cell cell : box) weight += problem.weights[cell];
  return weight;
}

inline bool goes_left(const Test& test, std::uint32_t code) {
  switch (test.form) {
    case Form::below:
    case Form::missing_left:  // a missing value has the lowest code
      return code <= test.lower;
    case Form::missing_right:
      return code != 0 && code <= test.lower;
    case Form::is_missing:
      return code == 0;
    default:
      return code == test.lower;
  }
}

// All tests that can be made on a feature whose codes in a box are these, in the order of the representatives.
inline std::vector<Test> plain_tests(std::uint32_t feature, Kind kind, std::set<std::uint32_t> present) {
  std::vector<Test> tests;
  std::vector<Form> forms{Form::below};
  if (kind == Kind::nominal) {
    for (const std::uint32_t code : present) tests.push_back({feature, Form::equals, code, code});
    return tests;
  }
  if (kind == Kind::optional && present.erase(0) == 1) {
    tests.push_back({feature, Form::is_missing, 0, 0});
    forms = {Form::missing_left, Form::missing_right};
  }
  for (const Form form : forms) {
    for (auto lower = present.begin(); lower != present.end() && std::next(lower) != present.end(); ++lower) {
      tests.push_back({feature, form, *lower, *std::next(lower)});
    }
  }
  return tests;
}

inline std::vector<PlainSplit> plain_splits(const Problem& problem, const Family& family,
                                            const std::vector<Cell>& box) {
  std::vector<PlainSplit> splits;
  if (weight_of(problem, box) < family.min_samples_split) return splits;
  std::set<std::vector<Cell>> seen;  // both sides of every bipartition met
  for (std::uint32_t f = 0; f < problem.n_features; ++f) {
    std::set<std::uint32_t> present;
    for (const Cell cell : box) present.insert(problem.code(cell, f));
    for (const Test& test : plain_tests(f, problem.kinds[f], present)) {
      PlainSplit split{test, {}, {}};
      for (const Cell cell : box) {
        (goes_left(test, problem.code(cell, f)) ? split.left : split.right).push_back(cell);
      }
      if (split.left.empty() || split.right.empty()) continue;
      const bool is_new = seen.insert(split.left).second;
      seen.insert(split.right);
      const double lighter = std::min(weight_of(problem, split.left), weight_of(problem, split.right));
      if (is_new && lighter >= family.min_samples_leaf) splits.push_back(split);
    }
  }
  return splits;
}

// The graph as a plain breadth-first search lists it, with the cells of every box written out.
struct PlainGraph {
  std::vector<std::vector<Cell>> boxes;
  std::vector<std::vector<PlainSplit>> splits;  // of each box
  std::map<std::vector<Cell>, std::size_t> ids;

  std::size_t id(const std::vector<Cell>& box) {
    const auto [place, is_new] = ids.try_emplace(box, boxes.size());
    if (is_new) boxes.push_back(box);
    return place->second;
  }
};

inline PlainGraph plain_graph(const Problem& problem, const Family& family) {
  PlainGraph graph;
  graph.id(problem.root());
  std::size_t layer_end = 1;
  for (std::size_t depth = 0; graph.splits.size() < graph.boxes.size() && depth != family.max_depth; ++depth) {
    while (graph.splits.size() < layer_end) {
      graph.splits.push_back(plain_splits(problem, family, graph.boxes[graph.splits.size()]));
      for (const PlainSplit& split : std::vector<PlainSplit>(graph.splits.back())) {
        graph.id(split.left);
        graph.id(split.right);
      }
    }
    layer_end = graph.boxes.size();
  }
  graph.splits.resize(graph.boxes.size());  // boxes of the last layer make none
  return graph;
}

// The numbers that the boxes of a plain search have in the graph: larger boxes come first.
inline std::vector<std::size_t> expected_ids(const PlainGraph& plain) {
  std::vector<std::size_t> order(plain.boxes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return plain.boxes[a].size() > plain.boxes[b].size(); });
  std::vector<std::size_t> ids(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) ids[order[i]] = i;
  return ids;
}

}  // namespace bcart::check
