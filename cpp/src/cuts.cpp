#include "bcart/cuts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "bcart/unroll.hpp"

namespace bcart {
namespace {

// No bit is left of a finite number that is taken from itself.
[[gnu::always_inline]] inline std::uint64_t remainder_of(double number) {
  return std::bit_cast<std::uint64_t>(number - number);
}

// Cuts that stay in registers. Counts are as wide as numbers, so that the compiler counts side by side.
template <std::size_t n_cuts>
class FewCuts {
 public:
  explicit FewCuts(const double* cuts) { std::copy_n(cuts, n_cuts, cuts_.begin()); }

  [[gnu::always_inline]] void count(const double* __restrict numbers, std::size_t n,
                                    std::int64_t* __restrict counts) const {
    for (std::size_t i = 0; i < n; ++i) counts[i] = count_for(numbers[i], std::make_index_sequence<n_cuts>());
  }

  [[gnu::always_inline]] std::uint64_t add_counts(const double* __restrict numbers, std::size_t n, int shift,
                                                  std::uint64_t* __restrict words) const {
    std::uint64_t remainders = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t count = count_for(numbers[i], std::make_index_sequence<n_cuts>());
      words[i] += static_cast<std::uint64_t>(count) << shift;
      remainders |= remainder_of(numbers[i]);
    }
    return remainders;
  }

 private:
  template <std::size_t... cut>
  [[gnu::always_inline]] std::int64_t count_for([[maybe_unused]] double number, std::index_sequence<cut...>) const {
    return (std::int64_t{0} + ... + (number >= cuts_[cut] ? std::int64_t{1} : std::int64_t{0}));
  }

  std::array<double, n_cuts> cuts_;
};

#if defined(__x86_64__)
template <class Work>
[[gnu::target("avx2")]] auto work_widely(const Work& work) {
  return work();
}
#endif

// What is always inlined into work is compiled for wide registers, too; the results are the same.
template <class Work>
auto at_full_width(const Work& work) {
#if defined(__x86_64__)
  if (has_wide_registers()) return work_widely(work);
#endif
  return work();
}

}  // namespace

bool has_wide_registers() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

Cuts::Cuts(const std::vector<double>& cuts) : n_cuts_(cuts.size()) {
  while (cuts.size() >= 1ULL << n_levels_) ++n_levels_;
  padded_.assign(1ULL << n_levels_, std::numeric_limits<double>::quiet_NaN());
  std::copy(cuts.begin(), cuts.end(), padded_.begin());
}

void Cuts::count(const double* numbers, std::size_t n, std::int64_t* counts) const {
  if (n_cuts_ > kFew) return search(numbers, n, counts);
  with_indices<kFew>(n_cuts_, [&]<std::size_t... cut>(std::index_sequence<cut...>) {
    const FewCuts<sizeof...(cut)> cuts(padded_.data());
    at_full_width([&] [[gnu::always_inline]] { cuts.count(numbers, n, counts); });
  });
}

bool Cuts::add_counts(const double* numbers, std::size_t n, int shift, std::uint64_t* words) const {
  std::uint64_t remainders = 0;
  if (n_cuts_ > kFew) {
    remainders = search_and_add(numbers, n, shift, words);
  } else {
    with_indices<kFew>(n_cuts_, [&]<std::size_t... cut>(std::index_sequence<cut...>) {
      const FewCuts<sizeof...(cut)> cuts(padded_.data());
      remainders = at_full_width([&] [[gnu::always_inline]] { return cuts.add_counts(numbers, n, shift, words); });
    });
  }
  return remainders == 0;
}

void Cuts::search(const double* numbers, std::size_t n, std::int64_t* counts) const {
  std::fill(counts, counts + n, 0);
  for (int level = n_levels_; level-- > 0;) {
    const double* const middle = padded_.data() + (1LL << level) - 1;
    for (std::size_t i = 0; i < n; ++i) {
      counts[i] |= static_cast<std::int64_t>(numbers[i] >= middle[counts[i]]) << level;
    }
  }
}

std::uint64_t Cuts::search_and_add(const double* numbers, std::size_t n, int shift, std::uint64_t* words) const {
  std::uint64_t remainders = 0;
  std::int64_t counts[kMostNumbers];
  search(numbers, n, counts);
  for (std::size_t i = 0; i < n; ++i) {
    words[i] += static_cast<std::uint64_t>(counts[i]) << shift;
    remainders |= remainder_of(numbers[i]);
  }
  return remainders;
}

}  // namespace bcart
