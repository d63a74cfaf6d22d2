// Random data for the tests, and the splits of a box by the definition: list all tests, keep each bipartition once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "bcart/cells.hpp"
#include "bcart/test_numbers.hpp"

namespace bcart::check {

// std::uniform_int_distribution differs between libraries; this does not.
inline std::size_t pick(std::mt19937_64& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }

// Cells that own their data.
struct Problem {
  std::size_t n_features = 0;
  std::vector<std::size_t> n_bins;
  std::vector<Code> codes;
  std::vector<double> statistics;
  std::vector<double> weights;

  std::size_t n_cells() const { return weights.size(); }
  Cells cells() const {
    return {n_cells(),      n_features, statistics.size() / n_cells(), codes.data(), statistics.data(),
            weights.data(), n_bins};
  }
  Code code(Cell cell, std::size_t feature) const { return codes[cell * n_features + feature]; }
};

// Up to n_cells distinct rows; weights are multiples of a quarter, so that their sums are exact.
inline Problem random_problem(std::mt19937_64& random, std::size_t n_cells, const std::vector<std::size_t>& n_bins) {
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
  problem.n_bins = n_bins;
  return problem;
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

inline std::vector<PlainSplit> plain_splits(const Problem& problem, const Family& family,
                                            const std::vector<Cell>& box) {
  std::vector<PlainSplit> splits;
  if (weight_of(problem, box) < family.min_samples_split) return splits;
  std::set<std::vector<Cell>> seen;  // both sides of every bipartition met
  for (std::uint32_t f = 0; f < problem.n_features; ++f) {
    std::set<std::uint32_t> present;
    for (const Cell cell : box) present.insert(problem.code(cell, f));
    for (auto lower = present.begin(); std::next(lower) != present.end(); ++lower) {
      PlainSplit split{{f, *lower, *std::next(lower)}, {}, {}};
      for (const Cell cell : box) (problem.code(cell, f) <= *lower ? split.left : split.right).push_back(cell);
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
  std::vector<std::size_t> layer_ends;
  std::vector<std::vector<PlainSplit>> splits;  // of each box that may still split
  std::map<std::vector<Cell>, std::size_t> ids;

  std::size_t id(const std::vector<Cell>& box) {
    const auto [place, is_new] = ids.try_emplace(box, boxes.size());
    if (is_new) boxes.push_back(box);
    return place->second;
  }
};

inline PlainGraph plain_graph(const Problem& problem, const Family& family) {
  PlainGraph graph;
  std::vector<Cell> root(problem.n_cells());
  std::iota(root.begin(), root.end(), Cell{0});
  graph.id(root);
  graph.layer_ends.push_back(1);
  for (std::size_t depth = 0; graph.splits.size() < graph.boxes.size() && depth != family.max_depth; ++depth) {
    while (graph.splits.size() < graph.layer_ends.back()) {
      graph.splits.push_back(plain_splits(problem, family, graph.boxes[graph.splits.size()]));
      for (const PlainSplit& split : std::vector<PlainSplit>(graph.splits.back())) {
        graph.id(split.left);
        graph.id(split.right);
      }
    }
    graph.layer_ends.push_back(graph.boxes.size());
  }
  return graph;
}

}  // namespace bcart::check
