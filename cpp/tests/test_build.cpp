#include <set>

#include "bcart/batch.hpp"
#include "bcart/build.hpp"
#include "bcart/byte_counts.hpp"
#include "check.hpp"
#include "grammars.hpp"
#include "problems.hpp"

namespace bcart::check {
namespace {

Graph build(const Problem& problem, const Family& family = {}, std::size_t n_workers = 1,
            std::size_t max_bytes = kNoLimit) {
  const Cells cells = problem.cells();
  Monitor monitor;
  Workers workers(n_workers, monitor);
  Progress progress;
  return build_graph(cells, family, {max_bytes, Folding::never}, workers, progress);
}

bool is_same(const Graph& a, const Graph& b) {
  return a.n_bins == b.n_bins && a.kinds == b.kinds && a.n_statistics == b.n_statistics && a.max_depth == b.max_depth &&
         same_bytes(a.first_split, b.first_split) && same_bytes(a.n_splits_of, b.n_splits_of) &&
         same_bytes(a.n_cells, b.n_cells) && same_bytes(a.statistics, b.statistics) &&
         same_bytes(a.tests.narrow(), b.tests.narrow()) && same_bytes(a.tests.wide(), b.tests.wide()) &&
         same_bytes(a.left, b.left) && same_bytes(a.right, b.right);
}

// Every number of the graph against a plain breadth-first search.
void check_plain(const Problem& problem, const Family& family, const Graph& graph) {
  PlainGraph plain = plain_graph(problem, family);
  const TestNumbers numbers(problem.n_bins, problem.kinds);
  CHECK(graph.n_bins == problem.n_bins && graph.kinds == problem.kinds);
  CHECK_EQUAL(graph.n_boxes(), plain.boxes.size());
  if (graph.n_boxes() != plain.boxes.size()) return;
  const std::vector<std::size_t> ids = expected_ids(plain);
  std::size_t n_splits = 0;
  for (std::size_t i = 0; i < plain.boxes.size(); ++i) {
    const std::size_t box = ids[i];
    CHECK_EQUAL(graph.n_cells[box], plain.boxes[i].size());
    for (std::size_t k = 0; k < graph.n_statistics; ++k) {
      double sum = 0;
      for (const Cell cell : plain.boxes[i]) sum += problem.statistics[cell * graph.n_statistics + k];
      CHECK_EQUAL(graph.statistics[box * graph.n_statistics + k], sum);
    }
    CHECK_EQUAL(graph.n_splits_of[box], plain.splits[i].size());
    CHECK_EQUAL(graph.first_split[box], n_splits);
    if (graph.n_splits_of[box] != plain.splits[i].size()) return;
    for (const PlainSplit& split : plain.splits[i]) {
      CHECK(numbers.test(graph.tests[n_splits]) == split.test);
      CHECK_EQUAL(graph.left[n_splits], ids[plain.id(split.left)]);
      CHECK_EQUAL(graph.right[n_splits], ids[plain.id(split.right)]);
      ++n_splits;
    }
  }
  CHECK_EQUAL(n_splits, graph.n_splits());
}

// Enough boxes for many batches and several blocks of cells.
Problem large_problem() {
  std::mt19937_64 random(100);
  Problem problem = random_problem(random, 120, std::vector<std::size_t>(18, 2));
  problem.weights.assign(problem.n_cells(), 1.0);
  return problem;
}

}  // namespace

TEST(the_graph_is_that_of_a_plain_breadth_first_search) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 80; ++i) {
    const Problem problem = i % 2 == 0 ? random_problem(random, 14, random_bins(random, 1 + pick(random, 4), 5))
                                       : mixed_problem(random, 14, 4, 5);
    check_plain(problem, {}, build(problem));
    for (const std::size_t max_depth : {1, 2, 3}) {
      const Family family{max_depth, 1, 2};
      check_plain(problem, family, build(problem, family));
    }
    const Family heavy{{}, 2, 6};
    check_plain(problem, heavy, build(problem, heavy));
    const Family heavy_and_shallow{2, 1.5, 4};
    check_plain(problem, heavy_and_shallow, build(problem, heavy_and_shallow));
  }
}

TEST(boxes_of_more_cells_than_bits_in_a_word) {
  std::mt19937_64 random(2);
  const Problem problem = random_problem(random, 200, {9, 8, 7});
  const Family family{2, 1, 2};
  check_plain(problem, family, build(problem, family));
  const Problem mixed = random_problem(random, 200, {9, 8, 7}, {Kind::optional, Kind::nominal, Kind::numeric});
  check_plain(mixed, family, build(mixed, family));
}

TEST(grids_with_more_tests_than_fit_into_two_bytes) {
  std::mt19937_64 random(3);
  const Problem problem = random_problem(random, 12, {255, 255, 255});
  const Graph graph = build(problem);
  CHECK(!graph.tests.is_narrow());
  check_plain(problem, {}, graph);
  const Problem mixed = random_problem(random, 10, {255, 255, 255}, {Kind::nominal, Kind::optional, Kind::optional});
  const Graph mixed_graph = build(mixed);
  CHECK(!mixed_graph.tests.is_narrow());
  check_plain(mixed, {}, mixed_graph);
}

TEST(any_number_of_workers_makes_the_same_bytes) {
  const Problem problem = large_problem();
  const Graph one = build(problem, {}, 1);
  CHECK(one.n_splits() > 200'000);
  CHECK(!one.max_depth);
  for (const std::size_t n_workers : {2, 3}) CHECK(is_same(one, build(problem, {}, n_workers)));
}

TEST(any_number_of_workers_makes_the_same_bytes_of_features_of_all_kinds) {
  std::mt19937_64 random(101);
  const Problem problem = random_problem(random, 60, {2, 3, 4, 3, 2, 4, 3, 3}, random_kinds(random, 8));
  const Graph one = build(problem, {}, 1);
  CHECK(one.n_splits() > 50'000);
  CHECK(is_same(one, build(problem, {}, 3)));
  CHECK(is_same(build(problem, {3, 1, 2}, 1), build(problem, {3, 1, 2}, 2)));
}

TEST(boxes_with_more_splits_than_a_chunk_or_a_batch_and_many_workers) {
  std::mt19937_64 random(102);
  for (const std::size_t n_features : {200, 1'200}) {
    const Problem problem = random_problem(random, 40, std::vector<std::size_t>(n_features, 10));
    const Family family{n_features == 200 ? std::size_t{2} : std::size_t{1}, 1, 2};
    const Graph one = build(problem, family, 1);
    CHECK(one.n_splits_of[0] > 4 * n_features);
    check_plain(problem, {1, 1, 2}, build(problem, {1, 1, 2}, 2));
    for (const std::size_t n_workers : {2, 7, 16}) CHECK(is_same(one, build(problem, family, n_workers)));
  }
}

TEST(children_have_fewer_cells_and_add_up_to_their_parent) {
  const Graph graph = build(large_problem(), {}, 2);
  bool is_right = true;
  for (std::size_t box = 0; box < graph.n_boxes(); ++box) {
    for (std::size_t s = graph.first_split[box]; s < graph.last_split(box); ++s) {
      const std::size_t left = graph.left[s];
      const std::size_t right = graph.right[s];
      is_right = is_right && graph.n_cells[left] > 0 && graph.n_cells[right] > 0 &&
                 graph.n_cells[left] + graph.n_cells[right] == graph.n_cells[box];
      for (std::size_t k = 0; k < graph.n_statistics; ++k) {
        is_right = is_right &&
                   graph.statistics[left * 2 + k] + graph.statistics[right * 2 + k] == graph.statistics[box * 2 + k];
      }
    }
  }
  CHECK(is_right);
}

TEST(larger_boxes_come_first_and_so_parents_before_children) {
  for (const Family& family : {Family{}, Family{3, 1, 2}, Family{4, 2, 5}}) {
    const Graph graph = build(large_problem(), family);
    bool is_right = true;
    for (std::size_t box = 0; box < graph.n_boxes(); ++box) {
      is_right = is_right && (box == 0 || graph.n_cells[box] <= graph.n_cells[box - 1]);
      for (std::size_t s = graph.first_split[box]; s < graph.last_split(box); ++s) {
        is_right = is_right && graph.left[s] > box && graph.right[s] > box;
      }
    }
    CHECK(is_right);
  }
}

TEST(boxes_of_each_size_are_visited_once_from_either_end) {
  for (const Family& family : {Family{}, Family{3, 1, 2}}) {
    const Graph graph = build(large_problem(), family);
    std::vector<std::size_t> starts;  // by looking at every box
    for (std::size_t box = 0; box < graph.n_boxes(); ++box) {
      if (box == 0 || graph.n_cells[box] != graph.n_cells[box - 1]) starts.push_back(box);
    }
    std::vector<std::size_t> downward;
    std::vector<std::size_t> upward;
    graph.for_each_size([&](std::size_t begin, std::size_t end) { downward.insert(downward.end(), {begin, end}); });
    graph.for_each_size_upward([&](std::size_t begin, std::size_t end) { upward.insert(upward.end(), {end, begin}); });
    std::reverse(upward.begin(), upward.end());
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      expected.insert(expected.end(), {starts[i], i + 1 < starts.size() ? starts[i + 1] : graph.n_boxes()});
    }
    CHECK(downward == expected);
    CHECK(upward == expected);
  }
}

TEST(a_byte_budget_leaves_the_graph_of_some_depth) {
  const Problem problem = large_problem();
  std::size_t last_depth = 0;
  std::set<std::size_t> depths;
  for (std::size_t max_bytes = 1'000; max_bytes < 12'000'000; max_bytes = max_bytes * 5 / 4) {
    const Graph limited = build(problem, {}, 1, max_bytes);
    CHECK(limited.ending == Ending::memory);
    CHECK(limited.max_depth.has_value());
    const std::size_t depth = limited.max_depth.value_or(0);
    CHECK(depth >= last_depth);
    CHECK(is_same(limited, build(problem, {}, 2, max_bytes)));
    if (depth > 0 && depths.insert(depth).second) {
      const Graph meant = build(problem, {depth, 1, 2});
      CHECK(is_same(limited, meant));
      CHECK(meant.ending == Ending::max_depth);
    }
    last_depth = depth;
  }
  CHECK(depths.size() >= 4);
}

TEST(boxes_that_cannot_be_numbered_leave_the_graph_of_some_depth) {
  const Problem problem = large_problem();
  const Cells cells = problem.cells();
  std::set<std::size_t> depths;
  for (std::size_t max_boxes = 1'000; max_boxes < 1'000'000; max_boxes *= 2) {
    Monitor monitor;
    Progress progress;
    Workers workers(1, monitor);
    const Graph limited = build_graph(cells, {}, {kNoLimit, Folding::never, max_boxes}, workers, progress);
    if (limited.ending == Ending::complete) break;
    CHECK(limited.ending == Ending::numbers);
    CHECK(limited.n_boxes() <= max_boxes);
    const std::size_t depth = limited.max_depth.value_or(0);
    if (depth > 0 && depths.insert(depth).second) CHECK(is_same(limited, build(problem, {depth, 1, 2})));
  }
  CHECK(depths.size() >= 3);
}

TEST(what_a_worker_takes_at_the_widest_box_is_counted_however_little_it_is) {
  std::mt19937_64 random(7);
  for (const std::size_t n_bins : {2, 9, 200}) {
    const Problem problem = random_problem(random, 300, {n_bins, n_bins});
    const Graph graph = build(problem, {1, 1, 2});
    const std::size_t before = ByteCounts(problem.cells()).before_first_box();
    CHECK(before > graph.n_splits_of[0] * Batch::kBytesPerSplit);
    CHECK(graph.n_bytes_counted > before);
  }
}

TEST(tests_that_are_listed_are_those_that_splits_ask_in_their_order) {
  std::mt19937_64 random(8);
  for (const std::size_t n_cells : {1, 2, 40}) {
    const Problem problem = random_problem(random, n_cells, {200, 9, 255, 255},
                                           {Kind::optional, Kind::nominal, Kind::numeric, Kind::optional});
    const TestNumbers numbers(problem.n_bins, problem.kinds);
    const Graph plain = build(problem, {2, 1, 2});
    Graph listed = build(problem, {2, 1, 2});
    Monitor monitor;
    Workers workers(3, monitor);
    listed.list_tests(numbers.size(), workers);
    std::set<std::uint32_t> asked;
    for (std::size_t split = 0; split < plain.n_splits(); ++split) {
      asked.insert(plain.tests[split]);
      CHECK_EQUAL(listed.asked[listed.tests[split]], plain.tests[split]);
    }
    CHECK(std::equal(asked.begin(), asked.end(), listed.asked.begin(), listed.asked.end()));
  }
}

TEST(without_bytes_for_a_split_only_the_root_is_left) {
  const Graph graph = build(large_problem(), {}, 1, 10);
  CHECK(graph.ending == Ending::memory);
  CHECK(graph.max_depth == std::size_t{0});
  CHECK_EQUAL(graph.n_boxes(), std::size_t{1});
  CHECK_EQUAL(graph.n_splits(), std::size_t{0});
  CHECK_EQUAL(graph.n_splits_of[0], std::uint32_t{0});
}

TEST(a_deadline_leaves_the_graph_of_some_depth) {
  const Problem problem = large_problem();
  const Cells cells = problem.cells();
  for (const auto time : {std::chrono::microseconds(0), std::chrono::microseconds(2'000)}) {
    Monitor monitor;
    Progress progress;
    Workers workers(1, monitor, Clock::now() + time);
    const Graph limited = build_graph(cells, {}, {}, workers, progress);
    if (limited.ending == Ending::complete) continue;  // a fast machine
    CHECK(limited.ending == Ending::time);
    const std::size_t depth = limited.max_depth.value_or(kNoLimit);
    if (depth > 0) CHECK(is_same(limited, build(problem, {depth, 1, 2})));
  }
}

TEST(a_deadline_at_any_moment_ends_the_build_well) {
  std::mt19937_64 random(6);
  const Problem problem = random_problem(random, 80, std::vector<std::size_t>(14, 2));
  const Cells cells = problem.cells();
  const auto start = Clock::now();
  const Graph all = build(problem, {{}, 0.25, 0.25});
  const auto time = Clock::now() - start;
  for (int permille = 600; permille < 1'300; permille += 7) {
    Monitor monitor;
    Progress progress;
    Workers workers(1, monitor, Clock::now() + time * permille / 1'000);
    const Graph graph = build_graph(cells, {{}, 0.25, 0.25}, {}, workers, progress);
    CHECK(graph.ending == (graph.max_depth ? Ending::time : Ending::complete));
    if (!graph.max_depth) CHECK(is_same(graph, all));
  }
}

TEST(a_depth_that_limits_nothing_is_no_limit) {
  std::mt19937_64 random(4);
  const Problem problem = random_problem(random, 10, {10});  // a line: the deepest tree takes one cell at a time
  const std::size_t deepest = problem.n_cells() - 1;
  const Graph all = build(problem, {{}, 0.25, 0.25});
  CHECK(!all.max_depth);
  CHECK(is_same(all, build(problem, {deepest, 0.25, 0.25})));
  CHECK(is_same(all, build(problem, {100, 0.25, 0.25})));
  const Graph limited = build(problem, {deepest - 1, 0.25, 0.25});
  CHECK(limited.max_depth == deepest - 1);
}

TEST(one_cell_is_a_whole_graph) {
  std::mt19937_64 random(5);
  const Problem problem = random_problem(random, 1, {3, 1});
  const Graph graph = build(problem, {5, 1, 2}, 3);
  CHECK_EQUAL(graph.n_boxes(), std::size_t{1});
  CHECK(!graph.max_depth && graph.ending == Ending::complete);
}

TEST(progress_counts_what_was_found) {
  const Problem problem = large_problem();
  const Cells cells = problem.cells();
  Monitor monitor;
  Workers workers(1, monitor);
  Progress progress;
  const Graph graph = build_graph(cells, {}, {}, workers, progress);
  CHECK_EQUAL(progress.n_boxes, graph.n_boxes());
  CHECK_EQUAL(progress.n_splits, graph.n_splits());
  CHECK_EQUAL(progress.n_expanded, progress.layer_size);
  CHECK(progress.n_bytes > graph.n_splits() * 10);
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
