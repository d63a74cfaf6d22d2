// Ratios of gamma and beta functions, in logarithms.
#pragma once

namespace bcart {

// log(Gamma(a + n) / Gamma(a)) for a > 0, n >= 0, without the cancellation of two large logarithms.
double log_rising(double a, double n);

// log(B(a + m, b + n) / B(a, b)), likewise.
double log_beta_ratio(double a, double b, double m, double n);

}  // namespace bcart
