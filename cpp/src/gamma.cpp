#include "bcart/gamma.hpp"

#include <algorithm>
#include <cmath>

namespace bcart {
namespace {

constexpr int kShift = 10;  // Stirling's series below is exact to double precision from here on

// What Stirling's formula leaves out of log Gamma(x), for x >= kShift.
double stirling_rest(double x) {
  const double y = 1 / (x * x);
  return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188 - y * 691.0 / 360360))))) / x;
}

// log(x (x + 1) ... (x + kShift - 1))
double log_product(double x) {
  if (x > 1e30) return kShift * std::log(x);
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

}  // namespace bcart
