#include "bcart/sweep.hpp"

#include <algorithm>
#include <atomic>

#include "bcart/twigs.hpp"

namespace bcart {
namespace {

constexpr std::size_t kGrain = 1024;   // boxes for one thread to take
constexpr std::size_t kTogether = 16;  // boxes whose terms are worked on together
constexpr std::size_t kLookAhead = 16;

void prefetch_splits(const Graph& graph, std::size_t box) {
  const std::size_t last = graph.last_split(box);
  for (std::size_t split = graph.first_split[box]; split < last; split += kCacheLine / sizeof(BoxId)) {
    __builtin_prefetch(graph.left.data() + split);
    __builtin_prefetch(graph.right.data() + split);
  }
}

// The terms of some boxes, at all of their depths.
void collect_terms(const Grammar& grammar, std::size_t begin, std::size_t end, Terms& terms) {
  terms.ends.clear();
  terms.log_terms.clear();
  for (std::size_t box = begin; box < end; ++box) {
    prefetch_splits(grammar.graph, std::min(box + kLookAhead, grammar.graph.n_boxes() - 1));
    const std::size_t n_depths = grammar.depths.end(box) - grammar.depths.begin(box);
    for (std::size_t i = 0; i < n_depths; ++i) {
      grammar.append_terms(box, grammar.depths.first_depth(box) + i, terms.log_terms);
      terms.ends.push_back(terms.log_terms.size());
    }
  }
}

template <class Addition>
void add_up(const Grammar& grammar, std::size_t begin, std::size_t end, Terms& terms, double* values) {
  collect_terms(grammar, begin, end, terms);
  Addition::reduce(terms);
  double* place = values + grammar.stride * grammar.depths.begin(begin);
  for (std::size_t i = 0; i < terms.values.size(); ++i) place[grammar.stride * i] = terms.values[i];
}

// The values of boxes at the rim need no others. Large boxes take memory, so that few are added up at once.
template <class Addition>
void add_up_fold(const Grammar& grammar, double* values, Workers& workers) {
  if (grammar.fold == nullptr) return;
  const Graph& graph = grammar.graph;
  std::vector<std::size_t> rim;
  std::size_t largest = 1;
  for (std::size_t box = 0; box < graph.n_boxes(); ++box) {
    if (!grammar.has_rim(box)) continue;
    rim.push_back(box);
    largest = std::max<std::size_t>(largest, graph.n_cells[box]);
  }
  const std::size_t depth = *graph.last_depth();
  const std::size_t n_at_once = std::clamp<std::size_t>(kBoxesAtOnce * graph.n_cells[0] / largest, 1, workers.size());
  std::atomic<std::size_t> next = 0;
  workers.run(n_at_once, [&](std::size_t, std::size_t worker) {
    Steps steps(workers, worker);
    Twigs twigs(*grammar.fold, grammar.prior, grammar.leaf, depth, steps);
    std::vector<Cell> cells;
    for (std::size_t i = next++; i < rim.size(); i = next++) {
      grammar.fold->find_cells(rim[i], cells);
      const double log_leaf = grammar.log_leaf == nullptr ? 0 : grammar.log_leaf[rim[i]];
      const std::size_t place = grammar.stride * grammar.depths.place(rim[i], depth);
      values[place] = twigs.value<Addition>(cells, log_leaf);
      steps.checkpoint();
    }
  });
}

// One value of each place for each addition, side by side. A child has fewer cells than its parent, so boxes of equal
// cell count do not need each other.
template <class... Additions>
Array<double> sweep_side_by_side(const Grammar& given, Workers& workers) {
  constexpr std::size_t n = sizeof...(Additions);
  Array<double> values(n * given.depths.n_places());
  const auto for_each_addition = [&]<class Visit>(const Visit& visit) {
    Grammar grammar = given;
    grammar.stride = n;
    double* first = values.data();
    ((grammar.values = first, visit.template operator()<Additions>(grammar, first++)), ...);
  };
  for_each_addition(
      [&]<class Addition>(const Grammar& grammar, double* first) { add_up_fold<Addition>(grammar, first, workers); });
  std::vector<Terms> terms(workers.size());
  given.graph.for_each_size_upward([&](std::size_t first, std::size_t last) {
    workers.run_ranges(first, last, kGrain, [&](std::size_t begin, std::size_t end, std::size_t worker) {
      Steps steps(workers, worker);
      for (std::size_t box = begin; box < end; box += kTogether) {
        for_each_addition([&]<class Addition>(const Grammar& grammar, double* first_value) {
          add_up<Addition>(grammar, box, std::min(box + kTogether, end), terms[worker], first_value);
        });
        steps.add(terms[worker].log_terms.size());
      }
    });
  });
  return values;
}

}  // namespace

template <class Addition>
Array<double> sweep(const Grammar& grammar, Workers& workers) {
  return sweep_side_by_side<Addition>(grammar, workers);
}

template Array<double> sweep<LogSum>(const Grammar&, Workers&);
template Array<double> sweep<Maximum>(const Grammar&, Workers&);

SumsAndMaxima sweep_both(const Grammar& grammar, Workers& workers) {
  const Array<double> values = sweep_side_by_side<LogSum, Maximum>(grammar, workers);
  const std::size_t n = grammar.depths.n_places();
  SumsAndMaxima both{Array<double>(n), Array<double>(n)};
  workers.run_ranges(0, n, kGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t place = begin; place < end; ++place) {
      both.log_sums[place] = values[2 * place];
      both.maxima[place] = values[2 * place + 1];
    }
  });
  return both;
}

}  // namespace bcart
