#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "bcart/weigh.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace bcart::check {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// By the definition.
std::map<double, double> sums_of(const std::vector<double>& numbers, const std::vector<double>& weights) {
  std::map<double, double> sums;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isnan(numbers[i])) sums[numbers[i]] += weights[i];
  }
  return sums;
}

void check_weighed(const WeighedNumbers& found, const std::map<double, double>& expected) {
  CHECK_EQUAL(found.numbers.size(), expected.size());
  CHECK_EQUAL(found.weights.size(), expected.size());
  for (std::size_t i = 0; const auto& [number, weight] : expected) {
    CHECK_EQUAL(found.numbers[i], number);
    CHECK(!std::signbit(found.numbers[i]) || number < 0);
    CHECK_EQUAL(found.weights[i], weight);
    ++i;
  }
}

void check_both_ways(const std::vector<double>& numbers, const std::vector<double>& weights) {
  Monitor monitor;
  Workers workers(1, monitor);
  const Column column{numbers.data(), 1};
  check_weighed(weigh(column, {weights.data(), 1}, numbers.size(), workers), sums_of(numbers, weights));
  const std::vector<double> ones(numbers.size(), 1.0);
  check_weighed(weigh(column, {}, numbers.size(), workers), sums_of(numbers, ones));
}

std::vector<double> random_weights(std::mt19937_64& random, std::size_t n) {
  std::vector<double> weights(n);
  for (double& weight : weights) weight = std::uniform_real_distribution<>(0.1, 3.0)(random);
  return weights;
}

}  // namespace

TEST(numbers_of_every_size_and_sign_are_weighed_in_order) {
  std::mt19937_64 random(1);
  for (const std::size_t n : {0, 1, 2, 50, 3'000, 200'000}) {
    std::vector<double> numbers(n);
    for (double& x : numbers)
      x = std::normal_distribution<>()(random) * std::pow(10.0, std::uniform_real_distribution<>(-300, 300)(random));
    check_both_ways(numbers, random_weights(random, n));
  }
}

TEST(few_distinct_numbers_add_up_the_weights_of_their_rows_in_order) {
  std::mt19937_64 random(2);
  std::vector<double> numbers(10'000);
  for (double& x : numbers) x = pick(random, 9) == 0 ? kMissing : static_cast<double>(pick(random, 30)) - 12.5;
  check_both_ways(numbers, random_weights(random, numbers.size()));
}

TEST(zeros_infinities_and_missing_numbers_are_where_they_belong) {
  const double least = std::numeric_limits<double>::denorm_min();
  const std::vector<double> numbers = {0.0, -kInfinity, kMissing, -0.0, least, kInfinity, -least, -1.0, -kMissing};
  check_both_ways(numbers, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  check_both_ways({kMissing, kMissing}, {1, 2});
}

TEST(columns_are_read_where_they_lie) {
  const std::vector<double> table = {3, 0.5, 1, 0.25, 3, 2};
  Monitor monitor;
  Workers workers(1, monitor);
  check_weighed(weigh({table.data(), 2}, {table.data() + 1, 2}, 3, workers), {{1, 0.25}, {3, 2.5}});
  check_weighed(weigh({table.data() + 4, -2}, {}, 3, workers), {{1, 1}, {3, 2}});
}

TEST(weighing_ends_at_a_deadline) {
  const std::vector<double> numbers(1'000'000, 1.0);
  Monitor monitor;
  Workers workers(1, monitor, Clock::now() - std::chrono::seconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // it is looked at now and then only
  CHECK_THROWS(weigh({numbers.data(), 1}, {}, numbers.size(), workers), DeadlinePassed);
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
