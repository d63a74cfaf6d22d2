#include "bcart/leaf.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace bcart {
namespace {

constexpr std::size_t kTableSize = 4096;  // counts below it are looked up, if they are whole
constexpr std::size_t kGrain = 8192;
constexpr int kShift = 10;  // Stirling's series below is exact to double precision from here on

// What Stirling's formula leaves out of log Gamma(x), for x >= kShift.
double stirling_rest(double x) {
  const double y = 1 / (x * x);
  return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188 - y * 691.0 / 360360))))) / x;
}

// log(x (x + 1) ... (x + kShift - 1)), for x up to 1e30.
double log_product(double x) {
  double product = 1;
  for (int i = 0; i < kShift; ++i) product *= x + i;
  return std::log(product);
}

}  // namespace

double log_rising(double a, double n) {
  if (n == 0) return 0;
  if (a < kShift) {  // Gamma(x) = Gamma(x + kShift) / (x (x + 1) ... (x + kShift - 1))
    return log_rising(a + kShift, n) - (log_product(a + n) - log_product(a));
  }
  return (a - 0.5) * std::log1p(n / a) + n * (std::log(a + n) - 1) + (stirling_rest(a + n) - stirling_rest(a));
}

// With R = log_rising there are three ways to write it:
//   R(a, m) + R(b, n) - R(a + b, m + n),
//   R(b, n) + R(a, b) - R(a + m, b + n),
//   R(a, m) + R(b, a) - R(b + n, a + m).
// Their terms grow with m + n, with b + n and with a + m: the smallest cancel the least.
double log_beta_ratio(double a, double b, double m, double n) {
  if (m + n <= std::min(b + n, a + m)) return log_rising(a, m) + log_rising(b, n) - log_rising(a + b, m + n);
  if (b + n <= a + m) return log_rising(b, n) + log_rising(a, b) - log_rising(a + m, b + n);
  return log_rising(a, m) + log_rising(b, a) - log_rising(b + n, a + m);
}

DirichletLeaf::DirichletLeaf(std::vector<double> alpha) : alpha_(std::move(alpha)) {
  const auto table = [](double base) {
    Table values(kTableSize);
    for (std::size_t n = 0; n < kTableSize; ++n) values[n] = log_rising(base, static_cast<double>(n));
    return values;
  };
  for (const double a : alpha_) per_class_.push_back(table(a));
  total_ = table(std::accumulate(alpha_.begin(), alpha_.end(), 0.0));
}

double DirichletLeaf::log_marginal(const double* counts) const {
  std::size_t n = 0;
  double log_product = 0;
  for (std::size_t c = 0; c < alpha_.size(); ++c) {
    if (!(counts[c] < static_cast<double>(kTableSize))) return log_marginal_of_large(counts);
    const auto count = static_cast<std::size_t>(counts[c]);
    n += count;
    if (static_cast<double>(count) != counts[c] || n >= kTableSize) return log_marginal_of_large(counts);
    log_product += per_class_[c][count];
  }
  return log_product - total_[n];
}

// Class by class: those so far against the next one.
double DirichletLeaf::log_marginal_of_large(const double* counts) const {
  double log_product = 0;
  double alpha = alpha_[0];
  double n = counts[0];
  for (std::size_t c = 1; c < alpha_.size(); ++c) {
    log_product += log_beta_ratio(alpha, alpha_[c], n, counts[c]);
    alpha += alpha_[c];
    n += counts[c];
  }
  return log_product;
}

void LeafModel::log_marginals(const double* statistics, std::size_t n, double* result, Workers& workers) const {
  workers.run_ranges(0, n, kGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) result[i] = log_marginal(statistics + i * n_statistics());
  });
}

}  // namespace bcart
