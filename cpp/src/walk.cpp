#include "bcart/walk.hpp"

#include <algorithm>

#include "bcart/derive.hpp"
#include "bcart/random.hpp"

namespace bcart {
namespace {

constexpr std::size_t kGrain = 64;  // walks

// Follows one query; `choose(box, depth)` says which split each box makes.
template <class Choose>
BoxId walk(const Graph& graph, const Queries& queries, std::size_t query, const Choose& choose) {
  BoxId box = 0;
  for (std::size_t depth = 0;; ++depth) {
    const std::size_t split = choose(box, depth);
    if (split == kStop) return box;
    const std::uint32_t test = graph.tests[split];
    const bool is_left =
        queries.is_undecided(query, test) ? queries.is_heavier_left(graph, split) : queries.is_left(query, test);
    box = is_left ? graph.left[split] : graph.right[split];
  }
}

}  // namespace

Array<BoxId> walk_best(const Grammar& grammar, const Queries& queries, Workers& workers) {
  Array<BoxId> leaves(queries.n_queries);
  const auto choose = [&](std::size_t box, std::size_t depth) { return best_rule(grammar, box, depth); };
  workers.run_ranges(0, queries.n_queries, kGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t query = begin; query < end; ++query) leaves[query] = walk(grammar.graph, queries, query, choose);
  });
  return leaves;
}

RandomWalks walk_randomly(const Grammar& grammar, const Queries& queries, std::uint64_t seed, std::size_t n,
                          Workers& workers) {
  RandomWalks walks{Array<BoxId>(queries.n_queries * n), Array<double>(queries.n_queries * n)};
  workers.run_ranges(0, queries.n_queries * n, kGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t query = i / n;
      Random random(seed, i % n, static_cast<std::uint32_t>(query + 1));
      const auto choose = [&](std::size_t box, std::size_t depth) { return random_rule(grammar, box, depth, random); };
      walks.leaves[i] = walk(grammar.graph, queries, query, choose);
      walks.uniforms[i] = random.uniform();
    }
  });
  return walks;
}

}  // namespace bcart
