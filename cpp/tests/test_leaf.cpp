#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "bcart/leaf.hpp"
#include "bcart/registry.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace bcart::check {
namespace {

std::unique_ptr<LeafModel> make_leaf(const std::string& name, const std::vector<double>& parameters) {
  return Registered<LeafModel>::make(name, parameters);
}

double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// log of a (a + 1) ... (a + n - 1), factor by factor.
long double log_product(double a, int n) {
  long double sum = 0;
  for (int i = 0; i < n; ++i) sum += std::log(static_cast<long double>(a) + i);
  return sum;
}

// The trapezoid rule, which for smooth functions that vanish at both ends is good to all digits.
long double integral(long double from, long double to, int n_steps,
                     const std::function<long double(long double)>& function) {
  const long double step = (to - from) / n_steps;
  long double sum = 0;
  for (int i = 0; i <= n_steps; ++i) sum += function(from + step * i);
  return sum * step;
}

struct Target {
  double value;
  double weight;
};

std::vector<Target> random_targets(std::mt19937_64& random, std::size_t n, bool is_count) {
  std::vector<Target> targets;
  for (std::size_t i = 0; i < n; ++i) {
    const double value = is_count ? static_cast<double>(pick(random, 6)) : 4 * uniform(random) - 1;
    targets.push_back({value, 0.25 * static_cast<double>(1 + pick(random, 8))});
  }
  return targets;
}

std::vector<double> normal_statistics(const std::vector<Target>& targets, double centre = 0) {
  std::vector<double> statistics(3, 0.0);
  for (const auto& [value, weight] : targets) {
    statistics[0] += weight;
    statistics[1] += weight * (value - centre);
    statistics[2] += weight * (value - centre) * (value - centre);
  }
  return statistics;
}

std::vector<double> poisson_statistics(const std::vector<Target>& targets) {
  std::vector<double> statistics(3, 0.0);
  for (const auto& [value, weight] : targets) {
    statistics[0] += weight;
    statistics[1] += weight * value;
    statistics[2] += weight * std::lgamma(value + 1);
  }
  return statistics;
}

constexpr long double kPi = std::numbers::pi_v<long double>;

// Integrals over mean and variance of f(mean, variance) times prior times likelihood.
struct NormalIntegral {
  long double m, k, a, b;
  std::vector<Target> targets;

  long double operator()(const std::function<long double(long double, long double)>& f) const {
    long double weight = k;
    long double middle = k * m;
    for (const Target& target : targets) {
      weight += target.weight;
      middle += static_cast<long double>(target.weight) * target.value;
    }
    middle /= weight;  // any other would do, this needs the fewest steps
    return integral(-12, 40, 1040, [&](long double log_variance) {
      const long double variance = std::exp(log_variance);
      const long double width = std::sqrt(variance / weight);
      return integral(-14, 14, 112, [&](long double z) {
        const long double mean = middle + width * z;
        long double log_density = a * std::log(b) - std::lgamma(a) - (a + 1) * log_variance - b / variance +
                                  log_normal(m, mean, variance / k);
        for (const Target& target : targets) log_density += target.weight * log_normal(target.value, mean, variance);
        return f(mean, variance) * std::exp(log_density) * width * variance;
      });
    });
  }
  static long double log_normal(long double x, long double mean, long double variance) {
    return -(x - mean) * (x - mean) / (2 * variance) - std::log(2 * kPi * variance) / 2;
  }
};

// The product of Student's densities of each target, given those before it.
long double chain_of_normals(long double m, long double k, long double a, long double b,
                             const std::vector<Target>& targets) {
  long double sum = 0;
  for (const Target& target : targets) {
    const long double square = (target.value - m) * (target.value - m);
    const long double scale = b * (k + 1) / (a * k);
    sum += std::lgamma(a + 0.5L) - std::lgamma(a) - std::log(2 * a * kPi * scale) / 2 -
           (a + 0.5L) * std::log1p(square / (2 * a * scale));
    b += k * square / (2 * (k + 1));
    m = (k * m + target.value) / (k + 1);
    k += 1;
    a += 0.5L;
  }
  return sum;
}

// The product of negative binomial probabilities of each count, given those before it.
long double chain_of_counts(long double shape, long double rate, const std::vector<Target>& targets) {
  long double sum = 0;
  for (const Target& target : targets) {
    const long double y = target.value;
    sum += std::lgamma(shape + y) - std::lgamma(shape) - std::lgamma(y + 1) + shape * std::log(rate / (rate + 1)) -
           y * std::log(rate + 1);
    shape += y;
    rate += 1;
  }
  return sum;
}

void make_weights_one(std::vector<Target>& targets) {
  for (Target& target : targets) target.weight = 1;
}

}  // namespace

TEST(unknown_families_and_missing_parameters_are_refused) {
  CHECK_THROWS(make_leaf("cauchy", {1.0}), std::out_of_range);
  CHECK_THROWS(make_leaf("", {}), std::out_of_range);
  CHECK_THROWS(make_leaf("leaf-count", {1.0}), std::out_of_range);  // a prior
  CHECK_THROWS(make_leaf("normal", {0.0, 1.0, 1.0}), std::out_of_range);
  CHECK_THROWS(make_leaf("poisson", {1.0}), std::out_of_range);
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
    const auto leaf = make_leaf("dirichlet", alpha);
    CHECK_EQUAL(leaf->n_statistics(), n_classes);
    CHECK_EQUAL(leaf->n_outputs(), n_classes);
    CHECK_CLOSE(leaf->log_marginal(counts.data()), static_cast<double>(expected),
                1e-15 * (10 + n * (1 + std::log(total_alpha + n + 1))));
  }
}

TEST(sequences_of_given_counts_have_probabilities_that_sum_to_one) {
  const auto leaf = make_leaf("dirichlet", {0.3, 1.7});
  double sum = 0;
  double n_sequences = 1;
  for (int k = 0; k <= 20; ++k) {
    const double counts[] = {static_cast<double>(k), static_cast<double>(20 - k)};
    sum += n_sequences * std::exp(leaf->log_marginal(counts));
    n_sequences = n_sequences * (20 - k) / (k + 1);
  }
  CHECK_CLOSE(sum, 1.0, 1e-13);
}

// Of two classes: integrals over the probability of the first.
TEST(a_dirichlet_leaf_has_the_moments_of_its_posterior) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 30; ++i) {
    const std::vector<double> alpha{0.5 + uniform(random), 0.5 + 2 * uniform(random)};
    const double counts[] = {0.5 * static_cast<double>(pick(random, 9)), static_cast<double>(pick(random, 9))};
    const auto mean_of = [&](const std::function<long double(long double)>& f) {
      return integral(-90, 90, 1800, [&](long double logit) {
        const long double p = 1 / (1 + std::exp(-logit));
        const long double q = 1 / (1 + std::exp(logit));
        return f(p) * std::exp((counts[0] + alpha[0]) * std::log(p) + (counts[1] + alpha[1]) * std::log(q));
      });
    };
    const long double total = mean_of([](long double) { return 1; });
    const long double mean = mean_of([](long double p) { return p; }) / total;
    const long double variance = mean_of([&](long double p) { return (p - mean) * (p - mean); }) / total;
    const long double noise = mean_of([](long double p) { return p * (1 - p); }) / total;
    Moments classes[2];
    make_leaf("dirichlet", alpha)->moments(counts, classes);
    CHECK_CLOSE(classes[0].mean, static_cast<double>(mean), 1e-14);
    CHECK_CLOSE(classes[1].mean, static_cast<double>(1 - mean), 1e-14);
    for (const Moments& moments : classes) {
      CHECK_CLOSE(moments.variance, static_cast<double>(variance), 1e-14);
      CHECK_CLOSE(moments.noise, static_cast<double>(noise), 1e-14);
    }
  }
}

TEST(a_normal_leaf_is_an_integral_over_means_and_variances) {
  std::mt19937_64 random(6);
  for (std::size_t i = 0; i < 6; ++i) {
    const NormalIntegral all{uniform(random), 0.1 + uniform(random), 1 + uniform(random), 0.2 + uniform(random),
                             random_targets(random, i, false)};
    const auto leaf = make_leaf("normal", {static_cast<double>(all.m), static_cast<double>(all.k),
                                           static_cast<double>(all.a), static_cast<double>(all.b)});
    const std::vector<double> statistics = normal_statistics(all.targets);
    const long double total = all([](long double, long double) { return 1; });
    CHECK_CLOSE(leaf->log_marginal(statistics.data()), static_cast<double>(std::log(total)), 1e-12);
    if (all.a + statistics[0] / 2 < 1.8) continue;  // the tail is too heavy to sum up
    const long double mean = all([](long double m, long double) { return m; }) / total;
    const long double variance = all([&](long double m, long double) { return (m - mean) * (m - mean); }) / total;
    const long double noise = all([](long double, long double v) { return v; }) / total;
    Moments output;
    leaf->moments(statistics.data(), &output);
    CHECK_CLOSE(output.mean, static_cast<double>(mean), 1e-10);
    CHECK_CLOSE(output.variance, static_cast<double>(variance), 1e-9);
    CHECK_CLOSE(output.noise, static_cast<double>(noise), 1e-9);
  }
}

TEST(a_normal_leaf_predicts_one_target_after_the_other) {
  std::mt19937_64 random(7);
  for (std::size_t n = 0; n < 200; n = n * 3 / 2 + 1) {
    std::vector<Target> targets = random_targets(random, n, false);
    make_weights_one(targets);
    for (const double k : {1e-6, 0.5, 100.0}) {
      for (const double b : {1e-3, 2.0}) {
        const auto leaf = make_leaf("normal", {0.5, k, 1.5, b});
        const auto expected = static_cast<double>(chain_of_normals(0.5, k, 1.5, b, targets));
        CHECK_CLOSE(leaf->log_marginal(normal_statistics(targets).data()), expected, 1e-13 * (10 + std::abs(expected)));
      }
    }
  }
}

TEST(targets_far_from_zero_lose_nothing_when_they_are_counted_from_a_centre) {
  std::mt19937_64 random(8);
  for (const double centre : {1e9, 1e9 + 0.75, -1e9}) {
    std::vector<Target> targets = random_targets(random, 100, false);
    make_weights_one(targets);
    for (Target& target : targets) target.value += centre - 0.5;
    const double mean = centre + 2;
    const auto leaf = make_leaf("normal", {mean - centre, 0.25, 1.5, 2});
    const auto expected = static_cast<double>(chain_of_normals(mean, 0.25, 1.5, 2, targets));
    const std::vector<double> statistics = normal_statistics(targets, centre);
    CHECK_CLOSE(leaf->log_marginal(statistics.data()), expected, 1e-7);
    Moments output;
    leaf->moments(statistics.data(), &output);
    long double sum = 0.25L * mean;
    for (const Target& target : targets) sum += target.value;
    CHECK_CLOSE(output.mean, static_cast<double>(sum / 100.25L - centre), 1e-9);
  }
}

TEST(targets_that_are_all_alike_leave_the_prior_scale) {
  const auto leaf = make_leaf("normal", {0.1, 0.5, 2, 3});
  for (const double n : {1.0, 10.0, 1e6}) {
    const double statistics[] = {n, 0.1 * n, 0.1 * 0.1 * n};
    Moments output;
    leaf->moments(statistics, &output);
    CHECK_CLOSE(output.mean, 0.1, 1e-14);
    CHECK_CLOSE(output.noise, 3 / (1 + n / 2), 1e-14);
    CHECK_CLOSE(output.variance, output.noise / (n + 0.5), 1e-14);
  }
}

TEST(without_a_second_moment_the_noise_is_infinite) {
  const double infinite = std::numeric_limits<double>::infinity();
  const auto leaf = make_leaf("normal", {0, 1, 0.5, 1});
  Moments output;
  const double one[] = {1, 0, 0};  // the shape is 1 now
  leaf->moments(one, &output);
  CHECK(output.noise == infinite && output.variance == infinite && output.mean == 0);
  const double three[] = {3, 0, 0};
  leaf->moments(three, &output);
  CHECK_CLOSE(output.noise, 1.0, 1e-15);
}

TEST(a_poisson_leaf_is_an_integral_over_rates) {
  std::mt19937_64 random(9);
  for (std::size_t i = 0; i < 30; ++i) {
    const double shape = 0.5 + 2 * uniform(random);
    const double rate = 0.1 + 2 * uniform(random);
    const std::vector<Target> targets = random_targets(random, i % 8, true);
    const auto mean_of = [&](const std::function<long double(long double)>& f) {
      return integral(-80, 8, 1760, [&](long double log_mean) {
        const long double mean = std::exp(log_mean);
        long double log_density = shape * std::log(static_cast<long double>(rate)) -
                                  std::lgamma(static_cast<long double>(shape)) + shape * log_mean - rate * mean;
        for (const auto& [value, weight] : targets) {
          log_density += weight * (value * log_mean - mean - std::lgamma(static_cast<long double>(value) + 1));
        }
        return f(mean) * std::exp(log_density);
      });
    };
    const auto leaf = make_leaf("poisson", {shape, rate});
    const std::vector<double> statistics = poisson_statistics(targets);
    const long double total = mean_of([](long double) { return 1; });
    const long double mean = mean_of([](long double x) { return x; }) / total;
    const long double variance = mean_of([&](long double x) { return (x - mean) * (x - mean); }) / total;
    CHECK_CLOSE(leaf->log_marginal(statistics.data()), static_cast<double>(std::log(total)), 1e-12);
    Moments output;
    leaf->moments(statistics.data(), &output);
    CHECK_CLOSE(output.mean, static_cast<double>(mean), 1e-12 * (1 + output.mean));
    CHECK_CLOSE(output.variance, static_cast<double>(variance), 1e-12 * (1 + output.variance));
    CHECK_EQUAL(output.noise, output.mean);  // the variance of counts is their rate
  }
}

TEST(a_poisson_leaf_of_a_rate_that_is_nothing_beside_the_rows_is_finite) {
  const double zeros[] = {1e30, 0, 0};
  const double expected = std::log(1e-300) - std::log(1e30);
  CHECK_CLOSE(make_leaf("poisson", {1, 1e-300})->log_marginal(zeros), expected, 1e-12);
  CHECK_CLOSE(make_leaf("poisson", {1e-300, 1e-300})->log_marginal(zeros), 1e-300 * expected, 1e-312);
}

TEST(a_poisson_leaf_predicts_one_count_after_the_other) {
  std::mt19937_64 random(10);
  for (std::size_t n = 0; n < 200; n = n * 3 / 2 + 1) {
    std::vector<Target> targets = random_targets(random, n, true);
    make_weights_one(targets);
    if (n % 2 == 0 && n > 0) targets[0].value = 100'000;
    for (const double shape : {1e-3, 0.5, 20.0}) {
      for (const double rate : {1e-4, 1.0, 50.0}) {
        const auto expected = static_cast<double>(chain_of_counts(shape, rate, targets));
        const std::vector<double> statistics = poisson_statistics(targets);
        // A sum of counts times its logarithm is what is added up.
        const double size = 10 + std::abs(expected) + statistics[1] * std::log(statistics[1] + 2);
        CHECK_CLOSE(make_leaf("poisson", {shape, rate})->log_marginal(statistics.data()), expected, 2e-15 * size);
      }
    }
  }
}

TEST(an_empty_leaf_says_nothing) {
  const double nothing[] = {0, 0, 0};
  CHECK_EQUAL(make_leaf("normal", {1, 2, 3, 4})->log_marginal(nothing), 0.0);
  CHECK_EQUAL(make_leaf("poisson", {1, 2})->log_marginal(nothing), 0.0);
  CHECK_EQUAL(make_leaf("dirichlet", {1, 2, 3})->log_marginal(nothing), 0.0);
}

TEST(many_rows_at_once_give_what_each_gives_alone) {
  std::mt19937_64 random(4);
  const auto leaf = make_leaf("dirichlet", {0.5, 1.0, 2.0});
  constexpr std::size_t kRows = 30'000;
  std::vector<double> counts(3 * kRows);
  for (double& count : counts) count = 0.5 * static_cast<double>(pick(random, 50));
  for (const std::size_t n_workers : {1, 3}) {
    Monitor monitor;
    Workers workers(n_workers, monitor);
    std::vector<double> result(kRows, std::numeric_limits<double>::quiet_NaN());
    leaf->log_marginals(counts.data(), kRows, result.data(), workers);
    bool is_same = true;
    for (std::size_t i = 0; i < kRows; ++i) is_same = is_same && result[i] == leaf->log_marginal(&counts[3 * i]);
    CHECK(is_same);
  }
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
