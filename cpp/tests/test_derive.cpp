#include <cmath>
#include <functional>

#include "bcart/derive.hpp"
#include "check.hpp"
#include "grammars.hpp"

namespace bcart::check {
namespace {

constexpr double kTie = 1e-10;

// A tree written down box by box, as a child would: what `choose` says at a box, its left subtree, then its right.
struct PlainTree {
  // The index of a split, or -1.
  using Choose = std::function<int(std::size_t box, std::size_t depth)>;

  PlainGrammar& grammar;
  const TestNumbers& numbers;
  std::vector<BoxId> box;
  std::vector<std::int64_t> test;
  std::vector<std::int32_t> right;
  long double log_weight = 0;

  void grow(std::size_t from, std::size_t depth, const Choose& choose) {
    const std::size_t node = box.size();
    const int choice = choose(from, depth);
    box.push_back(static_cast<BoxId>(from));
    test.push_back(-1);
    right.push_back(-1);
    if (choice < 0) {
      log_weight += grammar.log_stop(from, depth);
      return;
    }
    log_weight += grammar.log_split(from, depth);
    const PlainGrammar::Children split = grammar.splits(from, depth)[static_cast<std::size_t>(choice)];
    test[node] = numbers.number(split.test);
    grow(split.left, depth + 1, choose);
    right[node] = static_cast<std::int32_t>(box.size());
    grow(split.right, depth + 1, choose);
  }
};

int best_choice(PlainGrammar& grammar, std::size_t box, std::size_t depth) {
  const std::vector<long double> terms = grammar.log_terms(box, depth);
  std::size_t i = 0;
  while (terms[i] < grammar.value(box, depth) - kTie) ++i;
  return static_cast<int>(i) - 1;
}

int random_choice(PlainGrammar& grammar, std::size_t box, std::size_t depth, Random& random) {
  const std::vector<long double> rules = grammar.rules(box, depth);
  long double rest = random.uniform();
  for (std::size_t i = 0; i + 1 < rules.size(); ++i) {
    rest -= rules[i];
    if (rest < 0) return static_cast<int>(i) - 1;
  }
  return static_cast<int>(rules.size()) - 2;
}

template <class T>
std::vector<T> part_of(const std::vector<T>& all, const Derivations& trees, std::size_t tree) {
  const auto begin = static_cast<std::ptrdiff_t>(tree == 0 ? 0 : trees.tree_ends[tree - 1]);
  return {all.begin() + begin, all.begin() + static_cast<std::ptrdiff_t>(trees.tree_ends[tree])};
}

void check_same(const Derivations& trees, std::size_t tree, const PlainTree& expected) {
  const std::size_t root = tree == 0 ? 0 : trees.tree_ends[tree - 1];
  for (std::size_t node = 0; node < expected.box.size(); ++node) {
    CHECK(told_cells(trees.statistics[root + node]) == expected.grammar.cells(expected.box[node]));
  }
  CHECK(part_of(trees.test, trees, tree) == expected.test);
  CHECK(part_of(trees.right, trees, tree) == expected.right);
  const auto log_weight = static_cast<double>(expected.log_weight);
  CHECK_CLOSE(trees.log_weight[tree], log_weight, 1e-12 * (1 + std::abs(log_weight)));
}

bool is_same(const Derivations& a, const Derivations& b) {
  return a.tree_ends == b.tree_ends && a.log_weight == b.log_weight && a.statistics == b.statistics &&
         a.test == b.test && a.right == b.right;
}

}  // namespace

TEST(the_best_tree_is_that_of_the_recursion_and_ties_go_to_the_first) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 40; ++i) {
    const Problem problem = with_telling_statistics(mixed_problem(random, 10, 3, 4));
    const TestNumbers numbers(problem.n_bins, problem.kinds);
    for (const Family& family : some_families()) {
      for (const NamedModel& prior : some_priors()) {
        Engine engine(problem, family, prior);
        std::vector<double> log_leaf = random_leaves(random, engine.graph.n_boxes());
        if (i % 2 == 0) log_leaf.assign(log_leaf.size(), -1.0);  // many trees are equally good
        engine.set_leaves(log_leaf);
        PlainGrammar plain(problem, family, prior, log_leaf.data(), Adding::maxima);
        PlainTree expected{plain, numbers, {}, {}, {}};
        expected.grow(0, 0, [&](std::size_t box, std::size_t depth) { return best_choice(plain, box, depth); });
        const Derivations best = derive_best(engine.maxima(), kRoom, engine.workers);
        CHECK_EQUAL(best.tree_ends.size(), std::size_t{1});
        check_same(best, 0, expected);
        const double value = engine.maxima().value(0, 0);
        CHECK_CLOSE(best.log_weight[0], value, 1e-12 * (1 + std::abs(value)));
      }
    }
  }
}

TEST(sampled_trees_follow_their_random_numbers) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 15; ++i) {
    const Problem problem = with_telling_statistics(mixed_problem(random, 10, 3, 4));
    const TestNumbers numbers(problem.n_bins, problem.kinds);
    for (const Family& family : some_families()) {
      for (const NamedModel& prior : some_priors()) {
        Engine engine(problem, family, prior);
        engine.set_leaves(random_leaves(random, engine.graph.n_boxes()));
        PlainGrammar plain(problem, family, prior, engine.leaves());
        const std::uint64_t seed = random();
        const Derivations trees = derive_samples(engine.sums(), seed, 20, kRoom, engine.workers);
        CHECK_EQUAL(trees.tree_ends.size(), std::size_t{20});
        for (std::size_t tree = 0; tree < 20; ++tree) {
          Random draws(seed, tree);
          PlainTree expected{plain, numbers, {}, {}, {}};
          expected.grow(0, 0,
                        [&](std::size_t box, std::size_t depth) { return random_choice(plain, box, depth, draws); });
          check_same(trees, tree, expected);
        }
      }
    }
  }
}

TEST(trees_come_as_often_as_they_are_probable) {
  constexpr std::size_t kTrees = 20'000;
  std::mt19937_64 random(3);
  const Problem problem = random_problem(random, 8, {3, 3}, {Kind::optional, Kind::nominal});
  for (const Family& family : {Family{}, Family{2, 1, 2}}) {
    for (const NamedModel& prior : some_priors()) {
      Engine engine(problem, family, prior);
      engine.set_leaves(random_leaves(random, engine.graph.n_boxes()));
      const Derivations trees = derive_samples(engine.sums(), 7, kTrees, kRoom, engine.workers);
      std::map<std::vector<std::int64_t>, std::pair<double, double>> counts;  // with the probability
      for (std::size_t tree = 0; tree < kTrees; ++tree) {
        auto& [count, probability] = counts[part_of(trees.test, trees, tree)];
        ++count;
        probability = std::exp(trees.log_weight[tree] - engine.sums().value(0, 0));
      }
      double total = 0;
      for (const auto& [tree, seen] : counts) {
        const auto& [count, probability] = seen;
        const double deviation = std::sqrt(probability * (1 - probability) * kTrees);
        CHECK_CLOSE(count, probability * kTrees, 7 * deviation + 7);
        total += probability;
      }
      CHECK(total <= 1 + 1e-12);
    }
  }
}

TEST(the_first_trees_depend_neither_on_how_many_follow_nor_on_the_workers) {
  std::mt19937_64 random(4);
  const Problem problem = mixed_problem(random, 25, 4, 4);
  for (const Family& family : {Family{}, Family{3, 1, 2}}) {
    for (const NamedModel& prior : {some_priors()[1], some_priors()[2]}) {
      Engine engine(problem, family, prior, 1);
      Engine other(problem, family, prior, 3);
      engine.set_leaves(std::vector<double>{});
      other.set_leaves(std::vector<double>{});
      const Derivations all = derive_samples(engine.sums(), 5, 500, kRoom, engine.workers);
      CHECK(is_same(all, derive_samples(other.sums(), 5, 500, kRoom, other.workers)));
      CHECK(!is_same(all, derive_samples(other.sums(), 6, 500, kRoom, other.workers)));
      for (const std::size_t begin : {1, 64, 490}) {
        const Derivations some = derive_samples(other.sums(), 5, 10, kRoom, other.workers, begin);
        for (std::size_t tree = 0; tree < 10; ++tree) {
          CHECK(part_of(some.test, some, tree) == part_of(all.test, all, begin + tree));
        }
      }
      for (const std::size_t n : {0, 1, 63, 64, 65, 200}) {
        Derivations first = derive_samples(other.sums(), 5, n, kRoom, other.workers);
        CHECK_EQUAL(first.tree_ends.size(), n);
        for (std::size_t tree = 0; tree < n; ++tree) {
          CHECK(part_of(first.test, first, tree) == part_of(all.test, all, tree));
          CHECK_EQUAL(first.log_weight[tree], all.log_weight[tree]);
        }
      }
    }
  }
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
