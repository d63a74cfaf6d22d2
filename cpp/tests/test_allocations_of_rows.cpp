// Where the engine gets no memory while rows become codes and groups, it throws std::bad_alloc and goes on living.
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "bcart/add_up.hpp"
#include "bcart/encode.hpp"
#include "bcart/group.hpp"
#include "bcart/weigh.hpp"
#include "failing_allocations.hpp"
#include "problems.hpp"
#include "tables.hpp"

namespace bcart::check {
namespace {

constexpr std::size_t kRows = 40'000;  // so many numbers are a mapping of their own

// Calls ask(workers) with all kinds of failures; threads may fail to start, too.
template <class Ask>
void check_rows(const Ask& ask) {
  for (const Failing failing : {Failing::once, Failing::for_good}) {
    for (const std::size_t n_workers : {1, 3}) {
      check_answers(failing, [&] {
        Monitor monitor;
        Workers workers(n_workers, monitor);
        return ask(workers);
      });
    }
  }
}

// Numbers of many distinct values, some of them missing.
std::vector<double> some_numbers(std::size_t n) {
  std::mt19937_64 random(1);
  std::vector<double> numbers(n);
  for (double& x : numbers) x = pick(random, 50) == 0 ? std::nan("") : static_cast<double>(pick(random, 5000));
  return numbers;
}

template <class Code>
std::vector<Code> some_codes(std::size_t n, std::size_t n_codes) {
  std::mt19937_64 random(2);
  std::vector<Code> codes(n);
  for (Code& code : codes) code = static_cast<Code>(pick(random, n_codes));
  return codes;
}

template <class Code>
void check_groups(std::size_t n_features, std::size_t n_codes) {
  const std::vector<Code> codes = some_codes<Code>(kRows * n_features, n_codes);
  check_rows([&](Workers& workers) {
    const Groups groups = group_rows(codes.data(), kRows, n_features, workers);
    return Digest().add(groups.group_of).add(codes_of_groups(groups, codes.data(), n_features, workers));
  });
}

}  // namespace

TEST(codes_that_get_no_memory_are_a_bad_alloc) {
  const std::vector<double> numbers = some_numbers(kRows);
  const std::vector<std::vector<double>> cuts{{10, 20, 30}, {1000, 2000}};
  const std::vector<std::uint32_t> first_code{0, 1};
  check_rows([&](Workers& workers) {
    const Columns table = columns_of(numbers, cuts.size());
    Array<std::uint8_t> codes(numbers.size());
    encode(table, std::vector<Cuts>(cuts.begin(), cuts.end()), first_code, codes.data(), workers);
    return Digest().add(codes);
  });
}

TEST(surveys_that_get_no_memory_are_a_bad_alloc) {
  const std::vector<double> numbers = some_numbers(kRows);
  check_rows([&](Workers& workers) {
    Digest digest;
    for (const Extent& extent : survey(columns_of(numbers, 2), 6000, workers)) digest.add(extent.distinct);
    for (const Bounds& bounds : find_bounds(columns_of(numbers, 2), {{10, 20, 30}, {1000, 2000}}, workers)) {
      digest.add(bounds.lowest).add(bounds.highest);
    }
    return digest;
  });
}

TEST(columns_that_cannot_be_sorted_are_a_bad_alloc) {
  constexpr std::size_t n_rows = kRows / 2;  // whose numbers are no mapping, but with weights they are one
  const std::vector<double> numbers = some_numbers(n_rows), weights(n_rows, 0.5);
  for (const Column& weight : {Column{}, Column{weights.data(), 1}}) {
    check_rows([&](Workers& workers) {
      const WeighedNumbers found = weigh({numbers.data(), 1}, weight, n_rows, workers);
      return Digest().add(found.numbers).add(found.weights);
    });
  }
}

TEST(groups_that_get_no_memory_are_a_bad_alloc) {
  check_groups<std::uint8_t>(3, 10);       // as bits
  check_groups<std::uint8_t>(6, 256);      // in a table
  check_groups<std::uint16_t>(5, 65'536);  // in two steps
}

TEST(sums_that_get_no_memory_are_a_bad_alloc) {
  constexpr std::size_t n_groups = 7, n_labels = 3;
  const auto group_of = some_codes<Group>(kRows, n_groups);
  const auto labels = some_codes<std::int64_t>(kRows, n_labels);
  const std::vector<double> statistics(kRows * n_labels, 0.1);
  const double weight = 2;
  check_rows([&](Workers& workers) {
    std::vector<double> sums(n_groups * (n_labels + 1)), counts(sums.size());
    add_up(group_of.data(), n_groups, {kRows, n_labels, statistics.data(), {&weight, 0}}, sums.data(), workers);
    const Labelled<std::int64_t> rows{kRows, n_labels, labels.data(), {&weight, 0}};
    count_labels(group_of.data(), n_groups, rows, counts.data(), workers);
    return Digest().add(sums).add(counts);
  });
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
