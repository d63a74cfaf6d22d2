// Random numbers that depend on nothing but a seed and a place: the k-th draw of the i-th tree (or of the i-th path of
// a query) is always the same.
#pragma once

#include <cstdint>

namespace bcart {

// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011), a counter-based generator.
class Random {
 public:
  // Streams of other branches have nothing in common; trees are drawn from branch 0.
  Random(std::uint64_t seed, std::uint64_t stream, std::uint32_t branch = 0)
      : seed_(seed), stream_(stream), branch_(branch) {}

  // Uniform in [0, 1), with 53 random bits.
  double uniform() {
    std::uint32_t x[4] = {draw_, branch_, low(stream_), high(stream_)};
    std::uint32_t key[2] = {low(seed_), high(seed_)};
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57} * x[2];
      const std::uint32_t next[4] = {high(b) ^ x[1] ^ key[0], low(b), high(a) ^ x[3] ^ key[1], low(a)};
      for (int i = 0; i < 4; ++i) x[i] = next[i];
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
    ++draw_;
    const std::uint64_t bits = std::uint64_t{x[1]} << 32 | x[0];
    return static_cast<double>(bits >> 11) * 0x1p-53;
  }

 private:
  static std::uint32_t low(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
  static std::uint32_t high(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }

  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint32_t branch_;
  std::uint32_t draw_ = 0;
};

}  // namespace bcart
