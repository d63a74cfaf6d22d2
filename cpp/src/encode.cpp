#include "bcart/encode.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "bcart/row_cuts.hpp"
#include "bcart/unroll.hpp"

namespace bcart {
namespace {

constexpr std::size_t kRowsAtOnce = 2048;  // that a worker takes
constexpr std::size_t kBatch = Cuts::kMostNumbers;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Calls task(begin, end, worker) for batches of rows.
template <class Task>
void for_each_batch(const Columns& table, Workers& workers, const Task& task) {
  workers.run_ranges(0, table.n_rows, kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t worker) {
    Steps steps(workers, worker);
    for (; begin < end; begin += kBatch) {
      task(begin, std::min(begin + kBatch, end), worker);
      steps.add(kBatch * table.size());
    }
  });
}

// A batch of numbers side by side: those of the column where they lie, or copies.
class Numbers {
 public:
  Numbers(const Column& column, std::size_t begin, std::size_t end) : size_(end - begin) {
    const double* const first = column.data + static_cast<std::ptrdiff_t>(begin) * column.stride;
    data_ = column.stride == 1 ? first : copies_;
    if (column.stride == 1) return;
    for (std::size_t i = 0; i < size_; ++i) copies_[i] = first[static_cast<std::ptrdiff_t>(i) * column.stride];
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  std::size_t size() const { return size_; }
  const double* data() const { return data_; }
  double operator[](std::size_t i) const { return data_[i]; }

 private:
  std::size_t size_;
  const double* data_;
  double copies_[kBatch];
};

Blemishes look_for_blemishes(const Numbers& numbers) {
  std::uint64_t missing = 0, infinite = 0;  // as wide as numbers, so that the compiler looks at several at once
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    missing |= numbers[i] != numbers[i] ? std::uint64_t{1} : 0;
    infinite |= std::abs(numbers[i]) == kInfinity ? std::uint64_t{1} : 0;
  }
  return {missing != 0, infinite != 0};
}

// The codes of some columns, those of a row side by side in one word.
template <class Code>
class Words {
 public:
  static constexpr std::size_t kMostColumns = sizeof(std::uint64_t) / sizeof(Code);

  Blemishes add(const Numbers& numbers, const Cuts& cuts, std::uint64_t first_code) {
    const int shift = 8 * static_cast<int>(sizeof(Code) * place(n_columns_++));
    first_ += first_code << shift;
    if (cuts.add_counts(numbers.data(), numbers.size(), shift, words_)) return {};
    const Blemishes found = look_for_blemishes(numbers);
    for (std::size_t i = 0; found.has_missing && i < numbers.size(); ++i) {
      words_[i] -= std::isnan(numbers[i]) ? first_code << shift : 0;
    }
    return found;
  }

  void write(Code* codes, std::size_t n_rows, std::size_t stride) const {
    with_indices<kMostColumns>(n_columns_, [&]<std::size_t... column>(std::index_sequence<column...>) {
      for (std::size_t row = 0; row < n_rows; ++row) {
        const std::uint64_t word = words_[row] + first_;
        std::memcpy(codes + row * stride, &word, sizeof...(column) * sizeof(Code));
      }
    });
  }

 private:
  static std::size_t place(std::size_t column) {
    return std::endian::native == std::endian::little ? column : kMostColumns - 1 - column;
  }

  std::size_t n_columns_ = 0;
  std::uint64_t first_ = 0;  // codes of all columns
  std::uint64_t words_[kBatch] = {};
};

void widen(const Numbers& numbers, const Cuts& cuts, double* lowest, double* highest) {
  std::int64_t bins[kBatch];
  cuts.count(numbers.data(), numbers.size(), bins);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double x = numbers[i];
    if (x < lowest[bins[i]]) lowest[bins[i]] = x + 0.0;  // -0.0 and 0.0 are one number
    if (x > highest[bins[i]]) highest[bins[i]] = x + 0.0;
  }
}

// The distinct numbers of a column that one worker has met, up to one more than are of interest.
struct NumbersMet {
  bool has_missing = false;
  double lowest = kInfinity, highest = -kInfinity;
  std::vector<double> distinct;

  void insert(double x, std::size_t max_distinct) {
    const auto place = std::lower_bound(distinct.begin(), distinct.end(), x);
    if (place != distinct.end() && *place == x) return;
    if (distinct.size() <= max_distinct) distinct.insert(place, x + 0.0);
  }
};

void look_for_extremes(const Column& column, std::size_t begin, std::size_t end, NumbersMet& met) {
  double lowest = met.lowest, highest = met.highest;
  bool has_missing = false;
  for (std::size_t row = begin; row < end; ++row) {
    const double x = column[row];
    has_missing |= std::isnan(x);
    lowest = x < lowest ? x : lowest;
    highest = x > highest ? x : highest;
  }
  met.lowest = lowest;
  met.highest = highest;
  met.has_missing |= has_missing;
}

// Returns whether there are more than are of interest.
bool look_for_distinct(const Column& column, std::size_t begin, std::size_t end, std::size_t max_distinct,
                       NumbersMet& met) {
  double last = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t row = begin; row < end; ++row) {
    const double x = column[row];
    if (x == last || std::isnan(x)) continue;
    met.insert(x, max_distinct);
    if (met.distinct.size() > max_distinct) return true;
    last = x;
  }
  return false;
}

Extent put_together(const std::vector<NumbersMet>& met, std::size_t column, std::size_t n_columns, bool has_many,
                    std::size_t max_distinct) {
  NumbersMet all;
  for (std::size_t i = column; i < met.size(); i += n_columns) {
    all.has_missing |= met[i].has_missing;
    all.lowest = std::min(all.lowest, met[i].lowest);
    all.highest = std::max(all.highest, met[i].highest);
    for (const double x : met[i].distinct) all.insert(x, max_distinct);
  }
  if (!has_many && all.distinct.size() <= max_distinct) return {all.has_missing, false, all.distinct};
  return {all.has_missing, true, {all.lowest + 0.0, all.highest + 0.0}};
}

// Whether each row lies behind the one before, its numbers side by side.
bool has_rows_in_order(const Columns& table) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Column& column = table.columns[i];
    if (column.data != table.columns[0].data + i || column.stride != static_cast<std::ptrdiff_t>(table.size()))
      return false;
  }
  return table.size() > 0;
}

// Codes of missing numbers are none, and what each column holds besides finite numbers is added to what was found.
void mend_codes(const Columns& table, std::size_t begin, std::size_t end, std::uint8_t* codes, Blemishes* found) {
  for (std::size_t column = 0; column < table.size(); ++column) {
    for (std::size_t row = begin; row < end; ++row) {
      const double x = table.columns[column][row];
      found[column] |= {std::isnan(x), std::abs(x) == kInfinity};
      if (std::isnan(x)) codes[row * table.size() + column] = 0;
    }
  }
}

void encode_rows(const Columns& table, const RowCuts& cuts, std::uint8_t* codes, std::vector<Blemishes>& found,
                 Workers& workers) {
  const std::size_t n = table.size();
  workers.run_ranges(0, table.n_rows, kRowsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t worker) {
    if (cuts.encode(table.columns[0].data + begin * n, (end - begin) * n, codes + begin * n)) return;
    mend_codes(table, begin, end, codes, found.data() + worker * n);
  });
}

template <class Code>
void encode_columns(const Columns& table, const std::vector<Cuts>& cuts, const std::vector<std::uint32_t>& first_code,
                    Code* codes, std::vector<Blemishes>& found, Workers& workers) {
  const std::size_t n_columns = table.size();
  for_each_batch(table, workers, [&](std::size_t begin, std::size_t end, std::size_t worker) {
    for (std::size_t first = 0; first < n_columns; first += Words<Code>::kMostColumns) {
      Words<Code> words;
      for (std::size_t i = first; i < std::min(first + Words<Code>::kMostColumns, n_columns); ++i) {
        found[worker * n_columns + i] |= words.add(Numbers(table.columns[i], begin, end), cuts[i], first_code[i]);
      }
      words.write(codes + begin * n_columns + first, end - begin, n_columns);
    }
  });
}

}  // namespace

template <class Code>
std::vector<Blemishes> encode(const Columns& table, const std::vector<Cuts>& cuts,
                              const std::vector<std::uint32_t>& first_code, Code* codes, Workers& workers) {
  const std::size_t n_columns = table.size();
  std::vector<Blemishes> found(n_columns * workers.size());
  std::optional<RowCuts> row_cuts;
  if constexpr (std::is_same_v<Code, std::uint8_t>) {
    if (has_rows_in_order(table)) row_cuts = RowCuts::of(cuts, first_code);
    if (row_cuts) encode_rows(table, *row_cuts, codes, found, workers);
  }
  if (!row_cuts) encode_columns(table, cuts, first_code, codes, found, workers);
  for (std::size_t i = n_columns; i < found.size(); ++i) found[i % n_columns] |= found[i];
  found.resize(n_columns);
  return found;
}

template std::vector<Blemishes> encode(const Columns&, const std::vector<Cuts>&, const std::vector<std::uint32_t>&,
                                       std::uint8_t*, Workers&);
template std::vector<Blemishes> encode(const Columns&, const std::vector<Cuts>&, const std::vector<std::uint32_t>&,
                                       std::uint16_t*, Workers&);

std::vector<Extent> survey(const Columns& table, std::size_t max_distinct, Workers& workers) {
  const std::size_t n_columns = table.size();
  std::vector<NumbersMet> all_met(n_columns * workers.size());
  std::vector<std::atomic<bool>> has_many(n_columns);
  for_each_batch(table, workers, [&](std::size_t begin, std::size_t end, std::size_t worker) {
    for (std::size_t column = 0; column < n_columns; ++column) {
      const Column& numbers = table.columns[column];
      NumbersMet& met = all_met[worker * n_columns + column];
      look_for_extremes(numbers, begin, end, met);
      if (has_many[column].load(std::memory_order_relaxed)) continue;
      if (look_for_distinct(numbers, begin, end, max_distinct, met)) has_many[column] = true;
    }
  });
  std::vector<Extent> extents;
  for (std::size_t column = 0; column < n_columns; ++column) {
    extents.push_back(put_together(all_met, column, n_columns, has_many[column], max_distinct));
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
  for_each_batch(table, workers, [&](std::size_t begin, std::size_t end, std::size_t worker) {
    for (std::size_t column = 0; column < n_columns; ++column) {
      Bounds& bounds = found[worker * n_columns + column];
      const Numbers numbers(table.columns[column], begin, end);
      widen(numbers, prepared[column], bounds.lowest.data(), bounds.highest.data());
    }
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
