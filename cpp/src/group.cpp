#include "bcart/group.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bcart {
namespace {

using Key = std::uint64_t;

constexpr std::size_t kRowsAtOnce = 1U << 14;
constexpr std::size_t kMostBits = 1U << 27;  // one for each possible key: 16 MB; and a key fits into a group's number
constexpr std::size_t kBitsPerWord = 64;
constexpr std::size_t kAhead = 16;  // so many sums are on their way from memory

template <class Code>
void raise_to(const Code* __restrict codes, std::size_t n, Code* __restrict largest) {
  for (std::size_t i = 0; i < n; ++i) largest[i] = largest[i] < codes[i] ? codes[i] : largest[i];
}

// The largest code of each feature and one more. Sixteen rows at once, so that the compiler sees one long loop.
template <class Code>
std::vector<Key> count_codes(const Code* codes, std::size_t n_rows, std::size_t n_features, Workers& workers) {
  const std::size_t width = 16 * n_features;
  std::vector<Code> largest(width * workers.size());
  workers.run_ranges(0, n_rows, kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t worker) {
    for (std::size_t i = begin * n_features; i < end * n_features; i += width) {
      raise_to(codes + i, std::min(width, end * n_features - i), largest.data() + worker * width);
    }
  });
  std::vector<Key> n_codes(n_features, 1);
  for (std::size_t i = 0; i < largest.size(); ++i) {
    Key& n = n_codes[i % n_features];
    n = std::max(n, Key{largest[i]} + 1);
  }
  return n_codes;
}

// Rows as numbers: the group by the features before, then the codes of some features, each a digit.
template <class Code>
class Digits {
 public:
  // Takes as many features as fit into a key, at least one. Without features before them there are no groups by them,
  // either; new memory that is read before it is written costs a page fault more, and all threads a moment.
  Digits(const Code* codes, const std::vector<Key>& n_codes, std::size_t first, const Group* before, Key n_before)
      : codes_(codes), n_features_(n_codes.size()), begin_(first), end_(first), before_(before), n_keys_(n_before) {
    while (end_ < n_features_ && n_keys_ <= std::numeric_limits<Key>::max() / n_codes[end_]) n_keys_ *= n_codes[end_++];
    n_codes_.assign(n_codes.begin() + begin_, n_codes.begin() + end_);
  }

  std::size_t end() const { return end_; }
  Key n_keys() const { return n_keys_; }

  Key key(std::size_t row) const {
    const Code* const codes = codes_ + row * n_features_ + begin_;
    Key key = before_ == nullptr ? 0 : before_[row];
    for (std::size_t i = 0; i < n_codes_.size(); ++i) key = key * n_codes_[i] + codes[i];
    return key;
  }

 private:
  const Code* codes_;
  std::size_t n_features_, begin_, end_;
  const Group* before_;
  Key n_keys_;
  std::vector<Key> n_codes_;
};

// A few possible keys: one bit for each, and its rank is the number of bits set before it.
template <class Code>
std::size_t number_by_bits(const Digits<Code>& digits, Array<Group>& group_of, Workers& workers) {
  std::vector<std::atomic<std::uint64_t>> bits(digits.n_keys() / kBitsPerWord + 1);
  const auto relaxed = std::memory_order_relaxed;
  workers.run_ranges(0, group_of.size(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t row = begin; row < end; ++row) {
      const Key key = digits.key(row);
      group_of[row] = static_cast<Group>(key);
      auto& word = bits[key / kBitsPerWord];
      const std::uint64_t bit = 1ULL << key % kBitsPerWord;
      if ((word.load(relaxed) & bit) == 0) word.fetch_or(bit, relaxed);
    }
  });
  std::vector<Group> n_before(bits.size());
  std::size_t n_groups = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    n_before[i] = static_cast<Group>(n_groups);
    n_groups += std::popcount(bits[i].load(relaxed));
  }
  workers.run_ranges(0, group_of.size(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t row = begin; row < end; ++row) {
      const Key key = group_of[row];
      const std::uint64_t below = bits[key / kBitsPerWord].load(relaxed) & ((1ULL << key % kBitsPerWord) - 1);
      group_of[row] = n_before[key / kBitsPerWord] + static_cast<Group>(std::popcount(below));
    }
  });
  return n_groups;
}

// Keys in order of first sight.
class KeySet {
 public:
  Group find_or_insert(Key key) {
    if (2 * (keys.size() + 1) > slots_.size()) grow();
    std::size_t place = start(key);
    while (slots_[place].id != kNone && slots_[place].key != key) place = (place + 1) & (slots_.size() - 1);
    if (slots_[place].id == kNone) {
      slots_[place] = {key, static_cast<Group>(keys.size())};
      keys.push_back(key);
    }
    return slots_[place].id;
  }

  std::vector<Key> keys;

 private:
  static constexpr Group kNone = std::numeric_limits<Group>::max();
  struct Slot {
    Key key = 0;
    Group id = kNone;
  };

  std::size_t start(Key key) const { return (key * 0x9E3779B97F4A7C15ULL) >> shift_; }

  void grow() {
    shift_ -= slots_.empty() ? 10 : 1;
    slots_.assign(1ULL << (64 - shift_), Slot());
    for (std::size_t id = 0; id < keys.size(); ++id) {
      std::size_t place = start(keys[id]);
      while (slots_[place].id != kNone) place = (place + 1) & (slots_.size() - 1);
      slots_[place] = {keys[id], static_cast<Group>(id)};
    }
  }

  int shift_ = 64;
  std::vector<Slot> slots_;
};

// A key, and where it was met.
struct Place {
  Key key;
  Group set, id;
};

bool is_before(const Place& a, const Place& b) { return a.key < b.key; }

// Sorts short parts, then merges two and two, so that all workers take part and the calling one can look up in between.
void sort_by_key(Array<Place>& places, Workers& workers) {
  std::size_t width = kRowsAtOnce;
  workers.run_ranges(0, places.size(), width, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::sort(places.data() + begin, places.data() + end, is_before);
  });
  Array<Place> merged(places.size());
  for (; width < places.size(); width *= 2) {
    workers.run_ranges(0, places.size(), 2 * width, [&](std::size_t begin, std::size_t end, std::size_t) {
      const Place* const from = places.data();
      const std::size_t middle = std::min(begin + width, end);
      std::merge(from + begin, from + middle, from + middle, from + end, merged.data() + begin, is_before);
    });
    std::swap(places, merged);
  }
}

// The rank of each key among those of all sets together.
std::size_t rank_keys(const std::vector<KeySet>& sets, std::vector<std::vector<Group>>& ranks, Workers& workers) {
  std::vector<std::size_t> ends(1);
  for (const KeySet& set : sets) ends.push_back(ends.back() + set.keys.size());
  Array<Place> places(ends.back());
  workers.run(sets.size(), [&](std::size_t set, std::size_t) {
    ranks[set].resize(sets[set].keys.size());
    for (std::size_t id = 0; id < ranks[set].size(); ++id) {
      places[ends[set] + id] = {sets[set].keys[id], static_cast<Group>(set), static_cast<Group>(id)};
    }
  });
  sort_by_key(places, workers);
  std::size_t n_distinct = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i == 0 || places[i - 1].key != places[i].key) ++n_distinct;
    ranks[places[i].set][places[i].id] = static_cast<Group>(n_distinct - 1);
  }
  return n_distinct;
}

// Many possible keys: each worker numbers those it meets, and then these numbers become ranks.
template <class Code>
std::size_t number_by_hash(const Digits<Code>& digits, Array<Group>& group_of, Workers& workers) {
  std::vector<KeySet> sets(workers.size());
  std::vector<std::uint32_t> set_of(group_of.size() / kRowsAtOnce + 1);
  workers.run_ranges(0, group_of.size(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t worker) {
    set_of[begin / kRowsAtOnce] = static_cast<std::uint32_t>(worker);
    for (std::size_t row = begin; row < end; ++row) group_of[row] = sets[worker].find_or_insert(digits.key(row));
  });
  std::vector<std::vector<Group>> ranks(sets.size());
  const std::size_t n_groups = rank_keys(sets, ranks, workers);
  workers.run_ranges(0, group_of.size(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
    const std::vector<Group>& rank = ranks[set_of[begin / kRowsAtOnce]];
    for (std::size_t row = begin; row < end; ++row) group_of[row] = rank[group_of[row]];
  });
  return n_groups;
}

Array<std::uint32_t> find_first_rows(const Array<Group>& group_of, std::size_t n_groups, Workers& workers) {
  std::vector<std::atomic<std::uint32_t>> first(n_groups);
  const auto relaxed = std::memory_order_relaxed;
  const auto none = static_cast<std::uint32_t>(group_of.size());
  for (auto& row : first) row.store(none, relaxed);
  workers.run_ranges(0, group_of.size(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t row = begin; row < end; ++row) {
      auto& known = first[group_of[row]];
      std::uint32_t before = known.load(relaxed);
      while (row < before && !known.compare_exchange_weak(before, static_cast<std::uint32_t>(row), relaxed)) continue;
    }
  });
  Array<std::uint32_t> rows(n_groups);
  for (std::size_t group = 0; group < n_groups; ++group) rows[group] = first[group].load(relaxed);
  return rows;
}

// Calls add(row, sums of its group) for each row. Each task owns some of the groups and goes through all rows: nobody
// waits, and no sum depends on who added it.
template <class Add>
void add_in_order(const Group* group_of, std::size_t n_rows, std::size_t n_groups, double* sums, std::size_t width,
                  Workers& workers, const Add& add) {
  const std::size_t n_owners = workers.size();
  workers.run(n_owners, [&](std::size_t owner, std::size_t worker) {
    const auto begin = static_cast<Group>(n_groups * owner / n_owners);
    const auto n_owned = static_cast<Group>(n_groups * (owner + 1) / n_owners) - begin;
    std::vector<std::uint32_t> own(kRowsAtOnce);
    for (std::size_t start = 0; start < n_rows; start += kRowsAtOnce) {
      const std::size_t end = std::min(start + kRowsAtOnce, n_rows);
      std::size_t n_own = 0;
      for (std::size_t row = start; row < end; ++row) {
        own[n_own] = static_cast<std::uint32_t>(row);
        n_own += static_cast<Group>(group_of[row] - begin) < n_owned;
      }
      for (std::size_t i = 0; i < n_own; ++i) {
        __builtin_prefetch(sums + group_of[own[std::min(i + kAhead, n_own - 1)]] * width, 1);
        add(own[i], sums + group_of[own[i]] * width);
      }
      workers.checkpoint(worker);
    }
  });
}

}  // namespace

template <class Code>
Groups group_rows(const Code* codes, std::size_t n_rows, std::size_t n_features, Workers& workers) {
  if (n_rows >= std::numeric_limits<Group>::max()) throw std::length_error("more rows than 32 bits can number");
  const std::vector<Key> n_codes = count_codes(codes, n_rows, n_features, workers);
  Groups groups;
  groups.group_of.resize(n_rows);
  std::size_t n_groups = std::min<std::size_t>(n_rows, 1);
  for (std::size_t feature = 0; feature < n_features;) {
    const Group* before = feature == 0 ? nullptr : groups.group_of.data();
    const Digits<Code> digits(codes, n_codes, feature, before, std::max<Key>(n_groups, 1));
    const bool are_few =
        digits.n_keys() <= kMostBits && digits.n_keys() / kBitsPerWord <= std::max(n_rows, kRowsAtOnce);
    n_groups =
        are_few ? number_by_bits(digits, groups.group_of, workers) : number_by_hash(digits, groups.group_of, workers);
    feature = digits.end();
  }
  groups.first_row = find_first_rows(groups.group_of, n_groups, workers);
  return groups;
}

template Groups group_rows(const std::uint8_t*, std::size_t, std::size_t, Workers&);
template Groups group_rows(const std::uint16_t*, std::size_t, std::size_t, Workers&);

void add_up(const Group* group_of, std::size_t n_groups, const Summands& rows, double* sums, Workers& workers) {
  const std::size_t n = rows.n_statistics;
  add_in_order(group_of, rows.n_rows, n_groups, sums, n + 1, workers, [&](std::size_t row, double* sum) {
    const double weight = rows.weights[row];
    const double* const statistics = rows.statistics + row * n;
    for (std::size_t i = 0; i < n; ++i) sum[i] += statistics[i] * weight;
    sum[n] += weight;
  });
}

void count_labels(const Group* group_of, std::size_t n_groups, const Labelled& rows, double* sums, Workers& workers) {
  const std::size_t n = rows.n_labels;
  add_in_order(group_of, rows.n_rows, n_groups, sums, n + 1, workers, [&](std::size_t row, double* sum) {
    const double weight = rows.weights[row];
    sum[rows.labels[row]] += weight;
    sum[n] += weight;
  });
}

}  // namespace bcart
