#include "bcart/encode.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

namespace bcart {
namespace {

// All columns of so many rows stay in a near cache while they are read one after the other.
constexpr std::size_t kRowsAtOnce = 2048;
constexpr std::size_t kFewCuts = 20;  // that are faster compared one by one than searched
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Calls task(column, begin, end, worker) for each column of some rows after the other.
template <class Task>
void for_each_part(const Columns& table, Workers& workers, const Task& task) {
  workers.run_ranges(0, table.n_rows, kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t worker) {
    for (std::size_t column = 0; column < table.size(); ++column) task(column, begin, end, worker);
  });
}

// Some numbers of a column and how many cuts are not above each, in short arrays that are apart from all others.
struct Batch {
  std::size_t begin = 0, size = 0;
  double numbers[Cuts::kMostAtOnce];
  std::int64_t counts[Cuts::kMostAtOnce];
};

template <class Task>
void for_each_batch(const Column& column, const Cuts& cuts, std::size_t begin, std::size_t end, const Task& task) {
  Batch batch;
  for (batch.begin = begin; batch.begin < end; batch.begin += batch.size) {
    batch.size = std::min(Cuts::kMostAtOnce, end - batch.begin);
    for (std::size_t i = 0; i < batch.size; ++i) batch.numbers[i] = column[batch.begin + i];
    cuts.count(batch.numbers, batch.size, batch.counts);
    task(batch);
  }
}

// Returns whether a number is missing.
template <class Code>
bool write_codes(const Batch& batch, std::int64_t first_code, Code* codes, std::size_t stride) {
  std::int64_t n_missing = 0;
  for (std::size_t i = 0; i < batch.size; ++i) {
    const std::int64_t is_known = batch.numbers[i] == batch.numbers[i] ? 1 : 0;
    n_missing += 1 - is_known;
    codes[i * stride] = static_cast<Code>((first_code + batch.counts[i]) * is_known);
  }
  return n_missing > 0;
}

void widen(const Batch& batch, double* lowest, double* highest) {
  for (std::size_t i = 0; i < batch.size; ++i) {
    const double x = batch.numbers[i];
    const std::int64_t bin = batch.counts[i];
    if (x < lowest[bin]) lowest[bin] = x + 0.0;  // -0.0 and 0.0 are one number
    if (x > highest[bin]) highest[bin] = x + 0.0;
  }
}

// The distinct numbers of a column that one worker has met, up to one more than are of interest.
struct Sight {
  bool has_missing = false;
  double lowest = kInfinity, highest = -kInfinity;
  std::vector<double> distinct;

  void insert(double x, std::size_t max_distinct) {
    const auto place = std::lower_bound(distinct.begin(), distinct.end(), x);
    if (place != distinct.end() && *place == x) return;
    if (distinct.size() <= max_distinct) distinct.insert(place, x + 0.0);
  }
};

void look_for_extremes(const Column& column, std::size_t begin, std::size_t end, Sight& sight) {
  double lowest = sight.lowest, highest = sight.highest;
  bool has_missing = false;
  for (std::size_t row = begin; row < end; ++row) {
    const double x = column[row];
    has_missing |= std::isnan(x);
    lowest = x < lowest ? x : lowest;
    highest = x > highest ? x : highest;
  }
  sight.lowest = lowest;
  sight.highest = highest;
  sight.has_missing |= has_missing;
}

// Returns whether there are more than are of interest.
bool look_for_distinct(const Column& column, std::size_t begin, std::size_t end, std::size_t max_distinct,
                       Sight& sight) {
  double last = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t row = begin; row < end; ++row) {
    const double x = column[row];
    if (x == last || std::isnan(x)) continue;
    sight.insert(x, max_distinct);
    if (sight.distinct.size() > max_distinct) return true;
    last = x;
  }
  return false;
}

Extent put_together(const std::vector<Sight>& sights, std::size_t column, std::size_t n_columns, bool has_many,
                    std::size_t max_distinct) {
  Sight all;
  for (std::size_t i = column; i < sights.size(); i += n_columns) {
    all.has_missing |= sights[i].has_missing;
    all.lowest = std::min(all.lowest, sights[i].lowest);
    all.highest = std::max(all.highest, sights[i].highest);
    for (const double x : sights[i].distinct) all.insert(x, max_distinct);
  }
  if (!has_many && all.distinct.size() <= max_distinct) return {all.has_missing, false, all.distinct};
  return {all.has_missing, true, {all.lowest + 0.0, all.highest + 0.0}};
}

}  // namespace

Cuts::Cuts(const std::vector<double>& cuts) : n_cuts_(cuts.size()) {
  while (cuts.size() >= 1ULL << n_levels_) ++n_levels_;
  padded_.assign(std::max<std::size_t>(1ULL << n_levels_, 4), std::numeric_limits<double>::quiet_NaN());
  std::copy(cuts.begin(), cuts.end(), padded_.begin());
}

void Cuts::count(const double* numbers, std::size_t n, std::int64_t* counts) const {
  const double* const padded = padded_.data();
  constexpr std::int64_t kOne = 1;  // as wide as a number, so that the compiler can count side by side
  std::fill(counts, counts + n, 0);
  if (n_cuts_ <= kFewCuts) {
    for (std::size_t cut = 0; cut < n_cuts_; cut += 4) {
      const double a = padded[cut], b = padded[cut + 1], c = padded[cut + 2], d = padded[cut + 3];
      for (std::size_t i = 0; i < n; ++i) {
        const double x = numbers[i];
        counts[i] += (x >= a ? kOne : 0) + (x >= b ? kOne : 0) + (x >= c ? kOne : 0) + (x >= d ? kOne : 0);
      }
    }
    return;
  }
  for (int level = n_levels_; level-- > 0;) {
    const double* const middle = padded + (1LL << level) - 1;
    for (std::size_t i = 0; i < n; ++i) {
      counts[i] |= static_cast<std::int64_t>(numbers[i] >= middle[counts[i]]) << level;
    }
  }
}

template <class Code>
std::vector<std::uint8_t> encode(const Columns& table, const std::vector<Cuts>& cuts,
                                 const std::vector<std::uint32_t>& first_code, Code* codes, Workers& workers) {
  const std::size_t n_columns = table.size();
  std::vector<std::uint8_t> seen(n_columns * workers.size());  // of each worker and column: is a number missing
  for_each_part(table, workers, [&](std::size_t column, std::size_t begin, std::size_t end, std::size_t worker) {
    std::uint8_t& has_missing = seen[worker * n_columns + column];
    for_each_batch(table.columns[column], cuts[column], begin, end, [&](const Batch& batch) {
      Code* const first = codes + batch.begin * n_columns + column;
      if (write_codes(batch, first_code[column], first, n_columns)) has_missing = 1;
    });
  });
  for (std::size_t i = n_columns; i < seen.size(); ++i) seen[i % n_columns] |= seen[i];
  seen.resize(n_columns);
  return seen;
}

template std::vector<std::uint8_t> encode(const Columns&, const std::vector<Cuts>&, const std::vector<std::uint32_t>&,
                                          std::uint8_t*, Workers&);
template std::vector<std::uint8_t> encode(const Columns&, const std::vector<Cuts>&, const std::vector<std::uint32_t>&,
                                          std::uint16_t*, Workers&);

std::vector<Extent> survey(const Columns& table, std::size_t max_distinct, Workers& workers) {
  const std::size_t n_columns = table.size();
  std::vector<Sight> sights(n_columns * workers.size());
  std::vector<std::atomic<bool>> has_many(n_columns);
  for_each_part(table, workers, [&](std::size_t column, std::size_t begin, std::size_t end, std::size_t worker) {
    const Column& numbers = table.columns[column];
    Sight& sight = sights[worker * n_columns + column];
    look_for_extremes(numbers, begin, end, sight);
    if (has_many[column].load(std::memory_order_relaxed)) return;
    if (look_for_distinct(numbers, begin, end, max_distinct, sight)) has_many[column] = true;
  });
  std::vector<Extent> extents;
  for (std::size_t column = 0; column < n_columns; ++column) {
    extents.push_back(put_together(sights, column, n_columns, has_many[column], max_distinct));
  }
  return extents;
}

std::vector<Bounds> find_bounds(const Columns& table, const std::vector<std::vector<double>>& cuts, Workers& workers) {
  const std::size_t n_columns = table.size();
  const std::vector<Cuts> prepared(cuts.begin(), cuts.end());
  std::vector<Bounds> found(n_columns * workers.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t n_bins = cuts[i % n_columns].size() + 1;
    found[i] = {std::vector<double>(n_bins, kInfinity), std::vector<double>(n_bins, -kInfinity)};
  }
  for_each_part(table, workers, [&](std::size_t column, std::size_t begin, std::size_t end, std::size_t worker) {
    Bounds& bounds = found[worker * n_columns + column];
    for_each_batch(table.columns[column], prepared[column], begin, end,
                   [&](const Batch& batch) { widen(batch, bounds.lowest.data(), bounds.highest.data()); });
  });
  for (std::size_t i = n_columns; i < found.size(); ++i) {
    Bounds& all = found[i % n_columns];
    for (std::size_t bin = 0; bin < all.lowest.size(); ++bin) {
      all.lowest[bin] = std::min(all.lowest[bin], found[i].lowest[bin]);
      all.highest[bin] = std::max(all.highest[bin], found[i].highest[bin]);
    }
  }
  found.resize(n_columns);
  return found;
}

}  // namespace bcart
