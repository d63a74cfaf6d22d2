#include "bcart/fold.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

namespace bcart {
namespace {

constexpr double kSecondsAPair = 3e-7;
constexpr double kSecondsASum = 3e-8;  // which counts where cells are so many that they are not in the cache

bool are_whole(std::span<const double> numbers) {
  double sum = 0;
  for (const double number : numbers) {
    if (number != std::floor(number)) return false;
    sum += std::abs(number);
  }
  return sum < 0x1p53;
}

bool are_sums_exact(const Cells& cells) {
  return are_whole({cells.statistics, cells.n_cells * cells.n_statistics}) && are_whole({cells.weights, cells.n_cells});
}

// The part of all cells that do not have the most frequent code of a feature.
double part_of_rarer_codes(const Cells& cells, std::size_t feature) {
  std::array<std::size_t, 256> counts{};
  for (Cell cell = 0; cell < cells.n_cells; ++cell) ++counts[cells.row(cell)[feature]];
  const auto most = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  return 1 - most / static_cast<double>(cells.n_cells);
}

// About how many sums a cell is added to for each box (see Twigs): on the rarer side of each feature, to the sums of
// the rarer codes of all; or, where sums are not exact, on both sides to those of all codes.
double sums_a_cell(const Cells& cells) {
  const auto n_features = static_cast<double>(cells.n_features);
  if (!are_sums_exact(cells)) return 2 * n_features * (1 + n_features);
  double n_rarer = 0;
  for (std::size_t f = 0; f < cells.n_features; ++f) n_rarer += part_of_rarer_codes(cells, f);
  return n_rarer * (1 + n_rarer);
}

}  // namespace

std::size_t fold_bytes(const Cells& cells) {
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
  return fold_bytes(cells) + opened + TestNumbers(cells.n_bins, cells.kinds).size() * kBytesPerTest;
}

double fold_seconds(const Cells& cells, double n_cells_in_boxes, double n_pairs) {
  return std::max(n_pairs * kSecondsAPair, n_cells_in_boxes * sums_a_cell(cells) * kSecondsASum);
}

Fold::Fold(const Graph& graph, const Cells& cells, const Family& family, Workers& workers)
    : graph_(graph),
      cells_(cells),
      family_(family),
      rules_(cells_, family_, workers),
      is_exact_(are_sums_exact(cells)),
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
