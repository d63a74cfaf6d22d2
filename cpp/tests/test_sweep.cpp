#include <algorithm>
#include <cmath>

#include "bcart/exponential.hpp"
#include "bcart/sweep.hpp"
#include "check.hpp"
#include "grammars.hpp"

namespace bcart::check {
namespace {

void check_values(const Engine& engine, const Grammar& grammar, PlainGrammar plain) {
  CHECK_EQUAL(plain.n_boxes(), engine.graph.n_boxes());
  for (std::size_t box = 0; box < engine.graph.n_boxes(); ++box) {
    const std::size_t n_depths = engine.depths.end(box) - engine.depths.begin(box);
    for (std::size_t i = 0; i < n_depths; ++i) {
      const std::size_t depth = engine.depths.first_depth(box) + i;
      const auto expected = static_cast<double>(plain.value(box, depth));
      CHECK_CLOSE(grammar.value(box, depth), expected, 1e-13 * (1 + std::abs(expected)));
    }
  }
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
  const auto prior = Registered<TreePrior>::make("leaf-count", {0.0});
  const Depths depths(graph, false, workers);
  return sweep<Addition>({graph, depths, *prior, log_leaf.data(), nullptr}, workers)[0];
}

}  // namespace

TEST(sums_and_maxima_are_those_of_the_recursion) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20; ++i) {
    const Problem problem = mixed_problem(random, 9, 3, 4);
    for (const Family& family : some_families()) {
      for (const NamedModel& prior : some_priors()) {
        Engine engine(problem, family, prior, 2);
        engine.set_leaves(random_leaves(random, engine.graph.n_boxes()));
        check_values(engine, engine.sums(), {problem, family, prior, engine.leaves(), Adding::sums});
        check_values(engine, engine.maxima(), {problem, family, prior, engine.leaves(), Adding::maxima});
        engine.set_leaves(std::vector<double>{});
        check_values(engine, engine.sums(), {problem, family, prior, nullptr, Adding::sums});
      }
    }
  }
}

TEST(larger_problems_of_all_kinds) {
  std::mt19937_64 random(2);
  const Problem problem =
      random_problem(random, 22, {3, 4, 3, 2}, {Kind::optional, Kind::nominal, Kind::numeric, Kind::optional});
  for (const Family& family : {Family{}, Family{3, 1, 2}, Family{5, 1, 2}}) {
    for (const NamedModel& prior : some_priors()) {
      Engine engine(problem, family, prior, 3);
      engine.set_leaves(random_leaves(random, engine.graph.n_boxes()));
      check_values(engine, engine.sums(), {problem, family, prior, engine.leaves(), Adding::sums});
    }
  }
}

TEST(with_leaves_of_one_and_no_prior_trees_are_counted) {
  // A line of n cells: any order of its n - 1 cuts, as far as it matters, is a tree. Catalan's numbers count them.
  const double catalan[] = {1, 1, 2, 5, 14, 42, 132, 429};
  double n_trees[9] = {};  // that stop anywhere: t(n) = 1 + sum of t(k) t(n - k)
  for (std::size_t n = 1; n <= 8; ++n) {
    n_trees[n] = 1;
    for (std::size_t k = 1; k < n; ++k) n_trees[n] += n_trees[k] * n_trees[n - k];
    Problem problem = {1, {n}, {Kind::numeric}, {}, {}, {}};
    for (std::size_t cell = 0; cell < n; ++cell) {
      problem.codes.push_back(static_cast<Code>(cell));
      problem.statistics.push_back(1);
      problem.weights.push_back(1);
    }
    Engine engine(problem, {}, {"leaf-count", {0.0}});
    engine.set_leaves(std::vector<double>{});
    CHECK_CLOSE(std::exp(engine.sums().value(0, 0)), n_trees[n], 1e-13 * n_trees[n]);
    // With a reward for leaves that outweighs all else, only the trees that separate all cells are seen.
    Engine greedy(problem, {}, {"leaf-count", {-60.0}});
    greedy.set_leaves(std::vector<double>{});
    const double excess = greedy.sums().value(0, 0) - 60.0 * static_cast<double>(n - 1);
    CHECK_CLOSE(std::exp(excess), catalan[n - 1], 1e-10 * catalan[n - 1]);
  }
}

TEST(any_number_of_workers_gives_the_same_bits) {
  std::mt19937_64 random(3);
  const Problem problem = random_problem(random, 60, std::vector<std::size_t>(12, 2));
  for (const Family& family : {Family{}, Family{4, 1, 2}}) {
    for (const NamedModel& prior : {some_priors()[0], some_priors()[2]}) {
      std::vector<Array<double>> sums;
      std::vector<Array<double>> maxima;
      for (const std::size_t n_workers : {1, 3}) {
        Engine engine(problem, family, prior, n_workers);
        std::vector<double> log_leaf(engine.graph.n_boxes());
        for (std::size_t box = 0; box < log_leaf.size(); ++box) log_leaf[box] = -engine.graph.statistics[2 * box] / 7;
        sums.push_back(
            sweep<LogSum>({engine.graph, engine.depths, *engine.prior, log_leaf.data(), nullptr}, engine.workers));
        maxima.push_back(
            sweep<Maximum>({engine.graph, engine.depths, *engine.prior, log_leaf.data(), nullptr}, engine.workers));
        CHECK_EQUAL(sums.back().size(), engine.depths.n_places());
      }
      CHECK(same_bytes(sums[0], sums[1]));
      CHECK(same_bytes(maxima[0], maxima[1]));
    }
  }
}

TEST(exponentials_are_good_to_the_last_digits) {
  std::mt19937_64 random(5);
  for (const double spread : {1e-300, 1e-12, 1.0, 50.0, 699.0}) {
    std::vector<double> x(1 + pick(random, 1000));
    for (double& value : x) value = -spread * (static_cast<double>(random() >> 11) * 0x1p-53);
    std::vector<double> found = x;
    exp_all(found.data(), found.size());
    for (std::size_t i = 0; i < x.size(); ++i) CHECK_CLOSE(found[i], std::exp(x[i]), 4e-16 * std::exp(x[i]));
  }
  double ends[] = {0.0, -0.0, 1e-15, -700.0, -701.0, -1e300, -std::numeric_limits<double>::infinity()};
  exp_all(ends, 7);
  CHECK_EQUAL(ends[0], 1.0);
  CHECK_EQUAL(ends[1], 1.0);
  CHECK_CLOSE(ends[2], 1.0, 2e-15);
  for (int i = 3; i < 7; ++i) CHECK_CLOSE(ends[i], std::exp(-700.0), 1e-15 * std::exp(-700.0));
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
