#include "bcart/fingerprint.hpp"

namespace bcart {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): a full-period generator whose outputs pass BigCrush.
std::uint64_t next_word(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

std::vector<Fingerprint> cell_fingerprints(std::size_t n_cells) {
  std::vector<Fingerprint> words(n_cells);
  std::uint64_t low_state = 0x0123456789abcdefULL;
  std::uint64_t high_state = 0xfedcba9876543210ULL;
  for (Fingerprint& word : words) word = {next_word(low_state), next_word(high_state)};
  return words;
}

}  // namespace bcart
