#include "bcart/splits.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace bcart::check {
namespace {

Fingerprint fingerprint_of(const std::vector<Cell>& box, const std::vector<Fingerprint>& words) {
  Fingerprint sum;
  for (const Cell cell : box) sum += words[cell];
  return sum;
}

// The left cells of a split as bits; zero for boxes that have more cells than a word has bits.
std::uint64_t mask_of(const PlainSplit& split) {
  std::vector<Cell> box = split.left;
  box.insert(box.end(), split.right.begin(), split.right.end());
  std::sort(box.begin(), box.end());
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < box.size() && box.size() <= 64; ++i) {
    mask |= std::uint64_t{std::binary_search(split.left.begin(), split.left.end(), box[i])} << i;
  }
  return mask;
}

SplitRules ready_rules(const Cells& cells, const Family& family) {
  Monitor monitor;
  Workers alone(1, monitor);
  SplitRules rules(cells, family, alone);
  rules.find_answers(alone);
  return rules;
}

void check_same(std::span<const Split> found, const std::vector<PlainSplit>& expected, const SplitRules& rules,
                const std::vector<Fingerprint>& words) {
  CHECK_EQUAL(found.size(), expected.size());
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    CHECK(rules.numbers().test(found[i].test) == expected[i].test);
    CHECK(found[i].mask == 0 || found[i].mask == mask_of(expected[i]));
    CHECK_EQUAL(found[i].n_cells[0], expected[i].left.size());
    CHECK_EQUAL(found[i].n_cells[1], expected[i].right.size());
    CHECK(found[i].keys[0] == fingerprint_of(expected[i].left, words));
    CHECK(found[i].keys[1] == fingerprint_of(expected[i].right, words));
  }
}

// A non-empty random subset, in ascending order.
std::vector<Cell> random_box(std::mt19937_64& random, std::size_t n_cells, std::size_t max_size) {
  std::set<Cell> box;
  for (std::size_t i = 1 + pick(random, max_size); i > 0; --i) box.insert(static_cast<Cell>(pick(random, n_cells)));
  return {box.begin(), box.end()};
}

// All ways to find the splits of random boxes of one problem against the definition.
void check_boxes(std::mt19937_64& random, const Problem& problem, const Family& family, int n_boxes) {
  const Cells cells = problem.cells();
  const SplitRules rules = ready_rules(cells, family);
  const std::vector<Fingerprint> words = cell_fingerprints(cells.n_cells);
  SplitFinder finder(rules);  // one for all boxes: nothing may be left over from one to the next
  for (int i = 0; i < n_boxes; ++i) {
    const std::vector<Cell> box = random_box(random, cells.n_cells, i % 4 == 0 ? 8 : 64);
    const std::vector<PlainSplit> expected = plain_splits(problem, family, box);
    Array<Split> by_masks;
    Array<Split> by_bins;
    finder.find_by_masks(box, by_masks);
    finder.find_by_bins(box, by_bins);
    check_same({by_masks.begin(), by_masks.end()}, expected, rules, words);
    for (const Split& split : by_masks) CHECK(split.mask != 0);
    check_same({by_bins.begin(), by_bins.end()}, expected, rules, words);
    CHECK(expected.size() <= rules.max_splits(box.size()));
  }
}

// Both ways against the definition, also for more cells than a word has bits where there is only one.
void check_large_boxes(std::mt19937_64& random, const Problem& problem, const Family& family, int n_boxes) {
  const Cells cells = problem.cells();
  const SplitRules rules = ready_rules(cells, family);
  const std::vector<Fingerprint> words = cell_fingerprints(cells.n_cells);
  SplitFinder finder(rules);
  for (int i = 0; i < n_boxes; ++i) {
    const std::vector<Cell> box = random_box(random, cells.n_cells, 300);
    Array<Split> found;
    finder.find(box, found);
    check_same({found.begin(), found.end()}, plain_splits(problem, family, box), rules, words);
    Array<Split> by_bins;
    finder.find_by_bins(box, by_bins);
    check_same({by_bins.begin(), by_bins.end()}, plain_splits(problem, family, box), rules, words);
    CHECK(found.size() <= rules.max_splits(box.size()));
  }
}

std::vector<std::size_t> some_bins(std::mt19937_64& random) { return random_bins(random, 1 + pick(random, 7), 12); }

}  // namespace

TEST(both_ways_list_each_bipartition_once) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 60; ++i) check_boxes(random, random_problem(random, 100, some_bins(random)), {}, 30);
}

TEST(both_ways_agree_on_features_of_all_kinds) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 150; ++i) {
    check_boxes(random, mixed_problem(random, 100, 6, 1 + pick(random, 12)), {}, 30);
    check_large_boxes(random, mixed_problem(random, 300, 6, 12), {}, 3);
  }
}

TEST(features_of_one_kind_only) {
  std::mt19937_64 random(9);
  for (const Kind kind : {Kind::optional, Kind::nominal}) {
    for (int i = 0; i < 30; ++i) {
      const std::vector<std::size_t> n_bins = some_bins(random);
      const Problem problem = random_problem(random, 200, n_bins, std::vector<Kind>(n_bins.size(), kind));
      check_boxes(random, problem, {}, 30);
      check_large_boxes(random, problem, {}, 3);
    }
  }
}

TEST(a_feature_that_is_mostly_or_always_missing) {
  std::mt19937_64 random(10);
  Problem problem = random_problem(random, 60, {1, 2, 6}, {Kind::optional, Kind::optional, Kind::optional});
  check_boxes(random, problem, {}, 100);
  for (Cell cell = 0; cell < problem.n_cells(); ++cell) {
    if (cell % 7 != 0) problem.codes[cell * 3 + 2] = 0;  // cells may repeat: to splits that is all the same
  }
  check_boxes(random, problem, {}, 200);
}

TEST(the_splits_of_one_optional_feature_in_their_order) {
  const Problem problem = {1, {4}, {Kind::optional}, {0, 1, 2, 3}, {1, 1, 1, 1}, {1, 1, 1, 1}};
  const Cells cells = problem.cells();
  const SplitRules rules = ready_rules(cells, {});
  SplitFinder finder(rules);
  const auto tests_of = [&](const std::vector<Cell>& box) {
    Array<Split> splits;
    finder.find(box, splits);
    std::vector<Test> tests;
    for (const Split& split : splits) tests.push_back(rules.numbers().test(split.test));
    return tests;
  };
  CHECK((tests_of({0, 1, 2, 3}) == std::vector<Test>{{0, Form::is_missing, 0, 0},
                                                     {0, Form::missing_left, 1, 2},
                                                     {0, Form::missing_left, 2, 3},
                                                     {0, Form::missing_right, 1, 2},
                                                     {0, Form::missing_right, 2, 3}}));
  CHECK((tests_of({1, 2, 3}) == std::vector<Test>{{0, Form::below, 1, 2}, {0, Form::below, 2, 3}}));
  CHECK(
      (tests_of({0, 1, 3}) ==
       std::vector<Test>{{0, Form::is_missing, 0, 0}, {0, Form::missing_left, 1, 3}, {0, Form::missing_right, 1, 3}}));
  CHECK((tests_of({0, 2}) == std::vector<Test>{{0, Form::is_missing, 0, 0}}));
}

TEST(of_two_labels_only_the_first_is_asked_for) {
  const Problem problem = {1, {5}, {Kind::nominal}, {1, 3, 4}, {1, 1, 1}, {1, 1, 1}};
  const Cells cells = problem.cells();
  const SplitRules rules = ready_rules(cells, {});
  SplitFinder finder(rules);
  Array<Split> splits;
  const std::vector<Cell> three{0, 1, 2};
  finder.find(three, splits);
  CHECK_EQUAL(splits.size(), std::size_t{3});
  CHECK(rules.numbers().test(splits[0].test) == (Test{0, Form::equals, 1, 1}));
  CHECK(rules.numbers().test(splits[2].test) == (Test{0, Form::equals, 4, 4}));
  splits.resize(0);
  const std::vector<Cell> two{1, 2};
  finder.find(two, splits);
  CHECK_EQUAL(splits.size(), std::size_t{1});
  CHECK(rules.numbers().test(splits[0].test) == (Test{0, Form::equals, 3, 3}));
}

TEST(copies_and_complements_of_features_add_no_split_and_no_work) {
  std::mt19937_64 random(2);
  Problem problem = random_problem(random, 40, {5, 3});
  Problem doubled = problem;
  doubled.n_features = 4;
  doubled.n_bins = {5, 3, 5, 3};
  doubled.kinds.assign(4, Kind::numeric);
  doubled.codes.clear();
  for (Cell cell = 0; cell < problem.n_cells(); ++cell) {
    const Code a = problem.code(cell, 0);
    const Code b = problem.code(cell, 1);
    for (const int code : {int{a}, int{b}, 4 - a, int{b}}) doubled.codes.push_back(static_cast<Code>(code));
  }
  std::vector<Cell> all;
  for (Cell cell = 0; cell < problem.n_cells(); ++cell) all.push_back(cell);
  CHECK_EQUAL(plain_splits(doubled, {}, all).size(), plain_splits(problem, {}, all).size());
  const auto most_splits = [&](const Problem& some) { return ready_rules(some.cells(), {}).max_splits(all.size()); };
  CHECK_EQUAL(most_splits(doubled), most_splits(problem));
  check_boxes(random, doubled, {}, 200);
}

TEST(binary_features) {
  std::mt19937_64 random(3);
  check_boxes(random, random_problem(random, 300, std::vector<std::size_t>(20, 2)), {}, 500);
  check_boxes(random, random_problem(random, 300, std::vector<std::size_t>(70, 2)), {}, 200);
}

TEST(as_many_bins_as_there_can_be) {
  std::mt19937_64 random(4);
  const std::vector<std::size_t> n_bins{255, 1, 255, 64, 65};
  check_boxes(random, random_problem(random, 200, n_bins), {}, 200);
  for (int i = 0; i < 5; ++i) check_boxes(random, random_problem(random, 200, n_bins, random_kinds(random, 5)), {}, 50);
}

TEST(cuts_that_fill_words_of_64_bits_exactly) {
  std::mt19937_64 random(5);
  check_boxes(random, random_problem(random, 200, {33, 33}), {}, 200);
  check_boxes(random, random_problem(random, 200, {65, 65}), {}, 200);
  check_boxes(random, random_problem(random, 200, {64, 64}, {Kind::nominal, Kind::nominal}), {}, 200);
  check_boxes(random, random_problem(random, 200, {33, 65}, {Kind::optional, Kind::nominal}), {}, 200);
}

TEST(light_sides_and_light_boxes_are_left_alone) {
  std::mt19937_64 random(6);
  for (const double minimum : {0.0, 0.25, 0.5, 1.0, 3.0, 10.0, 1000.0}) {
    for (int i = 0; i < 8; ++i) {
      const Problem problem = random_problem(random, 100, some_bins(random));
      check_boxes(random, problem, {{}, minimum, 2}, 30);
      check_boxes(random, problem, {{}, 0.25, minimum}, 30);
      check_boxes(random, problem, {{}, minimum, 3 * minimum}, 30);
      const Problem mixed = mixed_problem(random, 100, 6, 8);
      check_boxes(random, mixed, {{}, minimum, 2}, 30);
      check_large_boxes(random, mixed, {{}, minimum, 3 * minimum}, 5);
    }
  }
}

TEST(weights_that_are_short_by_rounding_are_enough) {
  Problem problem = {1, {20}, {Kind::numeric}, {}, {}, {}};
  std::vector<Cell> box;
  for (Cell cell = 0; cell < 20; ++cell) {
    problem.codes.push_back(static_cast<Code>(cell));
    problem.statistics.push_back(1);
    problem.weights.push_back(0.1);
    box.push_back(cell);
  }
  const Cells cells = problem.cells();
  const SplitRules rules = ready_rules(cells, {{}, 1.0, 2.0});
  SplitFinder finder(rules);
  Array<Split> by_masks;
  Array<Split> by_bins;
  finder.find_by_masks(box, by_masks);
  finder.find_by_bins(box, by_bins);
  CHECK_EQUAL(by_masks.size(), std::size_t{1});
  CHECK_EQUAL(by_bins.size(), std::size_t{1});
  CHECK(rules.numbers().test(by_masks[0].test) == (Test{0, Form::below, 9, 10}));
  CHECK(rules.numbers().test(by_bins[0].test) == (Test{0, Form::below, 9, 10}));
}

TEST(boxes_of_every_size_go_the_right_way_and_splits_are_appended) {
  std::mt19937_64 random(7);
  const Problem problem =
      random_problem(random, 400, {6, 5, 4, 3, 2, 4},
                     {Kind::numeric, Kind::optional, Kind::nominal, Kind::numeric, Kind::optional, Kind::optional});
  const Cells cells = problem.cells();
  const SplitRules rules = ready_rules(cells, {});
  const std::vector<Fingerprint> words = cell_fingerprints(cells.n_cells);
  SplitFinder finder(rules);
  Array<Split> splits;
  for (std::size_t size = 1; size <= 200; ++size) {
    std::vector<Cell> box;
    for (Cell cell = 0; cell < size; ++cell) box.push_back(cell);
    const std::size_t n_before = splits.size();
    finder.find(box, splits);
    check_same({splits.begin() + n_before, splits.end()}, plain_splits(problem, {}, box), rules, words);
  }
}

TEST(words_of_cells_are_distinct_and_the_first_do_not_depend_on_how_many_there_are) {
  const std::vector<Fingerprint> words = cell_fingerprints(100'000);
  std::set<std::uint64_t> low;
  std::set<std::uint64_t> high;
  for (const Fingerprint& word : words) {
    low.insert(word.low);
    high.insert(word.high);
  }
  CHECK_EQUAL(low.size(), words.size());
  CHECK_EQUAL(high.size(), words.size());
  const std::vector<Fingerprint> few = cell_fingerprints(10);
  CHECK(std::equal(few.begin(), few.end(), words.begin()));
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
