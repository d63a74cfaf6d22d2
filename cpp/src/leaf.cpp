#include "bcart/leaf.hpp"

#include <cmath>
#include <numeric>
#include <utility>

namespace bcart {
namespace {

constexpr std::size_t kTableSize = 4096;
constexpr std::size_t kGrain = 8192;
constexpr int kShift = 10;  // Stirling's series below is exact to double precision from here on

// What Stirling's formula leaves out of log Gamma(x), for x >= kShift.
double stirling_rest(double x) {
  const double y = 1 / (x * x);
  return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188 - y * 691.0 / 360360))))) / x;
}

}  // namespace

double log_rising(double a, double n) {
  if (n == 0) return 0;
  if (a < kShift) {  // Gamma(x) = Gamma(x + kShift) / (x (x + 1) ... (x + kShift - 1))
    double upper = 1;
    double lower = 1;
    for (int i = 0; i < kShift; ++i) {
      upper *= a + n + i;
      lower *= a + i;
    }
    return log_rising(a + kShift, n) - (std::log(upper) - std::log(lower));
  }
  return (a - 0.5) * std::log1p(n / a) + n * (std::log(a + n) - 1) + (stirling_rest(a + n) - stirling_rest(a));
}

DirichletLeaf::Rising::Rising(double base) : base_(base), table_(kTableSize) {
  for (std::size_t n = 0; n < kTableSize; ++n) table_[n] = log_rising(base, static_cast<double>(n));
}

double DirichletLeaf::Rising::operator()(double n) const {
  if (n < static_cast<double>(kTableSize)) {
    const auto whole = static_cast<std::size_t>(n);
    if (static_cast<double>(whole) == n) return table_[whole];
  }
  return log_rising(base_, n);
}

DirichletLeaf::DirichletLeaf(std::vector<double> alpha)
    : alpha_(std::move(alpha)),
      per_class_(alpha_.begin(), alpha_.end()),
      total_(std::accumulate(alpha_.begin(), alpha_.end(), 0.0)) {}

double DirichletLeaf::log_marginal(const double* counts) const {
  double n = 0;
  double log_product = 0;
  for (std::size_t c = 0; c < alpha_.size(); ++c) {
    n += counts[c];
    log_product += per_class_[c](counts[c]);
  }
  return log_product - total_(n);
}

void LeafModel::log_marginals(const double* statistics, std::size_t n, double* result, Workers& workers) const {
  workers.run_ranges(0, n, kGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) result[i] = log_marginal(statistics + i * n_statistics());
  });
}

}  // namespace bcart
