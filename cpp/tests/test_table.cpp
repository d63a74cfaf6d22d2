#include <map>
#include <random>
#include <utility>
#include <vector>

#include "bcart/table.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace bcart::check {
namespace {

using Key = std::pair<std::uint64_t, std::uint64_t>;

// Drives a table and a map alike: batches of look-ups, of which some keys are new and some are not.
template <class MakeKey>
void check_against_map(std::mt19937_64& random, std::size_t n_batches, std::size_t max_batch, const MakeKey& make_key) {
  TableShard table;
  std::map<Key, BoxId> known;
  std::vector<Fingerprint> keys;
  BoxId next_id = 1;
  for (std::size_t batch = 0; batch < n_batches; ++batch) {
    const std::size_t n = 1 + pick(random, max_batch);
    table.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (keys.empty() || random() % 3 != 0) keys.push_back(make_key());
      const Fingerprint key = random() % 2 != 0 ? keys.back() : keys[pick(random, keys.size())];
      table.prefetch({key, next_id});
      const BoxId id = table.find_or_insert({key, next_id});
      const auto [place, is_new] = known.try_emplace({key.low, key.high}, next_id);
      CHECK_EQUAL(id, place->second);
      if (is_new) ++next_id;
    }
  }
  table.reserve(1);
  for (const auto& [key, id] : known)
    CHECK_EQUAL(table.find_or_insert({Fingerprint{key.first, key.second}, next_id}), id);
}

}  // namespace

TEST(a_table_is_a_map_while_it_grows_by_small_steps) {
  std::mt19937_64 random(1);
  check_against_map(random, 3'000, 20, [&] { return Fingerprint{random(), random()}; });
}

TEST(a_table_is_a_map_while_it_grows_by_large_steps) {
  std::mt19937_64 random(2);
  check_against_map(random, 60, 20'000, [&] { return Fingerprint{random(), random()}; });
}

TEST(keys_that_share_a_half_are_told_apart) {
  std::mt19937_64 random(3);
  check_against_map(random, 500, 50, [&] { return Fingerprint{random() << 40, random() % 7}; });
}

TEST(keys_that_crowd_at_one_place_are_all_kept) {
  std::mt19937_64 random(4);
  check_against_map(random, 100, 40, [&] { return Fingerprint{random() >> 32, random()}; });     // at the front
  check_against_map(random, 100, 40, [&] { return Fingerprint{~(random() >> 32), random()}; });  // around the end
  check_against_map(random, 200, 200, [&] { return Fingerprint{random() >> 12 | 1ULL << 63, random()}; });
}

TEST(an_id_can_be_changed_until_the_next_growth) {
  std::mt19937_64 random(5);
  TableShard table;
  std::vector<Fingerprint> keys(5'000);
  for (Fingerprint& key : keys) key = {random(), random()};
  table.reserve(keys.size());
  std::vector<BoxId*> slots;
  for (const Fingerprint& key : keys) slots.push_back(&table.find_or_insert({key, 1U << 31}));
  for (std::size_t i = 0; i < keys.size(); ++i) *slots[i] = static_cast<BoxId>(i + 1);
  table.reserve(50'000);
  for (std::size_t i = 0; i < keys.size(); ++i) CHECK_EQUAL(table.find_or_insert({keys[i], 7}), i + 1);
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
