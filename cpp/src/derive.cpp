#include "bcart/derive.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bcart/unfold.hpp"

namespace bcart {
namespace {

constexpr double kTie = 1e-12;  // relative: sums of equal terms in another order differ by less

double log_rule(const Grammar& grammar, std::size_t split, std::size_t depth, double log_split) {
  const Graph& graph = grammar.graph;
  return grammar.value(graph.left[split], depth + 1) + grammar.value(graph.right[split], depth + 1) + log_split;
}

// Appends the tree that `choose(grammar, box, depth)` makes.
template <class Addition, class Choose>
void derive(const Grammar& whole, Unfolder<Addition>& unfolder, const Choose& choose, Derivations& trees) {
  struct Waiting {
    Spot<Addition> spot;
    std::ptrdiff_t parent;  // whose right child it is, or -1
  };
  const std::size_t root = trees.n_nodes();
  std::vector<Waiting> stack{{Spot<Addition>(whole), -1}};
  double log_weight = 0;
  while (!stack.empty()) {
    const auto [waiting, parent] = std::move(stack.back());
    const Spot<Addition> spot = waiting.unfolded(unfolder);
    stack.pop_back();
    const std::size_t node = trees.n_nodes();
    if (parent >= 0) trees.right[static_cast<std::size_t>(parent)] = static_cast<std::int32_t>(node - root);
    trees.statistics.insert(trees.statistics.end(), spot.statistics(), spot.statistics() + whole.graph.n_statistics);
    trees.right.push_back(Derivations::kLeaf);
    const Grammar& grammar = spot.grammar();
    const std::size_t rule = choose(grammar, spot.box(), spot.depth());
    if (rule == kStop) {
      trees.test.push_back(Derivations::kLeaf);
      log_weight += grammar.log_stop(spot.box(), spot.depth());
      continue;
    }
    trees.test.push_back(grammar.graph.tests[rule]);
    log_weight += grammar.prior.log_split(spot.depth(), grammar.n_splits(spot.box(), spot.depth()));
    stack.push_back({spot.child(grammar.graph.right[rule]), static_cast<std::ptrdiff_t>(node)});
    stack.push_back({spot.child(grammar.graph.left[rule]), -1});
  }
  trees.tree_ends.push_back(trees.n_nodes());
  trees.log_weight.push_back(log_weight);
}

template <class T>
void append_to(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Puts trees one behind the other, and gives back what held them.
Derivations join(std::vector<Derivations> parts) {
  Derivations trees;
  trees.reserve(parts);
  for (Derivations& part : parts) trees.append(std::exchange(part, {}));
  return trees;
}

}  // namespace

void Derivations::reserve(const std::vector<Derivations>& parts) {
  const auto total = [&](auto member) {
    std::size_t sum = 0;
    for (const Derivations& part : parts) sum += (part.*member).size();
    return sum;
  };
  tree_ends.reserve(total(&Derivations::tree_ends));
  log_weight.reserve(total(&Derivations::log_weight));
  statistics.reserve(total(&Derivations::statistics));
  test.reserve(total(&Derivations::test));
  right.reserve(total(&Derivations::right));
}

void Derivations::append(const Derivations& more) {
  for (const std::uint64_t end : more.tree_ends) tree_ends.push_back(n_nodes() + end);
  append_to(log_weight, more.log_weight);
  append_to(statistics, more.statistics);
  append_to(test, more.test);
  append_to(right, more.right);
}

std::size_t best_rule(const Grammar& grammar, std::size_t box, std::size_t depth) {
  const double best = grammar.value(box, depth);
  const double close = best - kTie * std::max(1.0, std::abs(best));
  const std::size_t n = grammar.n_splits(box, depth);
  if (n == 0 || grammar.log_stop(box, depth) >= close) return kStop;
  const double log_split = grammar.prior.log_split(depth, n);
  std::size_t split = grammar.graph.first_split[box];
  while (log_rule(grammar, split, depth, log_split) < close) ++split;
  return split;
}

std::size_t random_rule(const Grammar& grammar, std::size_t box, std::size_t depth, Random& random) {
  const double total = grammar.value(box, depth);
  const std::size_t n = grammar.n_splits(box, depth);
  double rest = random.uniform() - std::exp(grammar.log_stop(box, depth) - total);
  if (rest < 0 || n == 0) return kStop;
  const double log_split = grammar.prior.log_split(depth, n);
  const std::size_t last = grammar.graph.last_split(box) - 1;
  for (std::size_t split = grammar.graph.first_split[box]; split < last; ++split) {
    rest -= std::exp(log_rule(grammar, split, depth, log_split) - total);
    if (rest < 0) return split;
  }
  return last;
}

Derivations derive_best(const Grammar& grammar, std::size_t max_bytes, Workers& workers) {
  Derivations tree;
  run_unfolding<Maximum>(grammar, 1, max_bytes, workers,
                         [&](std::size_t, Unfolder<Maximum>& unfolder) { derive(grammar, unfolder, best_rule, tree); });
  return tree;
}

Derivations derive_samples(const Grammar& grammar, std::uint64_t seed, std::size_t n, std::size_t max_bytes,
                           Workers& workers, std::size_t first) {
  std::vector<Derivations> parts((n + kWaysTogether - 1) / kWaysTogether);
  run_unfolding<LogSum>(grammar, n, max_bytes, workers, [&](std::size_t i, Unfolder<LogSum>& unfolder) {
    Random random(seed, first + i);
    const auto choose = [&](const Grammar& here, std::size_t box, std::size_t depth) {
      return random_rule(here, box, depth, random);
    };
    derive(grammar, unfolder, choose, parts[i / kWaysTogether]);
  });
  return join(std::move(parts));
}

}  // namespace bcart
