#include "bcart/walk.hpp"

#include <algorithm>

#include "bcart/derive.hpp"
#include "bcart/random.hpp"
#include "bcart/unfold.hpp"

namespace bcart {
namespace {

constexpr std::size_t kGrain = 64;  // walks

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
void write(const Spot<Addition>& leaf, std::size_t place, Walks& walks) {
  const std::size_t width = leaf.grammar().graph.n_statistics;
  walks.leaves[place] = leaf.id();
  std::copy_n(leaf.statistics(), width, walks.statistics.data() + place * width);
}

}  // namespace

Walks walk_best(const Grammar& grammar, const Queries& queries, std::size_t max_bytes, Workers& workers) {
  Walks walks{Array<BoxId>(queries.n_queries), Array<double>(queries.n_queries * grammar.graph.n_statistics), {}};
  const UnfoldingRoom room(grammar, max_bytes, workers.size());
  std::vector<Unfolder<Maximum>> unfolders(workers.size(), Unfolder<Maximum>(room));
  const auto walk_some = [&](std::size_t begin, std::size_t end, std::size_t worker) {
    for (std::size_t query = begin; query < end; ++query) {
      write(walk(grammar, unfolders[worker], queries, query, best_rule), query, walks);
      workers.checkpoint(worker);
    }
  };
  workers.run_ranges(0, queries.n_queries, kGrain, walk_some, room.n_at_once);
  return walks;
}

Walks walk_randomly(const Grammar& grammar, const Queries& queries, std::uint64_t seed, std::size_t n,
                    std::size_t max_bytes, Workers& workers) {
  const std::size_t n_walks = queries.n_queries * n;
  Walks walks{Array<BoxId>(n_walks), Array<double>(n_walks * grammar.graph.n_statistics), Array<double>(n_walks)};
  const UnfoldingRoom room(grammar, max_bytes, workers.size());
  std::vector<Unfolder<LogSum>> unfolders(workers.size(), Unfolder<LogSum>(room));
  const auto walk_some = [&](std::size_t begin, std::size_t end, std::size_t worker) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t query = i / n;
      Random random(seed, i % n, static_cast<std::uint32_t>(query + 1));
      const auto choose = [&](const Grammar& here, std::size_t box, std::size_t depth) {
        return random_rule(here, box, depth, random);
      };
      write(walk(grammar, unfolders[worker], queries, query, choose), i, walks);
      walks.uniforms[i] = random.uniform();
      workers.checkpoint(worker);
    }
  };
  workers.run_ranges(0, n_walks, kGrain, walk_some, room.n_at_once);
  return walks;
}

}  // namespace bcart
