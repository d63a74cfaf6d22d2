#include "bcart/derive.hpp"

#include <algorithm>
#include <cmath>

#include "bcart/random.hpp"

namespace bcart {
namespace {

constexpr std::size_t kGrain = 64;
constexpr double kTie = 1e-12;  // relative: sums of equal terms in another order differ by less
constexpr std::size_t kStop = ~std::size_t{0};

// The rules of the grammar, read off a graph and the values of one sweep.
struct Grammar {
  const Graph& graph;
  const double* log_leaf;
  const Values& values;
  double log_split;

  double value(std::size_t box, std::size_t level) const { return values.levels[level][box]; }
  double log_rule(std::size_t split, std::size_t level) const {
    const std::size_t below = graph.child_level(level);
    return value(graph.left[split], below) + value(graph.right[split], below) + log_split;
  }
  // Splits that a box may still make.
  std::size_t first(std::size_t box) const { return graph.first_split[box]; }
  std::size_t last(std::size_t box, std::size_t level) const {
    return graph.max_depth && level == 0 ? first(box) : graph.last_split(box);
  }
};

std::size_t best_rule(const Grammar& grammar, std::size_t box, std::size_t level) {
  const double best = grammar.value(box, level);
  const double close = best - kTie * std::max(1.0, std::abs(best));
  if (grammar.log_leaf[box] >= close) return kStop;
  std::size_t split = grammar.first(box);
  while (grammar.log_rule(split, level) < close) ++split;
  return split;
}

std::size_t random_rule(const Grammar& grammar, std::size_t box, std::size_t level, Random& random) {
  const double total = grammar.value(box, level);
  const std::size_t last = grammar.last(box, level);
  double rest = random.uniform() - std::exp(grammar.log_leaf[box] - total);
  if (rest < 0 || grammar.first(box) == last) return kStop;
  for (std::size_t split = grammar.first(box); split + 1 < last; ++split) {
    rest -= std::exp(grammar.log_rule(split, level) - total);
    if (rest < 0) return split;
  }
  return last - 1;
}

// Appends the tree that `choose(box, level)` makes.
template <class Choose>
void derive(const Grammar& grammar, const TestNumbers& numbers, const Choose& choose, Derivations& trees) {
  struct Waiting {
    std::size_t box;
    std::size_t level;
    std::ptrdiff_t parent;  // whose right child it is, or -1
  };
  const std::size_t root = trees.box.size();
  std::vector<Waiting> stack{{0, grammar.graph.n_levels() - 1, -1}};
  double log_weight = 0;
  while (!stack.empty()) {
    const auto [box, level, parent] = stack.back();
    stack.pop_back();
    const std::size_t node = trees.box.size();
    if (parent >= 0) trees.right[static_cast<std::size_t>(parent)] = static_cast<std::int32_t>(node - root);
    trees.box.push_back(static_cast<BoxId>(box));
    trees.right.push_back(Derivations::kLeaf);
    const std::size_t rule = choose(box, level);
    if (rule == kStop) {
      trees.feature.push_back(Derivations::kLeaf);
      trees.lower.push_back(Derivations::kLeaf);
      trees.upper.push_back(Derivations::kLeaf);
      log_weight += grammar.log_leaf[box];
      continue;
    }
    const Test test = numbers.test(grammar.graph.tests[rule]);
    trees.feature.push_back(static_cast<std::int32_t>(test.feature));
    trees.lower.push_back(static_cast<std::int32_t>(test.lower));
    trees.upper.push_back(static_cast<std::int32_t>(test.upper));
    log_weight += grammar.log_split;
    const std::size_t below = grammar.graph.child_level(level);
    stack.push_back({grammar.graph.right[rule], below, static_cast<std::ptrdiff_t>(node)});
    stack.push_back({grammar.graph.left[rule], below, -1});
  }
  trees.tree_ends.push_back(trees.box.size());
  trees.log_weight.push_back(log_weight);
}

template <class T>
void append_to(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

void Derivations::append(const Derivations& more) {
  const std::uint64_t n_nodes = box.size();
  for (const std::uint64_t end : more.tree_ends) tree_ends.push_back(n_nodes + end);
  append_to(log_weight, more.log_weight);
  append_to(box, more.box);
  append_to(feature, more.feature);
  append_to(lower, more.lower);
  append_to(upper, more.upper);
  append_to(right, more.right);
}

Derivations derive_best(const Graph& graph, const double* log_leaf, const Values& maxima, double log_split) {
  const Grammar grammar{graph, log_leaf, maxima, log_split};
  Derivations tree;
  derive(
      grammar, TestNumbers(graph.n_bins),
      [&](std::size_t box, std::size_t level) { return best_rule(grammar, box, level); }, tree);
  return tree;
}

Derivations derive_samples(const Graph& graph, const double* log_leaf, const Values& sums, double log_split,
                           std::uint64_t seed, std::size_t n, Workers& workers) {
  const Grammar grammar{graph, log_leaf, sums, log_split};
  const TestNumbers numbers(graph.n_bins);
  std::vector<Derivations> parts((n + kGrain - 1) / kGrain);
  workers.run_ranges(0, n, kGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      Random random(seed, i);
      const auto choose = [&](std::size_t box, std::size_t level) { return random_rule(grammar, box, level, random); };
      derive(grammar, numbers, choose, parts[begin / kGrain]);
    }
  });
  Derivations trees;
  for (const Derivations& part : parts) trees.append(part);
  return trees;
}

}  // namespace bcart
