#include <map>
#include <random>
#include <stdexcept>
#include <vector>

#include "bcart/add_up.hpp"
#include "bcart/group.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace bcart::check {
namespace {

using Word = std::vector<std::uint32_t>;

template <class Code>
struct Rows {
  std::size_t n_features;
  std::vector<Code> codes;

  std::size_t size() const { return codes.size() / n_features; }
  Word row(std::size_t i) const {
    return {codes.begin() + static_cast<std::ptrdiff_t>(i * n_features),
            codes.begin() + static_cast<std::ptrdiff_t>((i + 1) * n_features)};
  }
};

// Rows that are copies of a few, so that groups have several.
template <class Code>
Rows<Code> random_rows(std::mt19937_64& random, std::size_t n_rows, std::size_t n_features, std::size_t n_codes,
                       std::size_t n_distinct) {
  Rows<Code> rows{n_features, {}};
  std::vector<Code> originals(n_distinct * n_features);
  for (Code& code : originals) code = static_cast<Code>(pick(random, n_codes));
  for (std::size_t i = 0; i < n_rows; ++i) {
    const auto original = originals.begin() + static_cast<std::ptrdiff_t>(pick(random, n_distinct) * n_features);
    rows.codes.insert(rows.codes.end(), original, original + static_cast<std::ptrdiff_t>(n_features));
  }
  return rows;
}

// The map sorts rows as words in a dictionary.
template <class Code>
void check_groups(const Rows<Code>& rows, std::size_t n_workers) {
  std::map<Word, std::size_t> number;
  for (std::size_t i = 0; i < rows.size(); ++i) number.try_emplace(rows.row(i));
  std::size_t n_groups = 0;
  for (auto& [row, group] : number) group = n_groups++;
  Monitor monitor;
  Workers workers(n_workers, monitor);
  const Groups groups = group_rows(rows.codes.data(), rows.size(), rows.n_features, workers);
  CHECK_EQUAL(groups.size(), n_groups);
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK_EQUAL(groups.group_of[i], number[rows.row(i)]);
  const Array<Code> codes = codes_of_groups(groups, rows.codes.data(), rows.n_features, workers);
  const Rows<Code> distinct{rows.n_features, {codes.begin(), codes.end()}};
  for (std::size_t group = 0; group < n_groups; ++group) CHECK_EQUAL(number[distinct.row(group)], group);
}

}  // namespace

TEST(groups_are_numbered_as_words_in_a_dictionary) {
  std::mt19937_64 random(1);
  for (const std::size_t n_workers : {1, 2, 4}) {
    for (const std::size_t n_features : {1, 2, 6, 7, 8, 9, 25}) {
      for (const std::size_t n_codes : {1, 3, 10, 256}) {
        check_groups(random_rows<std::uint8_t>(random, 3000, n_features, n_codes, 500), n_workers);
      }
    }
  }
}

TEST(wide_codes_are_grouped_alike) {
  std::mt19937_64 random(2);
  for (const std::size_t n_features : {1, 3, 4, 5, 9}) {
    check_groups(random_rows<std::uint16_t>(random, 3000, n_features, 65'536, 1500), 2);
    check_groups(random_rows<std::uint16_t>(random, 3000, n_features, 46, 1500), 2);
  }
}

TEST(many_groups_are_found_by_many_workers) {
  std::mt19937_64 random(3);
  check_groups(random_rows<std::uint8_t>(random, 100'000, 12, 256, 90'000), 3);
  check_groups(random_rows<std::uint8_t>(random, 100'000, 6, 10, 90'000), 3);
  check_groups(random_rows<std::uint8_t>(random, 600'000, 7, 256, 2'000'000), 1);
}

TEST(no_rows_make_no_groups) {
  check_groups(Rows<std::uint8_t>{3, {}}, 2);
  check_groups(Rows<std::uint8_t>{12, std::vector<std::uint8_t>(12, 255)}, 2);
}

TEST(sums_have_the_bits_of_a_plain_loop) {
  std::mt19937_64 random(4);
  constexpr std::size_t n_rows = 50'000, n_groups = 37, width = 3;
  std::vector<Group> group_of(n_rows);
  std::vector<double> statistics(n_rows * 2), weights(n_rows), expected(n_groups * width, 0.5);
  for (Group& group : group_of) group = static_cast<Group>(pick(random, n_groups));
  for (double& x : statistics) x = static_cast<double>(random()) * 1e-19 - 0.3;
  for (double& x : weights) x = static_cast<double>(random()) * 1e-19;
  for (std::size_t row = 0; row < n_rows; ++row) {
    double* const sums = expected.data() + group_of[row] * width;
    sums[0] += statistics[2 * row] * weights[row];
    sums[1] += statistics[2 * row + 1] * weights[row];
    sums[2] += weights[row];
  }
  for (const std::size_t n_workers : {1, 2, 3, 8, 64}) {
    Monitor monitor;
    Workers workers(n_workers, monitor);
    std::vector<double> sums(n_groups * width, 0.5);
    add_up(group_of.data(), n_groups, {n_rows, 2, statistics.data(), {weights.data(), 1}}, sums.data(), workers);
    CHECK(sums == expected);
  }
}

TEST(labels_are_counted_by_weight) {
  std::mt19937_64 random(5);
  constexpr std::size_t n_rows = 50'000, n_groups = 11, n_labels = 3;
  std::vector<Group> group_of(n_rows);
  std::vector<std::int64_t> labels(n_rows);
  std::vector<double> weights(n_rows), statistics(n_rows * n_labels);
  for (std::size_t row = 0; row < n_rows; ++row) {
    group_of[row] = static_cast<Group>(pick(random, n_groups));
    labels[row] = static_cast<std::int64_t>(pick(random, n_labels));
    weights[row] = static_cast<double>(random()) * 1e-19;
    statistics[row * n_labels + static_cast<std::size_t>(labels[row])] = 1;
  }
  for (const std::size_t n_workers : {1, 3}) {
    Monitor monitor;
    Workers workers(n_workers, monitor);
    std::vector<double> counts(n_groups * (n_labels + 1)), sums(counts.size());
    const Labelled<std::int64_t> rows{n_rows, n_labels, labels.data(), {weights.data(), 1}};
    count_labels(group_of.data(), n_groups, rows, counts.data(), workers);
    add_up(group_of.data(), n_groups, {n_rows, n_labels, statistics.data(), {weights.data(), 1}}, sums.data(), workers);
    CHECK(counts == sums);
  }
}

TEST(a_label_without_a_place_ends_the_count) {
  constexpr std::size_t n_rows = 50'000;
  const std::vector<Group> group_of(n_rows);
  const double weight = 1;
  for (const std::int64_t label : {-1, 2}) {
    std::vector<std::int64_t> labels(n_rows, 1);
    labels[40'000] = label;
    for (const std::size_t n_workers : {1, 2}) {
      Monitor monitor;
      Workers workers(n_workers, monitor);
      std::vector<double> counts(3);
      bool is_refused = false;
      try {
        count_labels(group_of.data(), 1, Labelled<std::int64_t>{n_rows, 2, labels.data(), {&weight, 0}}, counts.data(),
                     workers);
      } catch (const std::out_of_range&) {
        is_refused = true;
      }
      CHECK(is_refused);
    }
  }
}

TEST(one_weight_can_stand_for_all) {
  const std::vector<Group> group_of = {0, 1, 0};
  const std::vector<double> statistics = {1, 2, 3};
  const double weight = 2;
  std::vector<double> sums(4);
  Monitor monitor;
  Workers workers(2, monitor);
  add_up(group_of.data(), 2, {3, 1, statistics.data(), {&weight, 0}}, sums.data(), workers);
  CHECK(sums == (std::vector<double>{8, 4, 4, 2}));
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
