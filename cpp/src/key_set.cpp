#include "bcart/key_set.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace bcart {
namespace {

using Key = KeySet::Key;
using Row = KeySet::Row;
using Id = KeySet::Id;

constexpr std::size_t kKeysAtOnce = 1U << 14;
constexpr std::size_t kAhead = 16;  // so many keys further on, rows and ranks are on their way from memory

// A key, and where it was met.
struct Place {
  Key key;
  std::uint32_t set;
  Id id;
};

using Places = std::span<const Place>;

bool is_before(const Place& a, const Place& b) { return a.key < b.key; }

// How many of the first n of two sorted parts together are of the one, from which equal keys come first.
std::size_t count_from_one(Places one, Places other, std::size_t n) {
  std::size_t least = n - std::min(n, other.size());
  std::size_t most = std::min(n, one.size());
  while (least < most) {
    const std::size_t middle = (least + most) / 2;
    is_before(other[n - middle - 1], one[middle]) ? most = middle : least = middle + 1;
  }
  return least;
}

// Writes those from begin to end of two sorted parts together.
void merge_some(Places one, Places other, std::size_t begin, std::size_t end, Place* merged) {
  const std::size_t from = count_from_one(one, other, begin);
  const std::size_t to = count_from_one(one, other, end);
  const Places rest = other.subspan(begin - from, end - to - (begin - from));
  std::merge(one.begin() + from, one.begin() + to, rest.begin(), rest.end(), merged, is_before);
}

// Sorts short parts, then merges two and two. Each task writes a little of a merged part, so that all workers take part
// in the last ones, too, and the calling one can look up in between.
void sort_by_key(Array<Place>& places, Workers& workers) {
  std::size_t width = kKeysAtOnce;
  workers.run_ranges(0, places.size(), width, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::sort(places.data() + begin, places.data() + end, is_before);
  });
  Array<Place> merged(places.size());
  for (; width < places.size(); width *= 2) {
    workers.run_ranges(0, places.size(), kKeysAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
      const std::size_t first = begin - begin % (2 * width);
      const Places both = Places(places.begin(), places.size()).subspan(first);
      const Places one = both.first(std::min(width, both.size()));
      const Places other = both.subspan(one.size(), std::min(width, both.size() - one.size()));
      merge_some(one, other, begin - first, end - first, merged.data() + begin);
    });
    std::swap(places, merged);
  }
}

Array<Place> places_by_key(const std::vector<KeySet>& sets, Workers& workers) {
  std::size_t n_places = 0;
  for (const KeySet& set : sets) n_places += set.n_keys;
  Array<Place> places(n_places);
  Place* first = places.data();
  for (std::size_t set = 0; set < sets.size(); first += sets[set++].n_keys) {
    workers.run_ranges(0, sets[set].n_keys, kKeysAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t id = begin; id < end; ++id) {
        first[id] = {sets[set].keys[id], static_cast<std::uint32_t>(set), static_cast<Id>(id)};
      }
    });
  }
  sort_by_key(places, workers);
  return places;
}

}  // namespace

std::vector<Array<Id>> rank_keys(const std::vector<KeySet>& sets, Array<Row>& some_row, Workers& workers) {
  std::vector<Array<Id>> ranks;
  for (const KeySet& set : sets) ranks.emplace_back(set.n_keys);
  const Array<Place> places = places_by_key(sets, workers);
  const auto is_new = [&](std::size_t i) { return i == 0 || places[i - 1].key != places[i].key; };
  std::vector<std::size_t> n_before(places.size() / kKeysAtOnce + 2);  // distinct keys before each range
  workers.run_ranges(0, places.size(), kKeysAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) n_before[begin / kKeysAtOnce + 1] += is_new(i) ? 1 : 0;
  });
  std::partial_sum(n_before.begin(), n_before.end(), n_before.begin());
  some_row.resize(n_before.back());
  workers.run_ranges(0, places.size(), kKeysAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::size_t n_met = n_before[begin / kKeysAtOnce];
    for (std::size_t i = begin; i < end; ++i) {
      const Place& later = places[std::min(i + kAhead, end - 1)];
      __builtin_prefetch(&ranks[later.set][later.id], 1);
      __builtin_prefetch(&sets[later.set].rows[later.id]);
      const auto [key, set, id] = places[i];
      if (is_new(i)) some_row[n_met++] = sets[set].rows[id];
      ranks[set][id] = static_cast<Id>(n_met - 1);
    }
  });
  return ranks;
}

}  // namespace bcart
