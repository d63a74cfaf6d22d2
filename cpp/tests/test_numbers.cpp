#include "bcart/test_numbers.hpp"

#include <random>

#include "bcart/graph.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace bcart::check {
namespace {

// The tests that some box may make on a feature.
std::vector<Test> all_tests(std::uint32_t feature, std::size_t n_bins, Kind kind) {
  std::vector<Test> tests;
  const std::uint32_t first = kind == Kind::optional ? 1 : 0;
  if (kind == Kind::optional) tests.push_back({feature, Form::is_missing, 0, 0});
  for (std::uint32_t upper = first; upper < n_bins; ++upper) {
    if (kind == Kind::nominal) tests.push_back({feature, Form::equals, upper, upper});
    for (std::uint32_t lower = first; lower < upper && kind != Kind::nominal; ++lower) {
      tests.push_back({feature, Form::below, lower, upper});
      if (kind == Kind::numeric) continue;
      tests.push_back({feature, Form::missing_left, lower, upper});
      tests.push_back({feature, Form::missing_right, lower, upper});
    }
  }
  return tests;
}

void check_round_trip(const std::vector<std::size_t>& n_bins, std::vector<Kind> kinds = {}) {
  kinds.resize(n_bins.size(), Kind::numeric);
  const TestNumbers numbers(n_bins, kinds);
  std::vector<bool> is_used(numbers.size());
  std::size_t n_tests = 0;
  for (std::uint32_t f = 0; f < n_bins.size(); ++f) {
    for (const Test& test : all_tests(f, n_bins[f], kinds[f])) {
      const std::uint32_t number = numbers.number(test);
      CHECK(number < numbers.size());
      CHECK(numbers.test(number) == test);
      CHECK(!is_used[number]);
      is_used[number] = true;
      ++n_tests;
    }
  }
  CHECK_EQUAL(n_tests, numbers.size());
}

}  // namespace

TEST(every_test_has_a_number_of_its_own_and_every_number_a_test) {
  check_round_trip({2});
  check_round_trip({2, 2, 2});
  check_round_trip({10, 3, 7, 2});
  check_round_trip({255, 255, 2, 255});
  for (const Kind kind : {Kind::optional, Kind::nominal}) {
    check_round_trip({2}, {kind});
    check_round_trip({255}, {kind});
    check_round_trip({2, 3, 7}, {kind, kind, kind});
    check_round_trip({2, 3, 7}, {Kind::numeric, kind, Kind::numeric});
  }
}

TEST(features_of_one_bin_have_no_tests_unless_they_ask_for_the_code) {
  check_round_trip({1, 4, 1, 1, 3, 1});
  check_round_trip({1, 1, 1, 4, 1}, {Kind::nominal, Kind::optional, Kind::numeric, Kind::optional, Kind::nominal});
  CHECK_EQUAL(TestNumbers({1, 1}, {Kind::numeric, Kind::numeric}).size(), std::size_t{0});
}

TEST(random_grids) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i) {
    const std::vector<std::size_t> n_bins = random_bins(random, 1 + pick(random, 10), 30);
    check_round_trip(n_bins);
    check_round_trip(n_bins, random_kinds(random, n_bins.size()));
  }
}

TEST(codes_go_left_as_the_form_says) {
  for (const Kind kind : {Kind::numeric, Kind::optional, Kind::nominal}) {
    for (const Test& test : all_tests(0, 8, kind)) {
      const bool needs_known = kind == Kind::optional && test.form == Form::below;  // no box with it misses values
      for (std::uint32_t code = needs_known ? 1 : 0; code < 8; ++code) {
        CHECK_EQUAL(test.is_left(code), goes_left(test, code));
        CHECK_EQUAL(test.is_left(code), test.first() <= code && code <= test.lower);
      }
    }
  }
}

TEST(numbers_fit_into_two_bytes_where_there_are_few_and_into_four_where_there_are_many) {
  CHECK(TestArray(1 << 16).is_narrow());
  CHECK(!TestArray((1 << 16) + 1).is_narrow());
  for (const std::uint32_t n_tests : {1U << 16, (1U << 16) + 1, 1U << 31}) {
    TestArray array(n_tests);
    CHECK_EQUAL(array.bytes_each(), n_tests <= 1U << 16 ? 2U : 4U);
    array.resize(3);
    array.set(0, 0);
    array.set(1, n_tests - 1);
    array.set(2, n_tests / 2);
    array.shrink_to_fit();
    CHECK_EQUAL(array[0], 0U);
    CHECK_EQUAL(array[1], n_tests - 1);
    CHECK_EQUAL(array[2], n_tests / 2);
  }
}

TEST(more_tests_than_32_bits_can_number_are_refused) {
  const auto is_refused = [](std::size_t n_features, std::size_t n_bins, Kind kind) {
    try {
      const TestNumbers numbers(std::vector(n_features, n_bins), std::vector(n_features, kind));
      return false;
    } catch (const TooManyTests&) {
      return true;
    }
  };
  CHECK(is_refused(140'000, 256, Kind::numeric));
  CHECK(!is_refused(131'000, 256, Kind::numeric));  // times 32,640
  CHECK(is_refused(50'000, 256, Kind::optional));
  CHECK(!is_refused(140'000, 256, Kind::nominal));
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
