#include "bcart/cuts.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "bcart/unroll.hpp"

namespace bcart {
namespace {

constexpr std::size_t kFewCuts = 20;  // that are faster compared one by one than searched

// Counts are as wide as numbers, so that the compiler counts side by side.
template <std::size_t... cut>
[[gnu::always_inline]] inline void compare_all(const double* cuts, const double* __restrict numbers, std::size_t n,
                                               std::int64_t* __restrict counts) {
  [[maybe_unused]] const std::array<double, sizeof...(cut)> known = {cuts[cut]...};
  for (std::size_t i = 0; i < n; ++i) {
    counts[i] = (std::int64_t{0} + ... + (numbers[i] >= known[cut] ? std::int64_t{1} : std::int64_t{0}));
  }
}

#if defined(__x86_64__)
const bool has_wide_registers = __builtin_cpu_supports("avx2");

// Four numbers at once instead of two, with the same counts.
template <std::size_t... cut>
[[gnu::target("avx2")]] void compare_widely(const double* cuts, const double* numbers, std::size_t n,
                                            std::int64_t* counts) {
  compare_all<cut...>(cuts, numbers, n, counts);
}
#endif

template <std::size_t... cut>
void compare(const double* cuts, const double* numbers, std::size_t n, std::int64_t* counts) {
#if defined(__x86_64__)
  if (has_wide_registers) return compare_widely<cut...>(cuts, numbers, n, counts);
#endif
  compare_all<cut...>(cuts, numbers, n, counts);
}

}  // namespace

Cuts::Cuts(const std::vector<double>& cuts) : n_cuts_(cuts.size()) {
  while (cuts.size() >= 1ULL << n_levels_) ++n_levels_;
  padded_.assign(1ULL << n_levels_, std::numeric_limits<double>::quiet_NaN());
  std::copy(cuts.begin(), cuts.end(), padded_.begin());
}

void Cuts::count(const double* numbers, std::size_t n, std::int64_t* counts) const {
  if (n_cuts_ <= kFewCuts) {
    return with_indices<kFewCuts>(n_cuts_, [&]<std::size_t... cut>(std::index_sequence<cut...>) {
      compare<cut...>(padded_.data(), numbers, n, counts);
    });
  }
  std::fill(counts, counts + n, 0);
  for (int level = n_levels_; level-- > 0;) {
    const double* const middle = padded_.data() + (1LL << level) - 1;
    for (std::size_t i = 0; i < n; ++i) {
      counts[i] |= static_cast<std::int64_t>(numbers[i] >= middle[counts[i]]) << level;
    }
  }
}

}  // namespace bcart
