#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "bcart/pass.hpp"
#include "bcart/respond.hpp"
#include "check.hpp"
#include "grammars.hpp"
#include "query_sets.hpp"

namespace bcart::check {
namespace {

const NamedModel kDirichlet{"dirichlet", {0.5, 1.0}};

// Statistics of made-up targets around a centre, for normal leaves.
void set_targets(std::mt19937_64& random, Problem& problem, double centre) {
  problem.statistics.clear();
  for (const double weight : problem.weights) {
    const double target = centre + static_cast<double>(pick(random, 1000)) / 100;
    problem.statistics.insert(problem.statistics.end(), {weight, weight * target, weight * target * target});
  }
}

std::vector<std::vector<Moments>> moments_of(const Graph& graph, const LeafModel& leaf) {
  std::vector<std::vector<Moments>> moments(graph.n_boxes(), std::vector<Moments>(leaf.n_outputs()));
  for (std::size_t box = 0; box < graph.n_boxes(); ++box) {
    leaf.moments(graph.statistics.data() + box * graph.n_statistics, moments[box].data());
  }
  return moments;
}

// A problem with its grammar and some queries.
struct Case {
  const Problem& problem;
  Engine engine;
  std::unique_ptr<LeafModel> leaf;
  PlainGrammar plain;
  TestNumbers numbers;
  QuerySet queries;

  Case(std::mt19937_64& random, const Problem& asked, const Family& family, const NamedModel& prior,
       const NamedModel& leaf_model, std::size_t n_queries, std::size_t n_workers = 1, bool has_missing = true)
      : problem(asked),
        engine(asked, family, prior, n_workers),
        leaf(Registered<LeafModel>::make(leaf_model.name, leaf_model.parameters)),
        plain((engine.set_leaves(*leaf), PlainGrammar(asked, family, prior, engine.leaves()))),
        numbers(asked.n_bins, asked.kinds),
        queries(random_queries(random, asked, plain, n_queries, has_missing)) {}

  double expect(std::size_t query, const Expectation::Function& f) {
    return static_cast<double>(Expectation(plain, numbers, queries, query, f)());
  }
};

void check_response(Case& here, double tolerance) {
  const Response found = respond(here.engine.sums(), here.queries.all(), *here.leaf, kNoLimit, here.engine.workers);
  const auto moments = moments_of(here.engine.graph, *here.leaf);
  const std::size_t n_outputs = here.leaf->n_outputs();
  CHECK_EQUAL(found.mean.size(), here.queries.size() * n_outputs);
  for (std::size_t query = 0; query < here.queries.size(); ++query) {
    for (std::size_t k = 0; k < n_outputs; ++k) {
      const std::size_t i = query * n_outputs + k;
      const double mean = here.expect(query, [&](std::size_t box) { return moments[box][k].mean; });
      const double between = here.expect(query, [&](std::size_t box) {
        const long double distance = static_cast<long double>(moments[box][k].mean) - mean;
        return distance * distance;
      });
      const double within = here.expect(query, [&](std::size_t box) { return moments[box][k].variance; });
      const double noise = here.expect(query, [&](std::size_t box) { return moments[box][k].noise; });
      CHECK_CLOSE(found.mean[i], mean, tolerance * (1 + std::abs(mean)));
      CHECK_CLOSE(found.between_trees[i], between, tolerance * (1 + between));
      CHECK_CLOSE(found.within_leaf[i], within, tolerance * (1 + within));
      CHECK_CLOSE(found.noise[i], noise, tolerance * (1 + noise));
    }
  }
}

bool is_same(const Response& a, const Response& b) {
  return same_bytes(a.mean, b.mean) && same_bytes(a.between_trees, b.between_trees) &&
         same_bytes(a.within_leaf, b.within_leaf) && same_bytes(a.noise, b.noise);
}

// The part of one query.
std::vector<double> part_of(const Response& response, std::size_t query, std::size_t n_outputs) {
  std::vector<double> part;
  for (const Array<double>* array : {&response.mean, &response.between_trees, &response.within_leaf, &response.noise}) {
    for (std::size_t k = 0; k < n_outputs; ++k) part.push_back((*array)[query * n_outputs + k]);
  }
  return part;
}

template <class Numbers>
std::vector<double> row_of(const Numbers& numbers, std::size_t row, std::size_t width) {
  const double* begin = numbers.data() + row * width;
  return {begin, begin + width};
}

// The parts of one query by their statistics. No two have the same.
using Parts = std::map<std::vector<double>, double>;
Parts parts_of(const Graph& graph, const Mixtures& all, std::size_t query) {
  Parts parts;
  for (std::size_t i = query == 0 ? 0 : all.ends[query - 1]; i < all.ends[query]; ++i) {
    CHECK(parts.emplace(row_of(all.statistics, i, graph.n_statistics), all.weights[i]).second);
  }
  return parts;
}

void check_mixtures(Case& here) {
  const Graph& graph = here.engine.graph;
  const Mixtures all = mixtures(here.engine.sums(), here.queries.all(), 0, kNoLimit, here.engine.workers);
  CHECK_EQUAL(all.ends.size(), here.queries.size());
  CHECK_EQUAL(all.ends.back() * graph.n_statistics, all.statistics.size());
  CHECK_EQUAL(all.ends.back(), all.weights.size());
  for (std::size_t query = 0; query < here.queries.size(); ++query) {
    const Parts parts = parts_of(graph, all, query);
    double total = 0;
    for (const auto& [statistics, weight] : parts) {
      const auto is_alike = [&](std::size_t box) {
        return row_of(graph.statistics, box, graph.n_statistics) == statistics ? 1 : 0;
      };
      CHECK_CLOSE(weight, here.expect(query, is_alike), 1e-13);
      CHECK(weight > 0);
      total += weight;
    }
    CHECK_CLOSE(total, 1.0, 1e-12);
  }
}

}  // namespace

TEST(the_response_of_all_trees_is_that_of_the_recursion) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 12; ++i) {
    const Problem problem = mixed_problem(random, 9, 3, 4);
    for (const Family& family : some_families()) {
      for (const NamedModel& prior : some_priors()) {
        Case here(random, problem, family, prior, kDirichlet, 1 + pick(random, 20), 1 + pick(random, 3));
        check_response(here, 1e-13);
      }
    }
  }
}

TEST(targets_far_from_zero_keep_the_digits_of_their_variance) {
  std::mt19937_64 random(2);
  for (const double centre : {0.0, 1e6}) {
    Problem problem = mixed_problem(random, 12, 3, 4);
    set_targets(random, problem, centre);
    for (const Family& family : {Family{}, Family{2, 1, 2}}) {
      for (const NamedModel& prior : some_priors()) {
        Case here(random, problem, family, prior, {"normal", {centre + 5, 0.1, 1.5, 2.0}}, 9);
        check_response(here, centre == 0 ? 1e-12 : 1e-9);
      }
    }
  }
}

TEST(queries_without_missing_values_need_no_weights) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 10; ++i) {
    const Problem problem = mixed_problem(random, 12, 3, 4);
    Case here(random, problem, {}, some_priors()[0], kDirichlet, 10, 1, false);
    CHECK(here.queries.all().weight_of == nullptr);
    check_response(here, 1e-13);
  }
}

TEST(an_undecided_value_goes_to_the_side_of_more_weight_and_left_if_there_is_none) {
  // Two cells of one numeric feature; the query's value is missing.
  for (const double right_weight : {1.0, 2.0, 3.0}) {
    const Problem problem = {1, {2}, {Kind::numeric}, {0, 1}, {5, 0, 0, 5}, {2.0, right_weight}};
    std::mt19937_64 random(4);
    Case here(random, problem, {}, {"leaf-count", {-50.0}}, kDirichlet, 1);  // all but certain to split
    here.queries.positions = {0};
    here.queries.has_learned_missing = {0};
    const Response found = respond(here.engine.sums(), here.queries.all(), *here.leaf, kNoLimit, here.engine.workers);
    CHECK_CLOSE(found.mean[0], right_weight > 2 ? 0.5 / 6.5 : 5.5 / 6.5, 1e-12);
  }
}

TEST(a_response_is_the_same_to_the_bit_whatever_the_company_and_the_workers) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 6; ++i) {
    const Problem problem = mixed_problem(random, 20, 4, 4);
    for (const Family& family : {Family{}, Family{3, 1, 2}}) {
      for (const NamedModel& prior : {some_priors()[0], some_priors()[2]}) {
        Case here(random, problem, family, prior, kDirichlet, 20);
        const Grammar grammar = here.engine.sums();
        Monitor monitor;
        Workers three(3, monitor);
        std::vector<std::vector<double>> alone;
        for (std::size_t query = 0; query < 20; ++query) {
          alone.push_back(
              part_of(respond(grammar, here.queries.some(query, 1), *here.leaf, kNoLimit, here.engine.workers), 0, 2));
        }
        for (std::size_t n = 1; n <= 20; ++n) {
          const Queries queries = here.queries.some(20 - n, n);
          const Response together = respond(grammar, queries, *here.leaf, kNoLimit, here.engine.workers);
          for (std::size_t query = 0; query < n; ++query) CHECK(part_of(together, query, 2) == alone[20 - n + query]);
          CHECK(is_same(together, respond(grammar, queries, *here.leaf, kNoLimit, three)));
        }
      }
    }
  }
}

TEST(the_way_through_few_boxes_of_many_splits_asks_whether_to_go_on) {
  Problem problem = {1,  {120}, {Kind::numeric},
                     {}, {},    {}};  // in a line: 3,600 of its boxes hold the one in the middle
  for (std::size_t cell = 0; cell < 120; ++cell) {
    problem.codes.push_back(static_cast<Code>(cell));
    problem.statistics.push_back(1);
    problem.weights.push_back(1);
  }
  Engine engine(problem, {}, {"leaf-count", {0.0}});
  engine.set_leaves(std::vector<double>{});
  const TestNumbers numbers(problem.n_bins, problem.kinds);
  QuerySet middle{1, {60}, {}, {}, {}, {}, {}};
  for (std::uint32_t test = 0; test < numbers.size(); ++test) {
    middle.feature.push_back(0);
    middle.first.push_back(0);
    middle.last.push_back(numbers.test(test).lower);
    middle.has_learned_missing.push_back(1);
  }
  Monitor monitor;
  Workers late(1, monitor, Clock::now() - std::chrono::seconds(1));
  Steps steps(late, 0);
  const Grammar grammar = engine.sums();
  const Queries queries = middle.all();
  Pass<1> pass(grammar, queries, nullptr, 0);
  const auto nothing = [](std::size_t, const double*) {};
  const Visit root[] = {{0, 0, 1.0}};
  CHECK_THROWS(pass.run(root, steps, nothing, nothing), DeadlinePassed);
}

TEST(no_queries_have_no_responses) {
  std::mt19937_64 random(6);
  const Problem problem = random_problem(random, 9, {3, 3});
  Case here(random, problem, {}, some_priors()[0], kDirichlet, 1, 3);
  const Queries none = here.queries.some(0, 0);
  CHECK_EQUAL(respond(here.engine.sums(), none, *here.leaf, kNoLimit, here.engine.workers).mean.size(), std::size_t{0});
  CHECK_EQUAL(mixtures(here.engine.sums(), none, 0, kNoLimit, here.engine.workers).ends.size(), std::size_t{0});
}

TEST(one_box_answers_for_itself) {
  std::mt19937_64 random(7);
  const Problem problem = random_problem(random, 1, {3, 1}, {Kind::optional, Kind::nominal});
  for (const NamedModel& prior : some_priors()) {
    Case here(random, problem, {}, prior, kDirichlet, 11);
    check_response(here, 1e-15);
    check_mixtures(here);
  }
}

TEST(mixtures_hold_the_probability_of_all_leaves_of_equal_statistics) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 8; ++i) {
    const Problem problem = mixed_problem(random, 9, 3, 4);
    for (const Family& family : some_families()) {
      for (const NamedModel& prior : {some_priors()[0], some_priors()[2]}) {
        Case here(random, problem, family, prior, kDirichlet, 1 + pick(random, 12), 1 + pick(random, 3));
        check_mixtures(here);
      }
    }
  }
}

TEST(a_mixture_is_the_same_to_the_bit_whatever_the_company_and_the_workers) {
  std::mt19937_64 random(9);
  const Problem problem = mixed_problem(random, 20, 4, 4);
  for (const NamedModel& prior : {some_priors()[0], some_priors()[2]}) {
    Case here(random, problem, {}, prior, kDirichlet, 20, 3);
    Monitor monitor;
    Workers one(1, monitor);
    const Mixtures together = mixtures(here.engine.sums(), here.queries.all(), 0, kNoLimit, here.engine.workers);
    for (std::size_t query = 0; query < 20; ++query) {
      const Mixtures alone = mixtures(here.engine.sums(), here.queries.some(query, 1), 0, kNoLimit, one);
      CHECK(parts_of(here.engine.graph, alone, 0) == parts_of(here.engine.graph, together, query));
      const std::size_t begin = query == 0 ? 0 : together.ends[query - 1];
      CHECK(std::equal(alone.statistics.begin(), alone.statistics.end(), together.statistics.begin() + 2 * begin));
      CHECK(std::equal(alone.weights.begin(), alone.weights.end(), together.weights.begin() + begin));
    }
  }
}

TEST(no_more_probability_is_lost_than_may_be) {
  std::mt19937_64 random(11);
  const Problem problem = random_problem(random, 60, std::vector<std::size_t>(12, 2));
  for (const Folding folding : {Folding::never, Folding::always}) {
    const Family family{folding == Folding::always ? std::optional<std::size_t>(6) : std::nullopt, 1, 2};
    Engine engine(problem, family, {"leaf-count", {0.5}}, 2, folding);
    const auto leaf = Registered<LeafModel>::make(kDirichlet.name, kDirichlet.parameters);
    engine.set_leaves(*leaf);
    const PlainGrammar plain(problem, {}, {"leaf-count", {0.5}}, nullptr, Adding::sums);
    const QuerySet queries = random_queries(random, problem, plain, 10, false);
    double lost_before = 0;
    for (const double may_lose : {1e-12, 1e-6, 1e-3, 0.5}) {
      const Mixtures all = mixtures(engine.sums(), queries.all(), may_lose, kNoLimit, engine.workers);
      double most_lost = 0;
      for (std::size_t query = 0; query < 10; ++query) {
        const double* weights = all.weights.data();
        const double total =
            std::accumulate(weights + (query == 0 ? 0 : all.ends[query - 1]), weights + all.ends[query], 0.0);
        CHECK(1 - total <= may_lose + 1e-12);
        most_lost = std::max(most_lost, 1 - total);
      }
      CHECK(most_lost >= lost_before);
      lost_before = most_lost;
    }
    CHECK(lost_before > 1e-6);
  }
}

TEST(mixtures_of_many_parts_have_the_mean_of_the_response) {
  std::mt19937_64 random(10);
  Problem problem = random_problem(random, 60, std::vector<std::size_t>(12, 2));
  set_targets(random, problem, 0);
  Case here(random, problem, {}, {"leaf-count", {0.5}}, {"normal", {5, 0.1, 1.5, 2.0}}, 10, 2);
  const Grammar grammar = here.engine.sums();
  const Response response = respond(grammar, here.queries.all(), *here.leaf, kNoLimit, here.engine.workers);
  const Mixtures all = mixtures(grammar, here.queries.all(), 0, kNoLimit, here.engine.workers);
  CHECK(all.weights.size() > 5'000);
  for (std::size_t query = 0; query < 10; ++query) {
    parts_of(here.engine.graph, all, query);
    double total = 0;
    double mean = 0;
    for (std::size_t i = query == 0 ? 0 : all.ends[query - 1]; i < all.ends[query]; ++i) {
      total += all.weights[i];
      Moments moments;
      here.leaf->moments(all.statistics.data() + 3 * i, &moments);
      mean += all.weights[i] * moments.mean;
    }
    CHECK_CLOSE(total, 1.0, 1e-11);
    CHECK_CLOSE(mean, response.mean[query], 1e-11 * (1 + std::abs(mean)));
  }
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
