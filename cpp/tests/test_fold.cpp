// A folded graph says what the full one says.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <new>
#include <type_traits>

#include "bcart/derive.hpp"
#include "bcart/fold.hpp"
#include "bcart/layers.hpp"
#include "bcart/respond.hpp"
#include "bcart/twigs.hpp"
#include "bcart/unfold.hpp"
#include "bcart/walk.hpp"
#include "check.hpp"
#include "query_sets.hpp"

namespace bcart::check {
namespace {

const std::vector<Family>& limited_families() {
  static const std::vector<Family> families{{2, 1, 2}, {3, 1, 2}, {4, 1, 2}, {2, 1.5, 4}, {3, 1.5, 4}, {3, 0.1, 0.1}};
  return families;
}

// Sums of whole weights are exact, and a fold makes use of that.
Problem with_whole_weights(Problem problem) {
  for (double& weight : problem.weights) weight = std::ceil(weight);
  return problem;
}

// Calls check(problem, full, folded) for problems of all kinds, with leaves or without.
void check_folded(std::uint64_t seed, int n_problems, std::size_t n_cells,
                  const std::function<void(const Problem&, Engine&, Engine&)>& check) {
  std::mt19937_64 random(seed);
  const auto leaf = Registered<LeafModel>::make("dirichlet", {1.0, 0.5});
  for (int i = 0; i < n_problems; ++i) {
    const Problem drawn = mixed_problem(random, n_cells, 4, 5);
    const Problem problem = i % 2 == 0 ? drawn : with_whole_weights(drawn);
    for (const Family& family : limited_families()) {
      for (const NamedModel& prior : some_priors()) {
        Engine full(problem, family, prior);
        Engine folded(problem, family, prior, 1 + static_cast<std::size_t>(i) % 3, Folding::always);
        full.set_leaves(*leaf);
        folded.set_leaves(*leaf);
        check(problem, full, folded);
      }
    }
  }
}

// A box whose trees of two splits are so many that it takes a second to add them up.
Problem many_splits() {
  std::mt19937_64 random(7);
  return random_problem(random, 300, std::vector<std::size_t>(60, 60));
}

struct Interrupted {};

struct InterruptingMonitor final : Monitor {
  void poll() override { throw Interrupted(); }
};

bool is_close(double a, double b) { return std::abs(a - b) <= 1e-12 * (1 + std::abs(b)); }

}  // namespace

TEST(the_cells_of_every_box_are_found_again) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 30; ++i) {
    const Problem problem = mixed_problem(random, 40, 4, 5);
    const Engine engine(problem, {4, 1, 2}, some_priors()[0], 1, Folding::always);
    if (engine.graph.n_folded == 0) continue;
    std::vector<Cell> cells;
    for (std::size_t box = 0; box < engine.graph.n_boxes(); ++box) {
      engine.fold->find_cells(box, cells);
      CHECK_EQUAL(cells.size(), std::size_t{engine.graph.n_cells[box]});
      double sum = 0;
      for (const Cell cell : cells) sum += problem.statistics[2 * cell];
      CHECK_EQUAL(sum, engine.graph.statistics[2 * box]);
    }
  }
}

TEST(sums_and_maxima_are_those_of_the_full_graph) {
  std::size_t n_folded = 0;
  check_folded(2, 40, 30, [&](const Problem&, Engine& full, Engine& folded) {
    n_folded += folded.graph.n_folded > 0 ? 1 : 0;
    CHECK(is_close(folded.sums().value(0, 0), full.sums().value(0, 0)));
    CHECK(is_close(folded.maxima().value(0, 0), full.maxima().value(0, 0)));
  });
  CHECK(n_folded > 100);
}

TEST(without_leaves_the_trees_are_counted) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20; ++i) {
    const Problem problem = mixed_problem(random, 100, 4, 5);
    for (const Family& family : limited_families()) {
      Engine full(problem, family, {"leaf-count", {0.0}});
      Engine folded(problem, family, {"leaf-count", {0.0}}, 2, Folding::always);
      full.set_leaves(std::vector<double>{});
      folded.set_leaves(std::vector<double>{});
      CHECK(is_close(folded.sums().value(0, 0), full.sums().value(0, 0)));
    }
  }
}

TEST(trees_are_those_of_the_full_graph) {
  check_folded(4, 12, 25, [](const Problem&, Engine& full, Engine& folded) {
    const auto check_same = [](const Derivations& a, const Derivations& b) {
      CHECK(a.tree_ends == b.tree_ends);
      CHECK(a.test == b.test);
      CHECK(a.right == b.right);
      CHECK(a.statistics == b.statistics);
      for (std::size_t i = 0; i < a.log_weight.size(); ++i) CHECK(is_close(a.log_weight[i], b.log_weight[i]));
    };
    for (const std::size_t max_bytes : {std::size_t{1}, kRoom}) {
      check_same(derive_best(folded.maxima(), max_bytes, folded.workers),
                 derive_best(full.maxima(), kRoom, full.workers));
      check_same(derive_samples(folded.sums(), 5, 40, max_bytes, folded.workers),
                 derive_samples(full.sums(), 5, 40, kRoom, full.workers));
    }
  });
}

TEST(rows_end_where_they_end_in_the_full_graph) {
  std::mt19937_64 random(6);
  const auto leaf = Registered<LeafModel>::make("dirichlet", {1.0, 0.5});
  check_folded(5, 12, 25, [&](const Problem& problem, Engine& full, Engine& folded) {
    const PlainGrammar plain(problem, {}, some_priors()[0], nullptr, Adding::sums);
    const QuerySet asked = random_queries(random, problem, plain, 11, false);
    const Response there = respond(full.sums(), asked.all(), *leaf, kNoLimit, full.workers);
    const Response here = respond(folded.sums(), asked.all(), *leaf, kNoLimit, folded.workers);
    for (std::size_t i = 0; i < there.mean.size(); ++i) {
      CHECK_CLOSE(here.mean[i], there.mean[i], 1e-12);
      CHECK_CLOSE(here.between_trees[i], there.between_trees[i], 1e-12);
      CHECK_CLOSE(here.within_leaf[i], there.within_leaf[i], 1e-12);
      CHECK_CLOSE(here.noise[i], there.noise[i], 1e-12);
    }
    const Response few_at_once = respond(folded.sums(), asked.all(), *leaf, 1, folded.workers);
    CHECK(same_bytes(few_at_once.mean, here.mean) && same_bytes(few_at_once.between_trees, here.between_trees));
    const Mixtures all = mixtures(folded.sums(), asked.all(), 0, kNoLimit, folded.workers);
    CHECK(all.ends == mixtures(full.sums(), asked.all(), 0, kNoLimit, full.workers).ends);
    for (const std::size_t max_bytes : {std::size_t{1}, kRoom}) {
      CHECK(same_bytes(walk_best(folded.maxima(), asked.all(), max_bytes, folded.workers),
                       walk_best(full.maxima(), asked.all(), kRoom, full.workers)));
      CHECK(same_bytes(walk_randomly(folded.sums(), asked.all(), 3, 20, max_bytes, folded.workers).statistics,
                       walk_randomly(full.sums(), asked.all(), 3, 20, kRoom, full.workers).statistics));
    }
  });
}

TEST(a_box_that_is_being_opened_asks_whether_to_go_on) {
  const Problem problem = many_splits();
  const Engine engine(problem, {2, 1, 2}, some_priors()[0], 1, Folding::always);
  const Grammar grammar{engine.graph, engine.depths, *engine.prior, nullptr, nullptr, &*engine.fold};
  const auto check_interrupted = [&](auto addition) {
    InterruptingMonitor monitor;
    Workers workers(1, monitor);
    Steps steps(workers, 0);
    CHECK_THROWS(Unfolded(grammar, 0, addition, steps), Interrupted);
  };
  check_interrupted(LogSum());
  check_interrupted(Maximum());
}

TEST(no_box_is_opened_when_the_deadline_has_passed) {
  std::mt19937_64 random(8);
  const Problem problem = random_problem(random, 20, {3, 3, 3});
  const Engine engine(problem, {2, 1, 2}, some_priors()[0], 1, Folding::always);
  const Grammar grammar{engine.graph, engine.depths, *engine.prior, nullptr, nullptr, &*engine.fold};
  Monitor monitor;
  Workers late(1, monitor, Clock::now() - std::chrono::seconds(1));
  Steps steps(late, 0);
  CHECK_THROWS(Unfolded(grammar, 0, LogSum(), steps), DeadlinePassed);
}

TEST(a_box_opened_within_another_outlives_it) {
  std::mt19937_64 random(9);
  const Problem problem = random_problem(random, 30, {4, 4, 4});
  for (const NamedModel& prior : some_priors()) {
    Engine engine(problem, {2, 1, 2}, prior, 1, Folding::always);
    engine.set_leaves(std::vector<double>{});
    Steps steps(engine.workers, 0);
    alignas(Unfolded) std::byte memory[sizeof(Unfolded)];
    auto* outer = new (memory) Unfolded(engine.maxima(), 0, Maximum(), steps);
    const BoxId child = outer->grammar().graph.left[0];
    const double value = outer->grammar().value(child, 1);
    const Unfolded inner(outer->grammar(), child, Maximum(), steps);
    outer->~Unfolded();
    std::fill_n(memory, sizeof(Unfolded), std::byte{0xff});
    const Grammar& grammar = inner.grammar();
    std::vector<double> terms;
    grammar.append_terms(0, 0, terms);
    CHECK(is_close(*std::max_element(terms.begin(), terms.end()), value));
    CHECK(inner.n_bytes() > sizeof(Unfolded));
  }
}

TEST(what_looks_at_parts_of_its_own_is_not_copied) {
  static_assert(!std::is_copy_constructible_v<Fold> && !std::is_copy_assignable_v<Fold>);
  static_assert(!std::is_copy_constructible_v<Unfolded> && !std::is_copy_assignable_v<Unfolded>);
  static_assert(!std::is_copy_constructible_v<Twigs> && !std::is_copy_assignable_v<Twigs>);
  static_assert(!std::is_copy_constructible_v<Layers> && !std::is_copy_assignable_v<Layers>);
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
