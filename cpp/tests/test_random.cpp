#include <array>
#include <random>

#include "bcart/random.hpp"
#include "check.hpp"

namespace bcart::check {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Philox 4x32-10 as the paper draws it: each round multiplies two words and mixes their halves with the keys.
Words philox(Words counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = 0xD2511F53ULL * counter[0];
    const std::uint64_t second = 0xCD9E8D57ULL * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  return counter;
}

std::uint32_t low(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t high(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }

double expected(std::uint64_t seed, std::uint64_t stream, std::uint32_t branch, std::uint32_t draw) {
  const Words words = philox({draw, branch, low(stream), high(stream)}, {low(seed), high(seed)});
  return static_cast<double>((std::uint64_t{words[1]} << 32 | words[0]) >> 11) / 9007199254740992.0;
}

}  // namespace

// The known answers that are published with Random123 (kat_vectors).
TEST(the_reference_gives_the_published_answers) {
  CHECK((philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  CHECK((philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  CHECK((philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
         Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(the_first_draw_is_the_published_answer) {
  const std::uint64_t bits = 0xe169c58d6627e8d5ULL;
  CHECK_EQUAL(Random(0, 0).uniform(), static_cast<double>(bits >> 11) * 0x1p-53);
}

TEST(a_draw_depends_on_seed_stream_branch_and_place_alone) {
  std::mt19937_64 words(1);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t seed = words() >> (i % 64);
    const std::uint64_t stream = words() >> (i * 7 % 64);
    const std::uint32_t branch = low(words()) >> (i % 32);
    Random random(seed, stream, branch);
    Random trunk(seed, stream);
    for (std::uint32_t draw = 0; draw < 20; ++draw) {
      CHECK_EQUAL(random.uniform(), expected(seed, stream, branch, draw));
      CHECK_EQUAL(trunk.uniform(), expected(seed, stream, 0, draw));
    }
  }
}

TEST(draws_lie_in_the_unit_interval_and_fill_it_evenly) {
  // Of 100,000 even draws the number in one of ten parts is 10,000 with a deviation of 95; seven of those happen in one
  // of 10^11 tests.
  std::array<int, 10> counts{};
  for (std::uint64_t stream = 0; stream < 1'000; ++stream) {
    Random random(42, stream);
    for (int i = 0; i < 100; ++i) {
      const double u = random.uniform();
      CHECK(0 <= u && u < 1);
      ++counts[static_cast<std::size_t>(u * 10)];
    }
  }
  for (const int count : counts) CHECK_CLOSE(count, 10'000, 7 * 95);
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
