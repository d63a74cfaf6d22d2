#include <algorithm>
#include <cmath>

#include "bcart/gamma.hpp"
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

TEST(rising_by_huge_numbers_is_finite) {
  for (const double a : {1e-300, 0.1, 3.0, 50.0}) {
    for (const double n : {1e29, 1e32, 1e60, 1e290}) {
      const long double expected = std::lgamma(static_cast<long double>(n)) - std::lgamma(static_cast<long double>(a));
      CHECK_CLOSE(log_rising(a, n), static_cast<double>(expected), 1e-14 * size_of(a, n));
    }
  }
}

TEST(rising_in_two_steps_is_rising_at_once) {
  for (const double a : {1e-300, 0.7, 12.0, 1e15, 1e300}) {
    CHECK_CLOSE(log_rising(a, 1.75), log_rising(a, 0.5) + log_rising(a + 0.5, 1.25), 1e-15 * size_of(a, 1.75));
  }
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

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
