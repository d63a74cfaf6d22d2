#include "bcart/weigh.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

namespace bcart {
namespace {

constexpr std::size_t kDigitBits = 8;
constexpr std::size_t kDigits = 64 / kDigitBits;
constexpr std::size_t kRadix = std::size_t{1} << kDigitBits;
constexpr std::size_t kGrain = std::size_t{1} << 16;  // rows between two looks at the clock

constexpr std::size_t kItemsAPage = std::size_t{1} << 8;

using Histogram = std::array<std::size_t, kRadix>;

// Whole numbers in the order of the floating-point numbers that they stand for: the bits of negative ones are turned.
struct Key {
  std::uint64_t bits;

  explicit Key(double x = 0) : bits(std::bit_cast<std::uint64_t>(x)) {
    bits ^= (bits >> 63) != 0 ? ~std::uint64_t{0} : std::uint64_t{1} << 63;
  }
  double number() const {
    return std::bit_cast<double>(bits ^ ((bits >> 63) != 0 ? std::uint64_t{1} << 63 : ~std::uint64_t{0}));
  }
  std::size_t digit(std::size_t i) const { return bits >> i * kDigitBits & (kRadix - 1); }
};

struct One {
  Key key;

  double weight() const { return 1; }
};

struct Weighed {
  Key key;
  double given;

  double weight() const { return given; }
};

template <class Visit>
void for_each_row(std::size_t n_rows, Workers& workers, const Visit& visit) {
  for (std::size_t begin = 0; begin < n_rows; begin += kGrain) {
    workers.watch();
    for (std::size_t row = begin; row < std::min(begin + kGrain, n_rows); ++row) visit(row);
  }
}

template <class Item, class MakeItem>
Array<Item> known_items(const Column& column, std::size_t n_rows, Workers& workers, const MakeItem& make_item) {
  Array<Item> items(n_rows);
  std::size_t n = 0;
  for_each_row(n_rows, workers, [&](std::size_t row) {
    if (!std::isnan(column[row])) items[n++] = make_item(Key(column[row] + 0.0), row);  // -0.0 and 0.0 are one number
  });
  items.resize(n);
  return items;
}

// By one digit after the other, the last one first; items that are equal so far stay in their order.
template <class Item>
void sort_by_key(Array<Item>& items, Workers& workers) {
  std::array<Histogram, kDigits> histograms{};
  Array<Item> sorted(items.size());
  for_each_row(items.size(), workers, [&](std::size_t i) {
    if (i % kItemsAPage == 0) sorted[i] = items[i];  // or all pages are asked for at once, between looks at the clock
    for (std::size_t digit = 0; digit < kDigits; ++digit) ++histograms[digit][items[i].key.digit(digit)];
  });
  for (std::size_t digit = 0; digit < kDigits; ++digit) {
    Histogram& next = histograms[digit];
    if (items.size() == 0 || next[items[0].key.digit(digit)] == items.size()) continue;  // all have the same
    std::exclusive_scan(next.begin(), next.end(), next.begin(), std::size_t{0});
    for_each_row(items.size(), workers, [&](std::size_t i) { sorted[next[items[i].key.digit(digit)]++] = items[i]; });
    std::swap(items, sorted);
  }
}

template <class Item>
WeighedNumbers weigh_items(Array<Item> items, Workers& workers) {
  sort_by_key(items, workers);
  WeighedNumbers all{Array<double>(items.size()), Array<double>(items.size())};
  std::size_t n = 0;
  for_each_row(items.size(), workers, [&](std::size_t i) {
    if (i == 0 || items[i].key.bits != items[i - 1].key.bits) {
      all.numbers[n] = items[i].key.number();
      all.weights[n++] = 0;
    }
    all.weights[n - 1] += items[i].weight();
  });
  all.numbers.resize(n);
  all.weights.resize(n);
  return all;
}

}  // namespace

WeighedNumbers weigh(const Column& column, const Column& weights, std::size_t n_rows, Workers& workers) {
  if (weights.data == nullptr) {
    const auto one = [](const Key& key, std::size_t) { return One{key}; };
    return weigh_items(known_items<One>(column, n_rows, workers, one), workers);
  }
  const auto weighed = [&](const Key& key, std::size_t row) { return Weighed{key, weights[row]}; };
  return weigh_items(known_items<Weighed>(column, n_rows, workers, weighed), workers);
}

}  // namespace bcart
