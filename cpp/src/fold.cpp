#include "bcart/fold.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace bcart {
namespace {

constexpr double kSecondsAPair = 3e-7;
constexpr double kSecondsASum = 3e-8;  // which counts where cells are so many that they are not in the cache

// Whether all statistics and weights are whole numbers, each with a sum that doubles hold.
bool are_sums_exact(const Cells& cells, Workers& workers) {
  Steps steps(workers, 0);
  double sum_of_statistics = 0, sum_of_weights = 0;
  const auto add_whole = [](double number, double& sum) {
    sum += std::abs(number);
    return number == std::floor(number);
  };
  for (Cell cell = 0; cell < cells.n_cells; ++cell) {
    bool is_whole = add_whole(cells.weights[cell], sum_of_weights);
    const double* statistics = cells.statistics + cell * cells.n_statistics;
    for (std::size_t i = 0; i < cells.n_statistics; ++i) is_whole &= add_whole(statistics[i], sum_of_statistics);
    if (!is_whole) return false;
    steps.add(cells.n_statistics);
  }
  return std::max(sum_of_statistics, sum_of_weights) < 0x1p53;
}

// For each feature, the part of all cells that do not have its most frequent code; together.
double parts_of_rarer_codes(const Cells& cells, Workers& workers) {
  std::vector<std::size_t> first(cells.n_features + 1);  // of the counts of each feature
  std::partial_sum(cells.n_bins.begin(), cells.n_bins.end(), first.begin() + 1);
  std::vector<std::uint32_t> counts(first.back());
  Steps steps(workers, 0);
  for (Cell cell = 0; cell < cells.n_cells; ++cell) {
    const Code* row = cells.row(cell);
    for (std::size_t f = 0; f < cells.n_features; ++f) ++counts[first[f] + row[f]];
    steps.add(cells.n_features);
  }
  double parts = 0;
  for (std::size_t f = 0; f < cells.n_features; ++f) {
    const std::uint32_t most = *std::max_element(counts.begin() + first[f], counts.begin() + first[f + 1]);
    parts += 1 - most / static_cast<double>(cells.n_cells);
  }
  return parts;
}

}  // namespace

std::size_t bytes_of_fold(const Cells& cells) {
  const std::size_t n_bins = std::accumulate(cells.n_bins.begin(), cells.n_bins.end(), std::size_t{0});
  const std::size_t values = (cells.n_statistics + 1) * sizeof(double);
  const std::size_t at_work = (2 * cells.n_features + 4) * sizeof(std::uint32_t) + sizeof(std::size_t);  // see Twigs
  return bytes_of_rules(count_cuts(cells.n_bins, cells.kinds), cells.n_cells) +
         cells.n_cells * (values + kBoxesAtOnce * at_work) + n_bins * (cells.n_statistics + 3) * 4 * sizeof(double);
}

std::size_t bytes_of_own_cells(const Cells& cells) {
  return cells.n_cells * (cells.n_features + (cells.n_statistics + 1) * sizeof(double));
}

std::size_t bytes_of_folding(const Cells& cells) {
  const std::size_t opened = 2 * bytes_of_own_cells(cells);
  return bytes_of_fold(cells) + opened + TestNumbers(cells.n_bins, cells.kinds).size() * kBytesPerTest;
}

// On the rarer side of each feature, to the sums of the rarer codes of all; or, where sums are not exact, on both sides
// to those of all codes.
double sums_a_cell(const Cells& cells, Workers& workers) {
  const auto n_features = static_cast<double>(cells.n_features);
  if (!are_sums_exact(cells, workers)) return 2 * n_features * (1 + n_features);
  const double n_rarer = parts_of_rarer_codes(cells, workers);
  return n_rarer * (1 + n_rarer);
}

double fold_seconds(double sums_a_cell, double n_cells_in_boxes, double n_pairs) {
  return std::max(n_pairs * kSecondsAPair, n_cells_in_boxes * sums_a_cell * kSecondsASum);
}

Fold::Fold(const Graph& graph, const Cells& cells, const Family& family, Workers& workers)
    : graph_(graph),
      cells_(cells),
      family_(family),
      rules_(cells_, family_, workers),
      is_exact_(are_sums_exact(cells, workers)),
      parents_(graph.n_boxes()) {
  values_.reserve(cells.n_cells * n_values());
  for (Cell cell = 0; cell < cells.n_cells; ++cell) {
    const double* statistics = cells.statistics + cell * cells.n_statistics;
    values_.push_back(cells.weights[cell]);
    values_.insert(values_.end(), statistics, statistics + cells.n_statistics);
  }
  const auto is_divided = [](std::uint32_t n_cells) { return is_divided_by_answers(n_cells); };
  if (std::any_of(graph.n_cells.begin(), graph.n_cells.end(), is_divided)) rules_.find_answers(workers);
  Steps steps(workers, 0);
  for (std::size_t box = 0; box < graph.n_boxes(); ++box) {
    steps.add(1 + graph.n_splits_of[box]);
    for (std::size_t split = graph.first_split[box]; split < graph.last_split(box); ++split) {
      parents_[graph.left[split]] = parents_[graph.right[split]] = static_cast<BoxId>(box);
    }
  }
}

void Fold::find_cells(std::size_t box, std::vector<Cell>& found) const {
  std::vector<std::size_t> way;  // up to, and without, the root
  for (; box != 0; box = parents_[box]) way.push_back(box);
  found.resize(cells_.n_cells);
  std::iota(found.begin(), found.end(), Cell{0});
  std::size_t parent = 0;
  for (; !way.empty(); way.pop_back()) {
    std::size_t split = graph_.first_split[parent];
    while (graph_.left[split] != way.back() && graph_.right[split] != way.back()) ++split;
    const Test test = rules_.numbers().test(graph_.tests[split]);
    const bool is_left = graph_.left[split] == way.back();
    std::erase_if(found, [&](Cell cell) { return test.is_left(cells_.row(cell)[test.feature]) != is_left; });
    parent = way.back();
  }
}

}  // namespace bcart
