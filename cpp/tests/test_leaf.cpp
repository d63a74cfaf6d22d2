#include <algorithm>
#include <cmath>
#include <limits>

#include "bcart/leaf.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace bcart::check {
namespace {

// log of a (a + 1) ... (a + n - 1), factor by factor.
long double log_product(double a, int n) {
  long double sum = 0;
  for (int i = 0; i < n; ++i) sum += std::log(static_cast<long double>(a) + i);
  return sum;
}

// What is added up on the way: rounding is a few units in the last place of this.
double size_of(double a, double n) { return 10 + n * (1 + std::log(a + n + 1)) + std::abs(std::log(a)); }

double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

}  // namespace

TEST(rising_factorials_of_whole_numbers_are_products) {
  std::mt19937_64 random(1);
  for (const double a : {5e-324, 1e-300, 1e-20, 1e-8, 0.3, 1.0, 2.5, 9.5, 10.0, 11.0, 1e3, 1e8, 1e16, 1e100, 1e300}) {
    for (const int n : {0, 1, 2, 3, 7, 10, 100, 5000}) {
      CHECK_CLOSE(log_rising(a, n), static_cast<double>(log_product(a, n)), 4e-16 * size_of(a, n));
    }
  }
  for (int i = 0; i < 500; ++i) {
    const double a = std::exp(40 * (uniform(random) - 0.5));
    const int n = static_cast<int>(pick(random, 300));
    CHECK_CLOSE(log_rising(a, n), static_cast<double>(log_product(a, n)), 4e-16 * size_of(a, n));
  }
}

TEST(rising_factorials_of_fractions_are_ratios_of_gamma_functions) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 2'000; ++i) {
    const double a = std::exp(10 * (uniform(random) - 0.5));
    const double n = std::exp(20 * (uniform(random) - 0.5));
    const long double expected =
        std::lgamma(static_cast<long double>(a) + n) - std::lgamma(static_cast<long double>(a));
    CHECK_CLOSE(log_rising(a, n), static_cast<double>(expected), 4e-16 * size_of(a, n));
  }
}

TEST(rising_in_two_steps_is_rising_at_once) {
  for (const double a : {1e-300, 0.7, 12.0, 1e15, 1e300}) {
    CHECK_CLOSE(log_rising(a, 1.75), log_rising(a, 0.5) + log_rising(a + 0.5, 1.25), 1e-15 * size_of(a, 1.75));
  }
}

TEST(a_dirichlet_leaf_is_a_product_over_its_classes) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) {
    const std::size_t n_classes = 1 + pick(random, 5);
    std::vector<double> alpha;
    std::vector<double> counts;
    long double expected = 0;
    double total_alpha = 0;
    int n = 0;
    for (std::size_t c = 0; c < n_classes; ++c) {
      alpha.push_back(0.25 * static_cast<double>(1 + pick(random, 20)));
      const int count = static_cast<int>(pick(random, i % 3 == 0 ? 5000 : 10));  // in and beyond the table
      counts.push_back(count);
      expected += log_product(alpha.back(), count);
      total_alpha += alpha.back();
      n += count;
    }
    expected -= log_product(total_alpha, n);
    const DirichletLeaf leaf(alpha);
    CHECK_EQUAL(leaf.n_statistics(), n_classes);
    CHECK_CLOSE(leaf.log_marginal(counts.data()), static_cast<double>(expected), 1e-15 * size_of(total_alpha, n));
  }
}

TEST(sequences_of_given_counts_have_probabilities_that_sum_to_one) {
  const DirichletLeaf leaf({0.3, 1.7});
  double sum = 0;
  double n_sequences = 1;
  for (int k = 0; k <= 20; ++k) {
    const double counts[] = {static_cast<double>(k), static_cast<double>(20 - k)};
    sum += n_sequences * std::exp(leaf.log_marginal(counts));
    n_sequences = n_sequences * (20 - k) / (k + 1);
  }
  CHECK_CLOSE(sum, 1.0, 1e-13);
}

// log of B(a + m, b + n) / B(a, b) for whole m and n, factor by factor: one more count at a time.
long double log_beta_product(double a, double b, int m, int n) {
  long double sum = 0;
  for (int i = 0; i < m; ++i)
    sum += std::log((static_cast<long double>(a) + i) / (static_cast<long double>(a) + b + i));
  for (int i = 0; i < n; ++i) {
    sum += std::log((static_cast<long double>(b) + i) / (static_cast<long double>(a) + b + m + i));
  }
  return sum;
}

TEST(large_counts_of_one_class_leave_the_digits_of_the_other) {
  for (const double a : {1e-300, 1e-8, 0.5, 1.0, 30.0, 1e8, 1e300}) {
    for (const double b : {1e-8, 0.5, 1.0, 30.0, 1e8}) {
      for (const int m : {0, 1, 10, 100'000}) {
        for (const int n : {0, 1, 10, 5'000}) {
          const double expected = static_cast<double>(log_beta_product(a, b, m, n));
          // The shortest way to write it adds up terms for so many counts.
          const double n_terms = std::min({m + n + 0.0, b + n, a + m});
          const double size = 10 + std::abs(expected) + n_terms * (1 + std::log(a + b + m + n)) + std::abs(std::log(a));
          CHECK_CLOSE(log_beta_ratio(a, b, m, n), expected, 1e-15 * size);
          CHECK_CLOSE(log_beta_ratio(b, a, n, m), expected, 1e-15 * size);
        }
      }
    }
  }
}

TEST(many_rows_at_once_give_what_each_gives_alone) {
  std::mt19937_64 random(4);
  const DirichletLeaf leaf({0.5, 1.0, 2.0});
  constexpr std::size_t kRows = 30'000;
  std::vector<double> counts(3 * kRows);
  for (double& count : counts) count = 0.5 * static_cast<double>(pick(random, 50));
  for (const std::size_t n_workers : {1, 3}) {
    Monitor monitor;
    Workers workers(n_workers, monitor);
    std::vector<double> result(kRows, std::numeric_limits<double>::quiet_NaN());
    leaf.log_marginals(counts.data(), kRows, result.data(), workers);
    bool is_same = true;
    for (std::size_t i = 0; i < kRows; ++i) is_same = is_same && result[i] == leaf.log_marginal(&counts[3 * i]);
    CHECK(is_same);
  }
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
