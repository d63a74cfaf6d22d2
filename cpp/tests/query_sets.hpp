// Queries that own their data, and the way that a query takes by the definition.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "bcart/queries.hpp"
#include "grammars.hpp"

namespace bcart::check {

struct QuerySet {
  std::size_t n_features = 0;
  std::vector<std::uint32_t> positions;
  std::vector<std::uint32_t> feature;
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> last;
  std::vector<std::uint8_t> has_learned_missing;
  std::vector<double> weight_of;

  std::size_t size() const { return positions.size() / n_features; }

  // Some queries of the set, or all.
  Queries some(std::size_t first_query, std::size_t n) const {
    return {n,
            n_features,
            positions.data() + first_query * n_features,
            first.size(),
            feature.data(),
            first.data(),
            last.data(),
            has_learned_missing.data(),
            weight_of.empty() ? nullptr : weight_of.data()};
  }
  Queries all() const { return some(0, size()); }

  // Where a query goes from a box that makes a split.
  std::size_t follow(std::size_t query, const PlainGrammar::Children& split, const TestNumbers& numbers,
                     const PlainGrammar& grammar) const {
    const std::uint32_t test = numbers.number(split.test);
    const std::uint32_t position = positions[query * n_features + split.test.feature];
    bool is_left = first[test] <= position && position <= last[test];
    if (position == 0 && has_learned_missing[test] == 0) {
      is_left = grammar.weight(split.left) >= grammar.weight(split.right);
    }
    return is_left ? split.left : split.right;
  }
};

inline std::vector<double> weights_of(const PlainGrammar& grammar) {
  std::vector<double> weights;
  for (std::size_t box = 0; box < grammar.n_boxes(); ++box) weights.push_back(grammar.weight(box));
  return weights;
}

// Any positions, and tests that send any interval of them left: what they mean is not for the core to know.
inline QuerySet random_queries(std::mt19937_64& random, const Problem& problem, const PlainGrammar& grammar,
                               std::size_t n, bool has_missing = true) {
  constexpr std::size_t kPositions = 5;
  QuerySet set;
  set.n_features = problem.n_features;
  for (std::size_t i = 0; i < n * problem.n_features; ++i) {
    const auto position = static_cast<std::uint32_t>((has_missing ? 0 : 1) + pick(random, kPositions));
    set.positions.push_back(pick(random, 10) == 0 ? std::numeric_limits<std::uint32_t>::max() : position);
  }
  const TestNumbers numbers(problem.n_bins, problem.kinds);
  for (std::uint32_t test = 0; test < numbers.size(); ++test) {
    set.feature.push_back(numbers.test(test).feature);
    set.first.push_back(static_cast<std::uint32_t>(pick(random, 3)));
    set.last.push_back(set.first.back() + static_cast<std::uint32_t>(pick(random, kPositions)));
    set.has_learned_missing.push_back(static_cast<std::uint8_t>(pick(random, 2)));
  }
  if (has_missing) set.weight_of = weights_of(grammar);
  return set;
}

// Each cell asks about itself: a position stands for a code.
inline QuerySet cells_as_queries(const Problem& problem, const PlainGrammar& grammar) {
  QuerySet set;
  set.n_features = problem.n_features;
  const auto shift = [&](std::size_t f) { return problem.kinds[f] == Kind::optional ? 0U : 1U; };
  for (Cell cell = 0; cell < problem.n_cells(); ++cell) {
    for (std::size_t f = 0; f < problem.n_features; ++f) set.positions.push_back(problem.code(cell, f) + shift(f));
  }
  const TestNumbers numbers(problem.n_bins, problem.kinds);
  for (std::uint32_t number = 0; number < numbers.size(); ++number) {
    const Test test = numbers.test(number);
    set.feature.push_back(test.feature);
    set.first.push_back(test.first() + shift(test.feature));
    set.last.push_back(test.lower + shift(test.feature));
    set.has_learned_missing.push_back(test.form != Form::below);
  }
  set.weight_of = weights_of(grammar);
  return set;
}

// The expectation of f over the boxes where a query ends, as the recursion is written.
class Expectation {
 public:
  using Function = std::function<long double(std::size_t box)>;

  Expectation(PlainGrammar& grammar, const TestNumbers& numbers, const QuerySet& queries, std::size_t query, Function f)
      : grammar_(grammar), numbers_(numbers), queries_(queries), query_(query), f_(std::move(f)) {}

  long double operator()(std::size_t box = 0, std::size_t depth = 0) {
    const auto known = values_.find({box, depth});
    if (known != values_.end()) return known->second;
    const std::vector<long double> rules = grammar_.rules(box, depth);
    const std::vector<PlainGrammar::Children>& splits = grammar_.splits(box, depth);
    long double sum = rules[0] * f_(box);
    for (std::size_t i = 0; i < splits.size(); ++i) {
      sum += rules[i + 1] * (*this)(queries_.follow(query_, splits[i], numbers_, grammar_), depth + 1);
    }
    return values_[{box, depth}] = sum;
  }

 private:
  PlainGrammar& grammar_;
  const TestNumbers& numbers_;
  const QuerySet& queries_;
  std::size_t query_;
  Function f_;
  std::map<std::pair<std::size_t, std::size_t>, long double> values_;
};

}  // namespace bcart::check
