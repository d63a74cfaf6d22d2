#include <algorithm>
#include <cmath>
#include <limits>

#include "bcart/build.hpp"
#include "bcart/sweep.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace bcart::check {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

// The recursion as it is written, in higher precision. Without a limit `depth` counts down from more than there is.
struct Recursion {
  const Problem& problem;
  Family family;
  const std::map<std::vector<Cell>, double>& log_leaf;
  long double log_split;
  bool is_sum;

  long double value(const std::vector<Cell>& box, std::size_t depth) const {
    std::vector<long double> terms{log_leaf.empty() ? 0.0L : log_leaf.at(box)};
    if (depth > 0) {
      for (const PlainSplit& split : plain_splits(problem, family, box)) {
        terms.push_back(log_split + value(split.left, depth - 1) + value(split.right, depth - 1));
      }
    }
    const long double largest = *std::max_element(terms.begin(), terms.end());
    if (!is_sum) return largest;
    long double sum = 0;
    for (const long double term : terms) sum += std::exp(term - largest);
    return largest + std::log(sum);
  }
};

template <class Addition>
void check_sweep(const Problem& problem, const Family& family, double log_split, bool has_leaves, bool is_sum) {
  const Cells cells = problem.cells();
  Monitor monitor;
  Workers workers(2, monitor);
  Progress progress;
  const Graph graph = build_graph(cells, family, kNoLimit, workers, progress);
  PlainGraph plain = plain_graph(problem, family);
  // In a graph of all trees larger boxes come first.
  const auto is_larger = [](const auto& a, const auto& b) { return a.size() > b.size(); };
  if (!graph.max_depth) std::stable_sort(plain.boxes.begin(), plain.boxes.end(), is_larger);
  std::mt19937_64 random(9);
  std::vector<double> log_leaf;
  std::map<std::vector<Cell>, double> leaf_of;
  for (const std::vector<Cell>& box : plain.boxes) {
    log_leaf.push_back(-0.01 * static_cast<double>(pick(random, 1000)));
    if (has_leaves) leaf_of[box] = log_leaf.back();
  }
  const Values values = sweep<Addition>(graph, has_leaves ? log_leaf.data() : nullptr, log_split, workers);
  const Recursion recursion{problem, family, leaf_of, log_split, is_sum};
  CHECK_EQUAL(values.levels.size(), graph.max_depth ? *graph.max_depth + 1 : std::size_t{1});
  for (std::size_t level = 0; level < values.levels.size(); ++level) {
    const std::size_t depth = graph.max_depth ? level : 100;
    CHECK_EQUAL(values.levels[level].size(), graph.level_size(level));
    for (std::size_t box = 0; box < values.levels[level].size(); ++box) {
      const auto expected = static_cast<double>(recursion.value(plain.boxes[box], depth));
      CHECK_CLOSE(values.levels[level][box], expected, 1e-13 * (1 + std::abs(expected)));
    }
  }
  CHECK_EQUAL(values.root(), values.levels.back()[0]);
}

double plain_log_sum(const std::vector<double>& terms) {
  const long double largest = *std::max_element(terms.begin(), terms.end());
  long double sum = 0;
  for (const double term : terms) sum += std::exp(static_cast<long double>(term) - largest);
  return static_cast<double>(largest + std::log(sum));
}

// The value of a root that stops with the first term or makes a split for each of the others.
template <class Addition>
double value_of_root(const std::vector<double>& terms) {
  const std::size_t n_splits = terms.size() - 1;
  const std::size_t n_boxes = 1 + 2 * n_splits;
  Graph graph;
  graph.first_split = Array<std::uint64_t>(n_boxes);
  graph.n_splits_of = Array<std::uint32_t>(n_boxes);
  graph.n_cells = Array<std::uint32_t>(n_boxes);
  graph.left = Array<BoxId>(n_splits);
  graph.right = Array<BoxId>(n_splits);
  std::vector<double> log_leaf(n_boxes, 0.0);
  log_leaf[0] = terms[0];
  graph.n_splits_of[0] = static_cast<std::uint32_t>(n_splits);
  for (std::size_t box = 0; box < n_boxes; ++box) graph.n_cells[box] = box == 0 ? 2 : 1;
  for (std::size_t i = 0; i < n_splits; ++i) {
    graph.left[i] = static_cast<BoxId>(2 * i + 1);
    graph.right[i] = static_cast<BoxId>(2 * i + 2);
    log_leaf[2 * i + 1 + i % 2] = terms[i + 1];
  }
  Monitor monitor;
  Workers workers(1, monitor);
  return sweep<Addition>(graph, log_leaf.data(), 0.0, workers).root();
}

}  // namespace

TEST(sums_and_maxima_are_those_of_the_recursion) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 12; ++i) {
    std::vector<std::size_t> n_bins(1 + pick(random, 3));
    for (std::size_t& n : n_bins) n = 2 + pick(random, 3);
    const Problem problem = random_problem(random, 7, n_bins);
    for (const Family& family : {Family{}, Family{1, 1, 2}, Family{2, 1, 2}, Family{3, 1.5, 4}}) {
      for (const double log_split : {-2.0, 0.0, 3.5}) {
        check_sweep<LogSum>(problem, family, log_split, true, true);
        check_sweep<Maximum>(problem, family, log_split, true, false);
        check_sweep<LogSum>(problem, family, log_split, false, true);
      }
    }
  }
}

TEST(boxes_reach_only_the_levels_they_have_depth_for) {
  std::mt19937_64 random(2);
  const Problem problem = random_problem(random, 30, {4, 4, 4});
  const Cells cells = problem.cells();
  Monitor monitor;
  Workers workers(1, monitor);
  Progress progress;
  const Graph graph = build_graph(cells, {3, 1, 2}, kNoLimit, workers, progress);
  CHECK_EQUAL(graph.n_levels(), std::size_t{4});
  for (std::size_t level = 0; level < 4; ++level) CHECK_EQUAL(graph.level_size(level), graph.layer_ends[3 - level]);
  const Values values = sweep<LogSum>(graph, nullptr, 0.0, workers);
  for (const double value : values.levels[0]) CHECK_EQUAL(value, 0.0);  // no depth left: one tree
  const std::size_t n_root_splits = graph.n_splits_of[0];
  CHECK_CLOSE(values.levels[1][0], std::log(1.0 + static_cast<double>(n_root_splits)), 1e-14);
}

TEST(any_number_of_workers_gives_the_same_bits) {
  std::mt19937_64 random(3);
  const Problem problem = random_problem(random, 60, std::vector<std::size_t>(12, 2));
  const Cells cells = problem.cells();
  for (const Family& family : {Family{}, Family{4, 1, 2}}) {
    std::vector<Values> found;
    for (const std::size_t n_workers : {1, 2, 3}) {
      Monitor monitor;
      Workers workers(n_workers, monitor);
      Progress progress;
      const Graph graph = build_graph(cells, family, kNoLimit, workers, progress);
      std::vector<double> log_leaf(graph.n_boxes());
      for (std::size_t box = 0; box < graph.n_boxes(); ++box) log_leaf[box] = -graph.statistics[2 * box] / 7;
      found.push_back(sweep<LogSum>(graph, log_leaf.data(), -2.0, workers));
    }
    for (const Values& values : found) {
      for (std::size_t level = 0; level < values.levels.size(); ++level) {
        CHECK(std::equal(values.levels[level].begin(), values.levels[level].end(), found[0].levels[level].begin()));
      }
    }
  }
}

TEST(a_log_sum_is_good_to_the_last_digits) {
  std::mt19937_64 random(4);
  for (const double spread : {1e-6, 1.0, 30.0, 800.0, 1e6, 1e12}) {
    for (int i = 0; i < 300; ++i) {
      std::vector<double> terms(1 + pick(random, 40));
      for (double& term : terms) term = spread * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
      const double expected = plain_log_sum(terms);
      CHECK_CLOSE(value_of_root<LogSum>(terms), expected, 4e-16 * (2 + std::abs(expected)));
      CHECK_EQUAL(value_of_root<Maximum>(terms), *std::max_element(terms.begin(), terms.end()));
    }
  }
}

TEST(a_log_sum_of_one_term_is_that_term) {
  for (const double value : {0.0, -0.5, 1e300, -1e300, 700.0}) CHECK_EQUAL(value_of_root<LogSum>({value}), value);
}

TEST(terms_that_vanish_next_to_another_add_nothing) {
  CHECK_EQUAL(value_of_root<LogSum>({0.0, -800.0, -1e300, -720.0}), 0.0);
  CHECK_EQUAL(value_of_root<LogSum>({-1e9, 5.0}), 5.0);
  CHECK_EQUAL(value_of_root<LogSum>({-1e300, 1e300, -1e300}), 1e300);
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
