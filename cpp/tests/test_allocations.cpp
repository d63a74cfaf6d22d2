// Where the engine gets no memory for a graph or an answer, it throws std::bad_alloc, or does with less, and goes on
// living.
#include <optional>

#include "bcart/derive.hpp"
#include "bcart/respond.hpp"
#include "bcart/walk.hpp"
#include "failing_allocations.hpp"
#include "grammars.hpp"
#include "query_sets.hpp"

namespace bcart::check {
namespace {

const std::vector<std::pair<std::size_t, Failing>> kWays{{1, Failing::once}, {3, Failing::for_good}};

Problem small_problem() {
  std::mt19937_64 random(5);
  return random_problem(random, 10, {2, 3, 2}, {Kind::numeric, Kind::optional, Kind::nominal});
}

// Its graph has arrays of more than a page.
Problem large_problem() {
  std::mt19937_64 random(6);
  return random_problem(random, 300, std::vector<std::size_t>(14, 2));
}

// A problem with all that can be asked of it.
struct Model {
  Problem problem;
  Family family;
  NamedModel prior{"depth-decay", {0.99, 0.1}};  // the best tree is deep
  std::unique_ptr<LeafModel> leaf = Registered<LeafModel>::make("dirichlet", {0.5, 1.0});
  std::optional<Engine> engine;
  QuerySet queries;

  Model(Problem given, Family listed, std::size_t n_workers, Folding folding)
      : problem(std::move(given)), family(listed), engine(std::in_place, problem, family, prior, n_workers, folding) {
    std::mt19937_64 random(7);
    engine->set_leaves(*leaf);
    queries = random_queries(random, problem, PlainGrammar(problem, {1, 1, 2}, prior, nullptr), 8);
    queries.weight_of.clear();
    for (std::size_t box = 0; box < engine->graph.n_boxes(); ++box) {
      queries.weight_of.push_back(leaf->weight(engine->graph.statistics.data() + 2 * box));
    }
    CHECK_EQUAL(engine->graph.n_folded > 0, folding == Folding::always);
  }

  Workers& workers() { return engine->workers; }
};

// Asks models, folded or not.
template <class Ask>
void check_questions(const Ask& ask) {
  for (const Folding folding : {Folding::never, Folding::always}) {
    for (const auto& [n_workers, failing] : kWays) {
      Model model(small_problem(), {3, 1, 2}, n_workers, folding);
      check_answers(failing, [&] { return ask(model); });
    }
  }
}

Digest digest(const Graph& graph) {
  return Digest().add(graph.first_split).add(graph.n_cells).add(graph.statistics).add(graph.left).add(graph.right);
}

// A graph that has got no memory for all layers says so.
void check_builds(const Problem& problem, const Family& family, Folding folding, std::size_t n_workers, Failing failing,
                  Asked asked) {
  const auto build = [&] {
    Monitor monitor;
    Progress progress;
    Workers workers(n_workers, monitor);
    return build_graph(problem.cells(), family, {kNoLimit, folding}, workers, progress);
  };
  const Graph whole = build();
  const auto is_whole = [&](const Graph& graph) { return digest(graph).bits() == digest(whole).bits(); };
  const std::size_t n_failures = fail_everywhere(
      failing,
      [&] {
        const Graph graph = build();
        CHECK(is_whole(graph) || graph.ending == Ending::system);
        CHECK(graph.max_depth <= whole.max_depth);
      },
      asked);
  CHECK_EQUAL(n_failures > 0, can_fail(asked));
  CHECK(is_whole(build()));
}

Digest sweeps(Model& model) {
  std::optional<Fold> fold;
  const Graph& graph = model.engine->graph;
  if (graph.n_folded > 0) fold.emplace(graph, model.problem.cells(), model.family, model.workers());
  const Depths depths(graph, true, model.workers());
  std::vector<double> log_leaf(graph.n_boxes());
  model.leaf->log_marginals(graph.statistics.data(), graph.n_boxes(), log_leaf.data(), model.workers());
  const Grammar grammar{
      graph, depths, *model.engine->prior, log_leaf.data(), nullptr, fold ? &*fold : nullptr, model.leaf.get()};
  const SumsAndMaxima both = sweep_both(grammar, model.workers());
  const Array<double> log_sums = sweep<LogSum>(grammar, model.workers());
  const Array<double> maxima = sweep<Maximum>(grammar, model.workers());
  return Digest().add(both.log_sums).add(both.maxima).add(log_sums).add(maxima);
}

Digest responses(Model& model) {
  const Response answer = respond(model.engine->sums(), model.queries.all(), *model.leaf, kNoLimit, model.workers());
  return Digest().add(answer.mean).add(answer.between_trees).add(answer.within_leaf).add(answer.noise);
}

}  // namespace

TEST(a_build_that_gets_no_memory_ends_with_fewer_layers_or_a_bad_alloc) {
  for (const Folding folding : {Folding::never, Folding::always}) {
    for (const auto& [n_workers, failing] : kWays) {
      check_builds(small_problem(), {3, 1, 2}, folding, n_workers, failing, Asked::anything);
    }
  }
  for (const auto& [n_workers, failing] : kWays) {
    check_builds(large_problem(), {5, 1, 2}, Folding::never, n_workers, failing, Asked::mappings);
  }
}

TEST(sweeps_that_get_no_memory_are_a_bad_alloc) { check_questions(sweeps); }

TEST(trees_that_get_no_memory_are_a_bad_alloc) {
  check_questions([](Model& model) {
    const Derivations best = derive_best(model.engine->maxima(), kRoom, model.workers());
    const Derivations samples = derive_samples(model.engine->sums(), 1, 10, kRoom, model.workers());
    return Digest()
        .add(best.test)
        .add(best.statistics)
        .add(samples.test)
        .add(samples.statistics)
        .add(samples.tree_ends);
  });
}

TEST(responses_that_get_no_memory_are_a_bad_alloc) { check_questions(responses); }

TEST(large_arrays_that_get_no_memory_are_a_bad_alloc) {
  for (const auto& [n_workers, failing] : kWays) {
    Model model(large_problem(), {5, 1, 2}, n_workers, Folding::never);
    check_answers(failing, [&] { return sweeps(model); }, Asked::mappings);
    check_answers(failing, [&] { return responses(model); }, Asked::mappings);
  }
}

TEST(mixtures_that_get_no_memory_are_a_bad_alloc) {
  check_questions([](Model& model) {
    const Mixtures all = mixtures(model.engine->sums(), model.queries.all(), 1e-9, kNoLimit, model.workers());
    return Digest().add(all.ends).add(all.weights).add(all.statistics);
  });
}

TEST(walks_that_get_no_memory_are_a_bad_alloc) {
  check_questions([](Model& model) {
    return Digest().add(walk_best(model.engine->maxima(), model.queries.all(), kRoom, model.workers()));
  });
  check_questions([](Model& model) {
    const Walks walks = walk_randomly(model.engine->sums(), model.queries.all(), 1, 5, kRoom, model.workers());
    return Digest().add(walks.leaves).add(walks.statistics).add(walks.uniforms);
  });
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
