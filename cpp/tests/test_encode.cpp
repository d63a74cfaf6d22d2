#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "bcart/encode.hpp"
#include "check.hpp"
#include "problems.hpp"
#include "tables.hpp"

namespace bcart::check {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Numbers of few or many distinct values, row by row, some of them missing.
std::vector<double> random_numbers(std::mt19937_64& random, std::size_t n, std::size_t n_distinct) {
  std::vector<double> numbers(n);
  for (double& x : numbers) x = pick(random, 50) == 0 ? kMissing : 0.25 * static_cast<double>(pick(random, n_distinct));
  return numbers;
}

// By the definition.
std::size_t count_not_above(const std::vector<double>& cuts, double x) {
  return static_cast<std::size_t>(std::count_if(cuts.begin(), cuts.end(), [x](double cut) { return cut <= x; }));
}

std::vector<std::vector<double>> random_cuts(std::mt19937_64& random, std::size_t n_columns, std::size_t most,
                                             std::size_t n_distinct) {
  std::vector<std::vector<double>> cuts(n_columns);
  for (std::vector<double>& column : cuts) {
    column = random_numbers(random, pick(random, most + 1), n_distinct);
    std::erase_if(column, [](double x) { return std::isnan(x); });
    std::sort(column.begin(), column.end());
  }
  return cuts;
}

// The same numbers column by column.
std::vector<double> transposed(const std::vector<double>& numbers, std::size_t n_columns) {
  std::vector<double> columns(numbers.size());
  const std::size_t n_rows = numbers.size() / n_columns;
  for (std::size_t i = 0; i < numbers.size(); ++i) columns[i % n_columns * n_rows + i / n_columns] = numbers[i];
  return columns;
}

// Whatever lies behind what in memory.
template <class Code>
void check_codes(std::size_t n_rows, std::size_t n_columns, std::size_t most_cuts, std::size_t n_workers) {
  std::mt19937_64 random(n_rows);
  std::vector<double> numbers = random_numbers(random, n_rows * n_columns, 300);
  for (std::size_t row = 0; row < n_rows; ++row) numbers[row * n_columns] = row % 2 == 0 ? kInfinity : -kInfinity;
  const auto cuts = random_cuts(random, n_columns, most_cuts, 300);
  std::vector<std::uint32_t> first_code(n_columns);
  for (std::uint32_t& code : first_code) code = static_cast<std::uint32_t>(pick(random, 2));
  std::vector<Code> codes(n_rows * n_columns);
  Monitor monitor;
  Workers workers(n_workers, monitor);
  const auto found = encode(columns_of(numbers, n_columns), std::vector<Cuts>(cuts.begin(), cuts.end()), first_code,
                            codes.data(), workers);
  std::vector<bool> is_missing(n_columns);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::size_t column = i % n_columns;
    if (std::isnan(numbers[i])) is_missing[column] = true;
    const std::size_t code =
        std::isnan(numbers[i]) ? 0 : first_code[column] + count_not_above(cuts[column], numbers[i]);
    CHECK_EQUAL(codes[i], static_cast<Code>(code));
  }
  for (std::size_t i = 0; i < n_columns; ++i) {
    CHECK_EQUAL(found[i].has_missing, bool{is_missing[i]});
    CHECK_EQUAL(found[i].has_infinite, i == 0 && n_rows > 0);
  }
  const std::vector<double> columns = transposed(numbers, n_columns);
  Columns table{n_rows, {}};
  for (std::size_t i = 0; i < n_columns; ++i) table.columns.push_back({columns.data() + i * n_rows, 1});
  std::vector<Code> codes_of_columns(codes.size());
  encode(table, std::vector<Cuts>(cuts.begin(), cuts.end()), first_code, codes_of_columns.data(), workers);
  CHECK(codes_of_columns == codes);
}

}  // namespace

TEST(a_code_counts_the_cuts_that_are_not_above_a_number) {
  for (const std::size_t n_workers : {1, 3}) {
    for (const std::size_t n_rows : {0, 1, 255, 256, 257, 10'000}) {
      for (const std::size_t n_columns : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17}) {
        for (const std::size_t most_cuts : {0, 1, 9, 20, 254}) {
          check_codes<std::uint8_t>(n_rows, n_columns, most_cuts, n_workers);
          check_codes<std::uint16_t>(n_rows, n_columns, most_cuts, n_workers);
        }
      }
    }
  }
}

TEST(any_number_of_cuts_parts_the_numbers) {
  std::vector<double> numbers(256), cuts;
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i) / 2;
  std::vector<std::int64_t> counts(numbers.size());
  for (int n_cuts = 0; n_cuts < 130; ++n_cuts) {
    Cuts(cuts).count(numbers.data(), numbers.size(), counts.data());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      CHECK_EQUAL(static_cast<std::size_t>(counts[i]), count_not_above(cuts, numbers[i]));
    }
    cuts.push_back(n_cuts);
  }
}

TEST(a_survey_lists_what_is_few_and_the_range_of_what_is_many) {
  std::mt19937_64 random(7);
  for (const std::size_t n_workers : {1, 4}) {
    for (const std::size_t n_distinct : {1, 2, 9, 10, 11, 12, 500}) {
      const std::vector<double> numbers = random_numbers(random, 30'000, n_distinct);
      std::set<double> known;
      for (const double x : numbers) {
        if (!std::isnan(x)) known.insert(x);
      }
      Monitor monitor;
      Workers workers(n_workers, monitor);
      const Extent extent = survey(columns_of(numbers, 1), 10, workers).front();
      CHECK(extent.has_missing);
      CHECK_EQUAL(extent.has_many, known.size() > 10);
      const std::vector<double> expected = extent.has_many ? std::vector<double>{*known.begin(), *known.rbegin()}
                                                           : std::vector<double>(known.begin(), known.end());
      CHECK(extent.distinct == expected);
    }
  }
}

TEST(a_column_without_numbers_has_no_distinct_one) {
  const std::vector<double> numbers(5, kMissing);
  Monitor monitor;
  Workers workers(1, monitor);
  const Extent extent = survey(columns_of(numbers, 1), 10, workers).front();
  CHECK(extent.has_missing && !extent.has_many && extent.distinct.empty());
}

TEST(zero_has_no_sign) {
  const std::vector<double> numbers = {-0.0, 0.0, -0.0};
  Monitor monitor;
  Workers workers(1, monitor);
  const Extent extent = survey(columns_of(numbers, 1), 10, workers).front();
  CHECK_EQUAL(extent.distinct.size(), 1U);
  CHECK(!std::signbit(extent.distinct[0]));
  const Bounds bounds = find_bounds(columns_of(numbers, 1), {{1.0}}, workers).front();
  CHECK(!std::signbit(bounds.lowest[0]) && !std::signbit(bounds.highest[0]));
}

TEST(bounds_are_the_extremes_between_cuts) {
  std::mt19937_64 random(8);
  constexpr std::size_t n_columns = 3;
  const std::vector<double> numbers = random_numbers(random, 30'000, 1000);
  const auto cuts = random_cuts(random, n_columns, 254, 1000);
  std::vector<Bounds> expected;
  for (const auto& column : cuts) {
    expected.push_back(
        {std::vector<double>(column.size() + 1, kInfinity), std::vector<double>(column.size() + 1, -kInfinity)});
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (std::isnan(numbers[i])) continue;
    Bounds& here = expected[i % n_columns];
    const std::size_t bin = count_not_above(cuts[i % n_columns], numbers[i]);
    here.lowest[bin] = std::min(here.lowest[bin], numbers[i]);
    here.highest[bin] = std::max(here.highest[bin], numbers[i]);
  }
  for (const std::size_t n_workers : {1, 3}) {
    Monitor monitor;
    Workers workers(n_workers, monitor);
    const auto found = find_bounds(columns_of(numbers, n_columns), cuts, workers);
    for (std::size_t i = 0; i < n_columns; ++i) {
      CHECK(found[i].lowest == expected[i].lowest);
      CHECK(found[i].highest == expected[i].highest);
    }
  }
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
