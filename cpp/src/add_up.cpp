#include "bcart/add_up.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace bcart {
namespace {

constexpr std::size_t kRowsAtOnce = 1U << 14;
constexpr std::size_t kAhead = 16;  // so many sums are on their way from memory

// Sums of groups, one group behind the other, to which rows are added.
struct Sums {
  const Group* group_of;
  std::size_t n_groups;
  double* data;
  std::size_t width;

  double* of(std::size_t row) const { return data + group_of[row] * width; }

  // Calls add(row, sums of its group) for n rows, the first of which is row_of(0).
  template <class RowOf, class Add>
  void add_some(std::size_t n, const RowOf& row_of, const Add& add) const {
    for (std::size_t i = 0; i < n; ++i) {
      __builtin_prefetch(of(row_of(std::min(i + kAhead, n - 1))), 1);
      add(row_of(i), of(row_of(i)));
    }
  }
};

// Calls add(row, sums of its group) for each row. Each task owns some of the groups and goes through all rows: nobody
// waits, and no sum depends on who added it.
template <class Add>
void add_in_order(const Sums& sums, std::size_t n_rows, Workers& workers, const Add& add) {
  const std::size_t n_owners = workers.size();
  workers.run(n_owners, [&](std::size_t owner, std::size_t worker) {
    const auto begin = static_cast<Group>(sums.n_groups * owner / n_owners);
    const auto n_owned = static_cast<Group>(sums.n_groups * (owner + 1) / n_owners) - begin;
    std::vector<std::uint32_t> own(n_owners == 1 ? 0 : kRowsAtOnce);
    for (std::size_t start = 0; start < n_rows; start += kRowsAtOnce) {
      const std::size_t end = std::min(start + kRowsAtOnce, n_rows);
      std::size_t n_own = 0;
      for (std::size_t row = start; row < end && n_owners > 1; ++row) {
        own[n_own] = static_cast<std::uint32_t>(row);
        n_own += static_cast<Group>(sums.group_of[row] - begin) < n_owned;
      }
      if (n_owners == 1) {
        sums.add_some(end - start, [&](std::size_t i) { return start + i; }, add);
      } else {
        sums.add_some(n_own, [&](std::size_t i) { return own[i]; }, add);
      }
      workers.checkpoint(worker);
    }
  });
}

}  // namespace

void add_up(const Group* group_of, std::size_t n_groups, const Summands& rows, double* sums, Workers& workers) {
  const std::size_t n = rows.n_statistics;
  add_in_order({group_of, n_groups, sums, n + 1}, rows.n_rows, workers, [&](std::size_t row, double* sum) {
    const double weight = rows.weights[row];
    const double* const statistics = rows.statistics + row * n;
    for (std::size_t i = 0; i < n; ++i) sum[i] += statistics[i] * weight;
    sum[n] += weight;
  });
}

template <class Label>
void count_labels(const Group* group_of, std::size_t n_groups, const Labelled<Label>& rows, double* sums,
                  Workers& workers) {
  const std::size_t n = rows.n_labels;
  add_in_order({group_of, n_groups, sums, n + 1}, rows.n_rows, workers, [&](std::size_t row, double* sum) {
    const auto label = static_cast<std::size_t>(rows.labels[row]);
    if (label >= n) throw std::out_of_range("a label is negative, or not below the number of labels");
    const double weight = rows.weights[row];
    sum[label] += weight;
    sum[n] += weight;
  });
}

template void count_labels(const Group*, std::size_t, const Labelled<std::uint8_t>&, double*, Workers&);
template void count_labels(const Group*, std::size_t, const Labelled<std::int64_t>&, double*, Workers&);

}  // namespace bcart
