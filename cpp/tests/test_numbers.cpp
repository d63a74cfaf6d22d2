#include "bcart/test_numbers.hpp"

#include <random>

#include "bcart/graph.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace bcart::check {
namespace {

void check_round_trip(const std::vector<std::size_t>& n_bins) {
  const TestNumbers numbers(n_bins);
  std::vector<bool> is_used(numbers.size());
  std::size_t n_tests = 0;
  for (std::uint32_t f = 0; f < n_bins.size(); ++f) {
    for (std::uint32_t upper = 1; upper < n_bins[f]; ++upper) {
      for (std::uint32_t lower = 0; lower < upper; ++lower, ++n_tests) {
        const Test test{f, lower, upper};
        const std::uint32_t number = numbers.number(test);
        CHECK(number < numbers.size());
        CHECK(numbers.test(number) == test);
        CHECK(!is_used[number]);
        is_used[number] = true;
      }
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
}

TEST(features_of_one_bin_have_no_tests) {
  check_round_trip({1, 4, 1, 1, 3, 1});
  CHECK_EQUAL(TestNumbers({1, 1}).size(), std::size_t{0});
}

TEST(random_grids) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i) {
    std::vector<std::size_t> n_bins(1 + pick(random, 10));
    for (std::size_t& n : n_bins) n = 1 + pick(random, 30);
    check_round_trip(n_bins);
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

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
