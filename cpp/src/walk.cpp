#include "bcart/walk.hpp"

#include <algorithm>

#include "bcart/derive.hpp"
#include "bcart/random.hpp"
#include "bcart/unfold.hpp"

namespace bcart {
namespace {

// Follows one query; `choose(grammar, box, depth)` says which split each box makes.
template <class Addition, class Choose>
Spot<Addition> walk(const Grammar& whole, Unfolder<Addition>& unfolder, const Queries& queries, std::size_t query,
                    const Choose& choose) {
  for (Spot<Addition> spot(whole);;) {
    spot = spot.unfolded(unfolder);
    const std::size_t split = choose(spot.grammar(), spot.box(), spot.depth());
    if (split == kStop) return spot;
    const Graph& graph = spot.grammar().graph;
    const std::uint32_t test = graph.tests[split];
    const bool is_left = queries.is_undecided(query, test)
                             ? queries.is_heavier_left(graph, split, spot.weights(queries.weight_of))
                             : queries.is_left(query, test);
    spot = spot.child(is_left ? graph.left[split] : graph.right[split]);
  }
}

template <class Addition>
void write_statistics(const Spot<Addition>& leaf, std::size_t place, Array<double>& statistics) {
  const std::size_t width = leaf.grammar().graph.n_statistics;
  std::copy_n(leaf.statistics(), width, statistics.data() + place * width);
}

}  // namespace

Array<double> walk_best(const Grammar& grammar, const Queries& queries, std::size_t max_bytes, Workers& workers) {
  Array<double> statistics(queries.n_queries * grammar.graph.n_statistics);
  const auto walk_one = [&](std::size_t query, Unfolder<Maximum>& unfolder) {
    write_statistics(walk(grammar, unfolder, queries, query, best_rule), query, statistics);
  };
  run_unfolding<Maximum>(grammar, queries.n_queries, max_bytes, workers, walk_one);
  return statistics;
}

Walks walk_randomly(const Grammar& grammar, const Queries& queries, std::uint64_t seed, std::size_t n,
                    std::size_t max_bytes, Workers& workers, WalkRange range) {
  const std::size_t end = std::min(range.end, queries.n_queries * n);
  const std::size_t begin = std::min(range.begin, end);
  const std::size_t n_walks = end - begin;
  Walks walks{Array<BoxId>(n_walks), Array<double>(n_walks * grammar.graph.n_statistics), Array<double>(n_walks)};
  run_unfolding<LogSum>(grammar, n_walks, max_bytes, workers, [&](std::size_t i, Unfolder<LogSum>& unfolder) {
    const std::size_t query = (begin + i) / n;
    Random random(seed, (begin + i) % n, static_cast<std::uint32_t>(query + 1));
    const auto choose = [&](const Grammar& here, std::size_t box, std::size_t depth) {
      return random_rule(here, box, depth, random);
    };
    const Spot<LogSum> leaf = walk(grammar, unfolder, queries, query, choose);
    walks.leaves[i] = leaf.id();
    write_statistics(leaf, i, walks.statistics);
    walks.uniforms[i] = random.uniform();
  });
  return walks;
}

}  // namespace bcart
