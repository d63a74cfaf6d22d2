#include "bcart/exponential.hpp"

#include <bit>
#include <cstdint>

// Compiled for several widths of vectors, the widest that the processor has is taken at run time. The bits are the
// same.
#if defined(__x86_64__) && defined(__GLIBC__) && __GNUC__ >= 12 && !defined(__clang__) && !defined(BCART_SANITIZED)
#define BCART_WIDEST_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define BCART_WIDEST_VECTORS
#endif

namespace bcart {
namespace {

// exp(x) for x <= 0, in plain arithmetic so that the compiler can do several at once and every platform gives the same
// bits. Below -700 the result is far too small to be seen in a sum with 1.
inline double exp_nonpositive(double x) {
  constexpr double kRound = 0x1.8p52;  // adding it rounds to a whole number, which then stands in the low bits
  constexpr double kLog2High = 0x1.62e42fefa3800p-1;
  constexpr double kLog2Low = 0x1.ef35793c76730p-45;
  x = x < -700 ? -700 : x;
  const double shifted = x * 0x1.71547652b82fep0 + kRound;
  const double n = shifted - kRound;
  const double r = (x - n * kLog2High) - n * kLog2Low;
  double p = 1.0 / 6227020800;  // Taylor's series: the rest is below 2^-56 for |r| <= log(2) / 2
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 1.0 / 2;
  p = p * r + 1;
  p = p * r + 1;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + (std::bit_cast<std::uint64_t>(shifted) << 52));
}

}  // namespace

BCART_WIDEST_VECTORS void exp_all(double* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) x[i] = exp_nonpositive(x[i]);
}

}  // namespace bcart
