// Big tables: rows become codes, and rows of equal codes become groups.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "bcart/add_up.hpp"
#include "bcart/encode.hpp"
#include "bcart/group.hpp"
#include "bcart/weigh.hpp"
#include "bindings.hpp"

namespace bcart::bindings {
namespace {

using namespace nb::literals;
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;

// So many rows take longer to be read, or to be grouped, than another thread takes to start.
constexpr std::size_t kRowsToRead = 1U << 15, kRowsToGroup = 1U << 17;
constexpr std::size_t kFewRows = 1U << 14;  // which take no time

Column column_of(const Numbers& numbers) { return {numbers.data(), numbers.stride(0)}; }

Columns columns_of(const std::vector<Numbers>& columns) {
  Columns table;
  table.n_rows = columns.empty() ? 0 : columns.front().size();
  for (const Numbers& numbers : columns) {
    if (numbers.size() != table.n_rows) throw nb::value_error("columns must have the same length");
    table.columns.push_back(column_of(numbers));
  }
  return table;
}

std::vector<std::vector<double>> copies_of(const std::vector<Numbers>& arrays) {
  std::vector<std::vector<double>> copies;
  for (const Numbers& numbers : arrays) {
    const Column column = column_of(numbers);
    std::vector<double>& copy = copies.emplace_back(numbers.size());
    for (std::size_t i = 0; i < copy.size(); ++i) copy[i] = column[i];
  }
  return copies;
}

// By then the passes over rows that this thread begins must be over.
thread_local Clock::time_point deadline_of_rows = Clock::time_point::max();

// On as many threads as the rows are worth.
template <class Work>
auto at_work(std::size_t n_workers, std::size_t n_rows, const Work& work, std::size_t rows_per_worker = kRowsToRead) {
  const auto deadline = n_rows < kFewRows ? Clock::time_point::max() : deadline_of_rows;
  return bindings::at_work(std::min(n_workers, 1 + n_rows / rows_per_worker), work, deadline);
}

// The codes, one row behind the other, and for each column whether numbers are missing, and whether some are infinite.
template <class Code>
std::tuple<Output<Code, 1>, std::vector<bool>, std::vector<bool>> encode_columns(
    const std::vector<Numbers>& columns, const std::vector<Numbers>& cuts, const std::vector<std::uint32_t>& first_code,
    std::size_t n_workers) {
  const Columns table = columns_of(columns);
  if (cuts.size() != columns.size() || first_code.size() != columns.size()) {
    throw nb::value_error("each column needs its cuts and its first code");
  }
  const auto copies = copies_of(cuts);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (first_code[i] + copies[i].size() > std::numeric_limits<Code>::max()) throw nb::value_error("too many cuts");
  }
  const std::vector<Cuts> prepared(copies.begin(), copies.end());
  Array<Code> codes(table.n_rows * table.size());
  codes.expect_filling();
  const auto found = at_work(n_workers, table.n_rows, [&](Workers& workers) {
    return encode(table, prepared, first_code, codes.data(), workers);
  });
  std::vector<bool> has_missing, has_infinite;
  for (const Blemishes& blemishes : found) {
    has_missing.push_back(blemishes.has_missing);
    has_infinite.push_back(blemishes.has_infinite);
  }
  return {give(std::move(codes)), has_missing, has_infinite};
}

// Of each column: whether something is missing, whether there are many distinct numbers, and these (or the extremes).
std::vector<std::tuple<bool, bool, std::vector<double>>> survey_columns(const std::vector<Numbers>& columns,
                                                                        std::size_t max_distinct,
                                                                        std::size_t n_workers) {
  const Columns table = columns_of(columns);
  const auto extents =
      at_work(n_workers, table.n_rows, [&](Workers& workers) { return survey(table, max_distinct, workers); });
  std::vector<std::tuple<bool, bool, std::vector<double>>> result;
  for (const Extent& extent : extents) result.emplace_back(extent.has_missing, extent.has_many, extent.distinct);
  return result;
}

std::vector<std::pair<std::vector<double>, std::vector<double>>> bounds_of_columns(const std::vector<Numbers>& columns,
                                                                                   const std::vector<Numbers>& cuts,
                                                                                   std::size_t n_workers) {
  const Columns table = columns_of(columns);
  if (cuts.size() != columns.size()) throw nb::value_error("each column needs its cuts");
  const auto copies = copies_of(cuts);
  const auto bounds =
      at_work(n_workers, table.n_rows, [&](Workers& workers) { return find_bounds(table, copies, workers); });
  std::vector<std::pair<std::vector<double>, std::vector<double>>> result;
  for (const Bounds& here : bounds) result.emplace_back(here.lowest, here.highest);
  return result;
}

std::pair<Output<double, 1>, Output<double, 1>> weigh_column(const Numbers& column,
                                                             const std::optional<Numbers>& weights) {
  if (weights && weights->size() != column.size()) throw nb::value_error("each number needs its weight");
  const Column weight_of = weights ? column_of(*weights) : Column{};
  WeighedNumbers weighed = at_work(
      1, column.size(), [&](Workers& workers) { return weigh(column_of(column), weight_of, column.size(), workers); });
  return {give(std::move(weighed.numbers)), give(std::move(weighed.weights))};
}

// The groups, and the codes of each, one group behind the other.
template <class Code>
std::pair<Groups, Output<Code, 1>> group(const Input<Code, 2>& codes, std::size_t n_workers) {
  Array<Code> distinct;
  const auto work = [&](Workers& workers) {
    Groups found = group_rows(codes.data(), codes.shape(0), codes.shape(1), workers);
    distinct = codes_of_groups(found, codes.data(), codes.shape(1), workers);
    return found;
  };
  Groups groups = at_work(n_workers, codes.shape(0), work, kRowsToGroup);
  return {std::move(groups), give(std::move(distinct))};
}

using Sums = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void add(const Groups& groups, std::size_t begin, const Input<double, 2>& statistics, const Numbers& weights,
         const Sums& sums, std::size_t n_workers) {
  const Summands rows{statistics.shape(0), statistics.shape(1), statistics.data(), column_of(weights)};
  const std::size_t n_rows = groups.group_of.size();
  const bool are_rows = begin <= n_rows && rows.n_rows <= n_rows - begin && weights.size() == rows.n_rows;
  if (!are_rows || sums.shape(0) != groups.size() || sums.shape(1) != rows.n_statistics + 1) {
    throw nb::value_error("the statistics, weights and sums do not belong to the rows and groups");
  }
  at_work(n_workers, rows.n_rows,
          [&](Workers& workers) { add_up(groups.group_of.data() + begin, groups.size(), rows, sums.data(), workers); });
}

template <class Label>
void count(const Groups& groups, const Input<Label, 1>& labels, const Numbers& weights, const Sums& sums,
           std::size_t n_workers) {
  const Labelled<Label> rows{labels.size(), sums.shape(1) - 1, labels.data(), column_of(weights)};
  const bool are_rows = rows.n_rows == groups.group_of.size() && weights.size() == rows.n_rows;
  if (!are_rows || sums.shape(0) != groups.size() || sums.shape(1) == 0) {
    throw nb::value_error("the labels, weights and sums do not belong to the rows and groups");
  }
  const auto work = [&](Workers& workers) {
    count_labels(groups.group_of.data(), groups.size(), rows, sums.data(), workers);
  };
  at_work(n_workers, rows.n_rows, work, kRowsToGroup);
}

}  // namespace

void bind_rows(nb::module_& module) {
  const auto internal = nb::rv_policy::reference_internal;
  nb::class_<Groups>(module, "Groups")
      .def("__len__", &Groups::size)
      .def_prop_ro(
          "group_of", [](const Groups& g) { return view(g.group_of.data(), g.group_of.size()); }, internal)
      .def("add_up", &add, "begin"_a, "statistics"_a, "weights"_a, "sums"_a.noconvert(), "n_workers"_a,
           "Add statistics and weights of consecutive rows, the first being number `begin`, to the sums of the groups.")
      .def("count_labels", &count<std::uint8_t>, "labels"_a.noconvert(), "weights"_a, "sums"_a.noconvert(),
           "n_workers"_a)
      .def("count_labels", &count<std::int64_t>, "labels"_a.noconvert(), "weights"_a, "sums"_a.noconvert(),
           "n_workers"_a,
           "Add the weight of each row to the sum in the place of its label, and to the last sum of its group. Raises "
           "IndexError if a label has no place.");

  nb::exception<DeadlinePassed>(module, "DeadlinePassed", PyExc_TimeoutError);
  module.def(
      "limit_rows", [](std::optional<double> seconds) { deadline_of_rows = deadline_in(seconds); }, "seconds"_a.none(),
      "Let passes over rows that this thread begins end in so many seconds, with DeadlinePassed.");
  module.def("encode", &encode_columns<std::uint8_t>, "columns"_a, "cuts"_a, "first_code"_a, "n_workers"_a);
  module.def("encode_widely", &encode_columns<std::uint16_t>, "columns"_a, "cuts"_a, "first_code"_a, "n_workers"_a);
  module.def("survey", &survey_columns, "columns"_a, "max_distinct"_a, "n_workers"_a);
  module.def("find_bounds", &bounds_of_columns, "columns"_a, "cuts"_a, "n_workers"_a);
  module.def("weigh", &weigh_column, "column"_a, "weights"_a.none());
  module.def("group_rows", &group<std::uint8_t>, "codes"_a.noconvert(), "n_workers"_a);
  module.def("group_rows", &group<std::uint16_t>, "codes"_a.noconvert(), "n_workers"_a);
}

}  // namespace bcart::bindings
