#include "bcart/group.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "bcart/key_set.hpp"
#include "bcart/unroll.hpp"

namespace bcart {
namespace {

using Key = KeySet::Key;
using Row = KeySet::Row;

constexpr std::size_t kRowsAtOnce = 1U << 14;
constexpr std::size_t kMostBits = 1U << 27;   // one for each possible key, which fits into a group's number, too
constexpr std::size_t kMostWords = 1U << 22;  // of such bits, those of all workers together: 32 MB
constexpr std::size_t kFewRows = 1024;
constexpr std::size_t kBitsPerWord = 64;
constexpr std::size_t kBatch = 256;     // keys that are made at once
constexpr std::size_t kMostDigits = 8;  // that a key gets at once
constexpr std::size_t kAhead = 16;      // so many slots or rows are on their way from memory

template <class Code>
void keep_larger(const Code* __restrict codes, std::size_t n, Code* __restrict largest) {
  for (std::size_t i = 0; i < n; ++i) largest[i] = largest[i] < codes[i] ? codes[i] : largest[i];
}

// The largest code of each feature and one more. Sixteen rows at once, so that the compiler sees one long loop.
template <class Code>
std::vector<Key> count_codes(const Code* codes, std::size_t n_rows, std::size_t n_features, Workers& workers) {
  const std::size_t width = 16 * n_features;
  std::vector<Code> largest(width * workers.size());
  workers.run_ranges(0, n_rows, kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t worker) {
    for (std::size_t i = begin * n_features; i < end * n_features; i += width) {
      keep_larger(codes + i, std::min(width, end * n_features - i), largest.data() + worker * width);
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

  // Calls visit(row, key, a key that comes later) for some rows.
  template <class Visit>
  void for_each_key(std::size_t begin, std::size_t end, const Visit& visit) const {
    Key keys[kBatch];
    for (; begin < end; begin += kBatch) {
      const std::size_t n = std::min(kBatch, end - begin);
      for (std::size_t i = 0; i < n; ++i) keys[i] = before_ == nullptr ? 0 : before_[begin + i];
      for (std::size_t digit = 0; digit < n_codes_.size(); digit += kMostDigits) add_digits(begin, digit, n, keys);
      for (std::size_t i = 0; i < n; ++i) visit(begin + i, keys[i], keys[std::min(i + kAhead, n - 1)]);
    }
  }

 private:
  void add_digits(std::size_t row, std::size_t first, std::size_t n, Key* keys) const {
    const Code* const codes = codes_ + row * n_features_ + begin_ + first;
    const auto add = [&]<std::size_t... digit>(std::index_sequence<digit...>) {
      [[maybe_unused]] const std::array<Key, sizeof...(digit)> n_codes = {n_codes_[first + digit]...};
      for (std::size_t i = 0; i < n; ++i) {
        Key key = keys[i];
        ((key = key * n_codes[digit] + codes[i * n_features_ + digit]), ...);
        keys[i] = key;
      }
    };
    with_indices<kMostDigits>(std::min(kMostDigits, n_codes_.size() - first), add);
  }

  const Code* codes_;
  std::size_t n_features_, begin_, end_;
  const Group* before_;
  Key n_keys_;
  std::vector<Key> n_codes_;
};

// Sixty-four keys: which of them were met, and how many before them.
struct Rank {
  std::uint64_t is_met = 0;
  std::size_t n_before = 0;
};

// The keys that one worker has met, a bit for each, and the rows that met them first.
struct KeyBits {
  std::vector<std::uint64_t> is_met;
  Array<Row> rows;
  std::size_t n_rows = 0;

  void make_room(std::size_t n_words, std::size_t n_more) {
    is_met.resize(n_words);
    rows.resize(n_rows + n_more);
  }

  // There must be room for the row; whether its key is new is as good as random, so there is no branch.
  void meet(Key key, std::size_t row) {
    std::uint64_t& word = is_met[key / kBitsPerWord];
    rows[n_rows] = static_cast<Row>(row);
    n_rows += ~word >> key % kBitsPerWord & 1;
    word |= 1ULL << key % kBitsPerWord;
  }
};

std::vector<Rank> rank_bits(const std::vector<KeyBits>& met, std::size_t n_words, Workers& workers) {
  std::vector<Rank> ranks(n_words);
  workers.run_ranges(0, n_words, kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (const KeyBits& bits : met) {
      if (bits.is_met.empty()) continue;
      for (std::size_t i = begin; i < end; ++i) ranks[i].is_met |= bits.is_met[i];
    }
  });
  std::size_t n_before = 0;
  for (Rank& rank : ranks) rank.n_before = std::exchange(n_before, n_before + std::popcount(rank.is_met));
  return ranks;
}

// A few possible keys: one bit for each, and its rank is the number of bits set before it.
template <class Code>
void number_by_bits(const Digits<Code>& digits, Groups& groups, Workers& workers) {
  Array<Group>& group_of = groups.group_of;
  const std::size_t n_words = digits.n_keys() / kBitsPerWord + 1;
  std::vector<KeyBits> met(workers.size());
  workers.run_ranges(0, group_of.size(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t worker) {
    KeyBits& bits = met[worker];
    bits.make_room(n_words, end - begin);
    digits.for_each_key(begin, end, [&](std::size_t row, Key key, Key) {
      group_of[row] = static_cast<Group>(key);
      bits.meet(key, row);
    });
  });
  const std::vector<Rank> ranks = rank_bits(met, n_words, workers);
  workers.run_ranges(0, group_of.size(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t row = begin; row < end; ++row) {
      const Rank& rank = ranks[group_of[row] / kBitsPerWord];
      const std::uint64_t below = rank.is_met & ((1ULL << group_of[row] % kBitsPerWord) - 1);
      group_of[row] = static_cast<Group>(rank.n_before + std::popcount(below));
    }
  });
  groups.some_row.resize(ranks.back().n_before + std::popcount(ranks.back().is_met));
  for (const KeyBits& bits : met) {
    workers.run_ranges(0, bits.n_rows, kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (const Row row : std::span(bits.rows.data() + begin, end - begin)) groups.some_row[group_of[row]] = row;
    });
  }
}

// Many possible keys: each worker numbers those it meets, and then these numbers become ranks.
template <class Code>
void number_by_hash(const Digits<Code>& digits, Groups& groups, Workers& workers) {
  Array<Group>& group_of = groups.group_of;
  std::vector<KeySet> sets(workers.size());
  std::vector<std::uint32_t> set_of(group_of.size() / kRowsAtOnce + 1);
  workers.run_ranges(0, group_of.size(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t worker) {
    set_of[begin / kRowsAtOnce] = static_cast<std::uint32_t>(worker);
    KeySet& set = sets[worker];
    set.make_room(end - begin, [&] { workers.checkpoint(worker); });
    digits.for_each_key(begin, end, [&](std::size_t row, Key key, Key later) {
      set.prefetch(later);
      group_of[row] = set.find_or_insert(key, row);
    });
  });
  const std::vector<Array<KeySet::Id>> ranks = rank_keys(sets, groups.some_row, workers);
  workers.run_ranges(0, group_of.size(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
    const Array<KeySet::Id>& rank = ranks[set_of[begin / kRowsAtOnce]];
    for (std::size_t row = begin; row < end; ++row) group_of[row] = rank[group_of[row]];
  });
}

}  // namespace

template <class Code>
Groups group_rows(const Code* codes, std::size_t n_rows, std::size_t n_features, Workers& workers) {
  if (n_rows >= std::numeric_limits<Group>::max()) throw std::length_error("more rows than 32 bits can number");
  const std::vector<Key> n_codes = count_codes(codes, n_rows, n_features, workers);
  Groups groups;
  groups.group_of = Array<Group>(n_rows);
  groups.group_of.expect_filling();
  for (std::size_t feature = 0; feature < n_features;) {
    const Group* before = feature == 0 ? nullptr : groups.group_of.data();
    const Digits<Code> digits(codes, n_codes, feature, before, std::max<Key>(groups.size(), 1));
    const std::size_t max_words = std::min(kMostWords, 2 * std::max(n_rows, kFewRows));
    const bool are_few = digits.n_keys() <= kMostBits && digits.n_keys() / kBitsPerWord * workers.size() <= max_words;
    are_few ? number_by_bits(digits, groups, workers) : number_by_hash(digits, groups, workers);
    feature = digits.end();
  }
  return groups;
}

template Groups group_rows(const std::uint8_t*, std::size_t, std::size_t, Workers&);
template Groups group_rows(const std::uint16_t*, std::size_t, std::size_t, Workers&);

template <class Code>
Array<Code> codes_of_groups(const Groups& groups, const Code* codes, std::size_t n_features, Workers& workers) {
  Array<Code> distinct(groups.size() * n_features);
  distinct.expect_filling();
  const Array<Row>& rows = groups.some_row;
  const auto copy = [&](auto width) {
    workers.run_ranges(0, groups.size(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t group = begin; group < end; ++group) {
        __builtin_prefetch(codes + rows[std::min(group + kAhead, end - 1)] * n_features);
        std::memcpy(distinct.data() + group * n_features, codes + rows[group] * n_features, width * sizeof(Code));
      }
    });
  };
  if (n_features > kMostDigits) copy(n_features);
  with_indices<kMostDigits>(n_features, [&]<std::size_t... feature>(std::index_sequence<feature...>) {
    copy(std::integral_constant<std::size_t, sizeof...(feature)>());
  });
  return distinct;
}

template Array<std::uint8_t> codes_of_groups(const Groups&, const std::uint8_t*, std::size_t, Workers&);
template Array<std::uint16_t> codes_of_groups(const Groups&, const std::uint16_t*, std::size_t, Workers&);

}  // namespace bcart
