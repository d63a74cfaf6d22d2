#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "bcart/table.hpp"
#include "bcart/workers.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace bcart::check {
namespace {

using Pair = std::pair<std::uint64_t, std::uint64_t>;

// Drives a table and a map alike: batches of look-ups, of which some keys are new and some are not.
template <class MakeKey>
void check_against_map(std::mt19937_64& random, std::size_t n_batches, std::size_t max_batch, const MakeKey& make_key) {
  TableShard table;
  std::map<Pair, BoxId> known;
  std::vector<Fingerprint> keys;
  BoxId next_id = 1;
  for (std::size_t batch = 0; batch < n_batches; ++batch) {
    const std::size_t n = 1 + pick(random, max_batch);
    const BoxId first_id = next_id;
    if (!table.has_room(n)) table.grow_for(n, [] {});
    CHECK(table.has_room(n));
    for (std::size_t i = 0; i < n; ++i) {
      if (keys.empty() || random() % 3 != 0) keys.push_back(make_key());
      const Fingerprint key = random() % 2 != 0 ? keys.back() : keys[pick(random, keys.size())];
      TableSlot& slot = *table.find_or_claim(TableKey(key), kClaim | next_id);
      const auto [place, is_new] = known.try_emplace({key.low, key.high}, next_id);
      CHECK_EQUAL(slot.id(), is_new ? kClaim | next_id : place->second);
      slot.set_id(place->second);
      if (is_new) ++next_id;
    }
    table.add_used(next_id - first_id);
  }
  table.grow_for(1, [] {});
  for (const auto& [key, id] : known) {
    CHECK_EQUAL(table.find_or_claim(TableKey(Fingerprint{key.first, key.second}), kClaim)->id(), id);
  }
}

std::vector<TableKey> random_keys(std::mt19937_64& random, std::size_t n) {
  std::vector<TableKey> keys;
  for (std::size_t i = 0; i < n; ++i) keys.emplace_back(Fingerprint{random(), random()});
  return keys;
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
  check_against_map(random, 500, 50, [&] { return Fingerprint{random() << 40, 1 + random() % 7}; });
}

TEST(keys_that_crowd_at_one_place_are_all_kept) {
  std::mt19937_64 random(4);
  check_against_map(random, 100, 40, [&] { return Fingerprint{random() >> 32, random()}; });     // at the front
  check_against_map(random, 100, 40, [&] { return Fingerprint{~(random() >> 32), random()}; });  // around the end
  check_against_map(random, 200, 200, [&] { return Fingerprint{random() >> 12 | 1ULL << 63, random()}; });
}

TEST(a_key_of_zeros_is_a_key) {
  TableShard table;
  table.grow_for(2, [] {});
  table.find_or_claim(TableKey(Fingerprint{0, 0}), kClaim | 5)->set_id(8);
  CHECK_EQUAL(table.find_or_claim(TableKey(Fingerprint{0, 0}), kClaim | 4)->id(), 8U);
}

TEST(of_several_claims_the_lowest_stays_and_an_id_stays_before_any) {
  TableShard table;
  const TableKey key(Fingerprint{1, 2});
  table.grow_for(1, [] {});
  CHECK_EQUAL(table.find_or_claim(key, kClaim | 7)->id(), kClaim | 7);
  CHECK_EQUAL(table.find_or_claim(key, kClaim | 9)->id(), kClaim | 7);
  CHECK_EQUAL(table.find_or_claim(key, kClaim | 3)->id(), kClaim | 3);
  table.find_or_claim(key, kClaim | 3)->set_id(11);
  CHECK_EQUAL(table.find_or_claim(key, kClaim | 1)->id(), 11U);
}

// The workers go through the same keys, each in an order of its own, so that they meet at free slots all the time.
TEST(workers_that_claim_the_same_keys_agree_on_slots_and_on_the_lowest_claim) {
  constexpr std::size_t kWorkers = 4;
  std::mt19937_64 random(6);
  Monitor monitor;
  Workers workers(kWorkers, monitor);
  for (int round = 0; round < 30; ++round) {
    const std::vector<TableKey> keys = random_keys(random, 3'000);
    TableShard table;
    table.grow_for(keys.size(), [] {});
    std::vector<std::vector<TableSlot*>> slots(kWorkers, std::vector<TableSlot*>(keys.size()));
    workers.run(kWorkers, [&](std::size_t worker, std::size_t) {
      std::mt19937_64 own(worker / 2);  // two and two in the same order
      std::vector<std::size_t> order(keys.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[pick(own, i)]);
      for (const std::size_t i : order) {
        const auto claim = static_cast<BoxId>(kWorkers * i + (worker + i) % kWorkers);
        slots[worker][i] = table.find_or_claim(keys[i], kClaim | claim);
      }
    });
    for (std::size_t i = 0; i < keys.size(); ++i) {
      for (std::size_t worker = 1; worker < kWorkers; ++worker) CHECK(slots[worker][i] == slots[0][i]);
      CHECK_EQUAL(slots[0][i]->id(), kClaim | static_cast<BoxId>(kWorkers * i));
    }
  }
}

TEST(a_key_without_low_bits_is_found_again_by_the_least_id) {
  TableShard table;
  table.grow_for(1, [] {});
  const TableKey key(Fingerprint{0, 5});
  table.find_or_claim(key, kClaim)->set_id(1);
  CHECK_EQUAL(table.find_or_claim(key, kClaim)->id(), 1U);
}

TEST(a_table_that_is_full_answers_says_so_and_grows) {
  std::mt19937_64 random(7);
  TableShard table;
  const std::vector<TableKey> keys = random_keys(random, 60'000);
  table.grow_for(1'000, [] {});
  std::size_t n_kept = 0;
  std::size_t n_growths = 0;
  for (; n_kept < keys.size(); ++n_kept) {
    TableSlot* slot = table.find_or_claim(keys[n_kept], kClaim);
    if (slot == nullptr) {
      for (std::size_t i = 0; i < n_kept; ++i) CHECK_EQUAL(table.find_or_claim(keys[i], kClaim)->id(), i + 1);
      table.double_size([] {});
      slot = table.find_or_claim(keys[n_kept], kClaim);
      ++n_growths;
    }
    slot->set_id(static_cast<BoxId>(n_kept + 1));
  }
  CHECK_EQUAL(n_growths, 6U);
  for (std::size_t i = 0; i < keys.size(); ++i) CHECK_EQUAL(table.find_or_claim(keys[i], kClaim)->id(), i + 1);
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
