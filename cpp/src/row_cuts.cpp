#include "bcart/row_cuts.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "bcart/unroll.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bcart {
namespace {

constexpr std::size_t kAtOnce = 32;       // numbers whose codes are written together
constexpr std::size_t kWidth = 4;         // numbers in a register
constexpr std::size_t kMostCuts = 2'000;  // of all numbers, which stay in the nearest cache

#if defined(__x86_64__)

// Each register holds four counts in words of 64 bits; those of eight registers become the bytes of four words.
// Returns what is left of the numbers if they are taken from themselves: no bit if all are finite.
template <std::size_t n_cuts>
[[gnu::target("avx2")]] inline __m256i encode_some(const double* numbers, const double* cuts,
                                                   const std::uint8_t* first_code, std::uint8_t* codes) {
  __m256d remainders = _mm256_setzero_pd();
  __m256i words = _mm256_setzero_si256();
  for (int place = 0; place < static_cast<int>(kAtOnce / kWidth); ++place) {
    const __m256d here = _mm256_loadu_pd(numbers + kWidth * place);
    __m256i counts = _mm256_setzero_si256();
    for (std::size_t i = 0; i < n_cuts; ++i, cuts += kWidth) {
      const __m256d is_reached = _mm256_cmp_pd(here, _mm256_loadu_pd(cuts), _CMP_GE_OQ);
      counts = _mm256_sub_epi64(counts, _mm256_castpd_si256(is_reached));
    }
    words = _mm256_or_si256(words, _mm256_slli_epi64(counts, 8 * place));
    remainders = _mm256_or_pd(remainders, _mm256_sub_pd(here, here));
  }
  // From byte p of word w to byte 4 p + w.
  const __m128i by_pairs = _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  const __m128i low = _mm_shuffle_epi8(_mm256_castsi256_si128(words), by_pairs);
  const __m128i high = _mm_shuffle_epi8(_mm256_extracti128_si256(words, 1), by_pairs);
  const __m256i counts = _mm256_set_m128i(_mm_unpackhi_epi16(low, high), _mm_unpacklo_epi16(low, high));
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first_code));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), _mm256_add_epi8(counts, first));
  return _mm256_castpd_si256(remainders);
}

// The cuts are those of `period` numbers, and then the same again.
template <std::size_t n_cuts>
[[gnu::target("avx2")]] bool encode_all(const double* numbers, std::size_t n, std::size_t period, const double* cuts,
                                        const std::uint8_t* first_code, std::uint8_t* codes) {
  __m256i remainders = _mm256_setzero_si256();
  std::size_t place = 0;
  for (; n >= kAtOnce; n -= kAtOnce, numbers += kAtOnce, codes += kAtOnce) {
    const __m256i found = encode_some<n_cuts>(numbers, cuts + place * n_cuts, first_code + place, codes);
    remainders = _mm256_or_si256(remainders, found);
    place = place + kAtOnce < period ? place + kAtOnce : 0;
  }
  if (n > 0) {
    double last[kAtOnce] = {};
    std::uint8_t last_codes[kAtOnce];
    std::copy_n(numbers, n, last);
    const __m256i found = encode_some<n_cuts>(last, cuts + place * n_cuts, first_code + place, last_codes);
    remainders = _mm256_or_si256(remainders, found);
    std::copy_n(last_codes, n, codes);
  }
  return _mm256_testz_si256(remainders, remainders) != 0;
}

#else

template <std::size_t>
bool encode_all(const double*, std::size_t, std::size_t, const double*, const std::uint8_t*, std::uint8_t*) {
  return false;
}

#endif

}  // namespace

std::optional<RowCuts> RowCuts::of(const std::vector<Cuts>& cuts, const std::vector<std::uint32_t>& first_code) {
  std::size_t most = 1;
  for (const Cuts& of_feature : cuts) most = std::max(most, of_feature.values().size());
  const bool is_worth_it =
      has_wide_registers() && most <= Cuts::kFew && std::lcm(cuts.size(), kAtOnce) * most <= kMostCuts;
  return is_worth_it ? std::optional(RowCuts(cuts, first_code, most)) : std::nullopt;
}

RowCuts::RowCuts(const std::vector<Cuts>& cuts, const std::vector<std::uint32_t>& first_code, std::size_t most_cuts)
    : most_cuts_(most_cuts),
      cuts_(std::lcm(cuts.size(), kAtOnce) * most_cuts, std::numeric_limits<double>::quiet_NaN()),
      first_code_(std::lcm(cuts.size(), kAtOnce)) {
  for (std::size_t number = 0; number < first_code_.size(); ++number) {
    const std::size_t feature = number % cuts.size();
    first_code_[number] = static_cast<std::uint8_t>(first_code[feature]);
    double* place = cuts_.data() + number / kWidth * kWidth * most_cuts + number % kWidth;
    for (const double cut : cuts[feature].values()) *std::exchange(place, place + kWidth) = cut;
  }
}

bool RowCuts::encode(const double* numbers, std::size_t n, std::uint8_t* codes) const {
  bool are_finite = false;
  with_indices<Cuts::kFew>(most_cuts_, [&]<std::size_t... cut>(std::index_sequence<cut...>) {
    are_finite = encode_all<sizeof...(cut)>(numbers, n, first_code_.size(), cuts_.data(), first_code_.data(), codes);
  });
  return are_finite;
}

}  // namespace bcart
