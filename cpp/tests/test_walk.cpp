#include <algorithm>
#include <cmath>

#include "bcart/derive.hpp"
#include "bcart/respond.hpp"
#include "bcart/walk.hpp"
#include "check.hpp"
#include "grammars.hpp"
#include "query_sets.hpp"

namespace bcart::check {
namespace {

// Follows a query down the nodes of one tree; returns the statistic of its leaf, which tells the cells of a box.
double end_in_tree(const Derivations& tree, const Problem& problem, const QuerySet& queries, std::size_t query) {
  const auto weight = [&](std::size_t node) { return weight_of(problem, told_cells(tree.statistics[node])); };
  std::size_t node = 0;
  while (tree.test[node] != Derivations::kLeaf) {
    const auto test = static_cast<std::size_t>(tree.test[node]);
    const auto right = static_cast<std::size_t>(tree.right[node]);
    const std::uint32_t position = queries.positions[query * queries.n_features + queries.feature[test]];
    bool is_left = queries.first[test] <= position && position <= queries.last[test];
    if (position == 0 && queries.has_learned_missing[test] == 0) is_left = weight(node + 1) >= weight(right);
    CHECK_EQUAL(tree.statistics[node + 1] + tree.statistics[right], tree.statistics[node]);
    node = is_left ? node + 1 : right;
  }
  return tree.statistics[node];
}

// The walk that random numbers make, rule by rule; afterwards `random` gives the next one.
std::size_t walk_by_hand(PlainGrammar& grammar, const TestNumbers& numbers, const QuerySet& queries, std::size_t query,
                         Random& random) {
  std::size_t box = 0;
  for (std::size_t depth = 0;; ++depth) {
    const std::vector<long double> rules = grammar.rules(box, depth);
    long double rest = random.uniform();
    std::size_t rule = 0;
    while (rule + 1 < rules.size() && (rest -= rules[rule]) >= 0) ++rule;
    if (rule == 0) return box;
    box = queries.follow(query, grammar.splits(box, depth)[rule - 1], numbers, grammar);
  }
}

bool is_same(const Walks& a, const Walks& b) {
  return same_bytes(a.leaves, b.leaves) && same_bytes(a.uniforms, b.uniforms);
}

}  // namespace

TEST(the_best_walk_ends_where_the_best_tree_sends_the_query) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20; ++i) {
    const Problem problem = with_telling_statistics(mixed_problem(random, 12, 3, 4));
    for (const Family& family : some_families()) {
      for (const NamedModel& prior : some_priors()) {
        Engine engine(problem, family, prior, 2);
        engine.set_leaves(random_leaves(random, engine.graph.n_boxes()));
        const PlainGrammar plain(problem, family, prior, engine.leaves());
        const QuerySet queries = random_queries(random, problem, plain, 100);
        const Derivations best = derive_best(engine.maxima(), kRoom, engine.workers);
        const Array<double> ends = walk_best(engine.maxima(), queries.all(), kRoom, engine.workers);
        CHECK_EQUAL(ends.size(), std::size_t{100});
        for (std::size_t query = 0; query < 100; ++query) {
          CHECK_EQUAL(ends[query], end_in_tree(best, problem, queries, query));
        }
      }
    }
  }
}

TEST(random_walks_follow_their_random_numbers) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 6; ++i) {
    const Problem problem = mixed_problem(random, 9, 3, 4);
    const TestNumbers numbers(problem.n_bins, problem.kinds);
    for (const Family& family : some_families()) {
      for (const NamedModel& prior : some_priors()) {
        Engine engine(problem, family, prior);
        engine.set_leaves(random_leaves(random, engine.graph.n_boxes()));
        PlainGrammar plain(problem, family, prior, engine.leaves());
        const QuerySet queries = random_queries(random, problem, plain, 5);
        const std::uint64_t seed = random();
        const Walks walks = walk_randomly(engine.sums(), queries.all(), seed, 8, kRoom, engine.workers);
        for (std::size_t k = 0; k < 5 * 8; ++k) {
          Random draws(seed, k % 8, static_cast<std::uint32_t>(k / 8 + 1));
          CHECK_EQUAL(walks.leaves[k], walk_by_hand(plain, numbers, queries, k / 8, draws));
          CHECK_EQUAL(walks.uniforms[k], draws.uniform());
        }
      }
    }
  }
}

TEST(walks_end_as_often_in_a_leaf_as_the_mixture_says) {
  constexpr std::size_t kWalks = 20'000;
  std::mt19937_64 random(3);
  const Problem problem = random_problem(random, 14, {3, 3, 3}, {Kind::optional, Kind::nominal, Kind::numeric});
  for (const Family& family : {Family{}, Family{2, 1, 2}}) {
    for (const NamedModel& prior : {some_priors()[0], some_priors()[2]}) {
      Engine engine(problem, family, prior, 2);
      engine.set_leaves(random_leaves(random, engine.graph.n_boxes()));
      const PlainGrammar plain(problem, family, prior, engine.leaves());
      const QuerySet queries = random_queries(random, problem, plain, 4);
      const Mixtures all = mixtures(engine.sums(), queries.all(), 0, kNoLimit, engine.workers);
      const Walks walks = walk_randomly(engine.sums(), queries.all(), 11, kWalks, kRoom, engine.workers);
      const auto leaf = [](const auto& statistics, std::size_t i) {
        return std::pair(statistics[2 * i], statistics[2 * i + 1]);
      };
      for (std::size_t query = 0; query < 4; ++query) {
        std::map<std::pair<double, double>, std::pair<double, double>> seen;  // weight and count
        for (std::size_t i = query == 0 ? 0 : all.ends[query - 1]; i < all.ends[query]; ++i) {
          seen[leaf(all.statistics, i)].first = all.weights[i];
        }
        for (std::size_t i = 0; i < kWalks; ++i) ++seen[leaf(walks.statistics, query * kWalks + i)].second;
        for (const auto& [statistics, pair] : seen) {
          const auto& [weight, count] = pair;
          CHECK_CLOSE(count, weight * kWalks, 7 * std::sqrt(weight * (1 - weight) * kWalks) + (weight > 0 ? 7 : 0));
        }
      }
    }
  }
}

TEST(the_numbers_to_draw_targets_with_fill_the_unit_interval_evenly) {
  constexpr std::size_t kWalks = 100'000;
  std::mt19937_64 random(4);
  const Problem problem = random_problem(random, 9, {3, 3});
  Engine engine(problem, {}, some_priors()[0]);
  engine.set_leaves(std::vector<double>{});
  const PlainGrammar plain(problem, {}, some_priors()[0], nullptr);
  const QuerySet queries = random_queries(random, problem, plain, 1);
  const Walks walks = walk_randomly(engine.sums(), queries.all(), 1, kWalks, kRoom, engine.workers);
  double counts[10] = {};
  for (const double u : walks.uniforms) {
    CHECK(0 <= u && u < 1);
    ++counts[static_cast<std::size_t>(u * 10)];
  }
  for (const double count : counts) CHECK_CLOSE(count, 10'000, 7 * 95);
}

TEST(the_first_walks_depend_neither_on_how_many_follow_nor_on_workers_nor_on_later_queries) {
  std::mt19937_64 random(5);
  const Problem problem = mixed_problem(random, 20, 4, 4);
  for (const Family& family : {Family{}, Family{3, 1, 2}}) {
    for (const NamedModel& prior : {some_priors()[0], some_priors()[2]}) {
      Engine engine(problem, family, prior);
      engine.set_leaves(random_leaves(random, engine.graph.n_boxes()));
      const PlainGrammar plain(problem, family, prior, engine.leaves());
      const QuerySet queries = random_queries(random, problem, plain, 7);
      const Grammar grammar = engine.sums();
      Monitor monitor;
      Workers three(3, monitor);
      const Walks all = walk_randomly(grammar, queries.all(), 3, 150, kRoom, engine.workers);
      CHECK(is_same(all, walk_randomly(grammar, queries.all(), 3, 150, kRoom, three)));
      CHECK(!is_same(all, walk_randomly(grammar, queries.all(), 4, 150, kRoom, three)));
      const Walks some = walk_randomly(grammar, queries.all(), 3, 150, kRoom, three, {140, 320});
      CHECK_EQUAL(some.leaves.size(), std::size_t{180});
      for (std::size_t i = 0; i < 180; ++i) CHECK_EQUAL(some.uniforms[i], all.uniforms[140 + i]);
      for (const std::size_t n_queries : {0, 1, 3, 7}) {
        for (const std::size_t n : {0, 1, 2, 100}) {
          const Walks first = walk_randomly(grammar, queries.some(0, n_queries), 3, n, kRoom, three);
          CHECK_EQUAL(first.leaves.size(), n_queries * n);
          for (std::size_t i = 0; i < n_queries * n; ++i) {
            const std::size_t place = i / n * 150 + i % n;
            CHECK_EQUAL(first.leaves[i], all.leaves[place]);
            CHECK_EQUAL(first.uniforms[i], all.uniforms[place]);
          }
        }
      }
    }
  }
}

TEST(a_cell_that_asks_about_itself_ends_in_boxes_that_hold_it) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 20; ++i) {
    const Problem problem = with_telling_statistics(mixed_problem(random, 16, 4, 4));
    for (const Family& family : some_families()) {
      const NamedModel& prior = some_priors()[static_cast<std::size_t>(i) % some_priors().size()];
      Engine engine(problem, family, prior);
      engine.set_leaves(random_leaves(random, engine.graph.n_boxes()));
      const PlainGrammar plain(problem, family, prior, engine.leaves());
      const QuerySet queries = cells_as_queries(problem, plain);
      const auto holds = [](double statistic, std::size_t cell) {
        const std::vector<Cell> cells = told_cells(statistic);
        return std::binary_search(cells.begin(), cells.end(), static_cast<Cell>(cell));
      };
      const Array<double> best = walk_best(engine.maxima(), queries.all(), kRoom, engine.workers);
      const Walks walks = walk_randomly(engine.sums(), queries.all(), 5, 20, kRoom, engine.workers);
      for (std::size_t cell = 0; cell < problem.n_cells(); ++cell) {
        CHECK(holds(best[cell], cell));
        for (std::size_t k = 0; k < 20; ++k) CHECK(holds(walks.statistics[cell * 20 + k], cell));
      }
    }
  }
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
