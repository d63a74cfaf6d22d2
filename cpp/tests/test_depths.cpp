#include <deque>

#include "bcart/depths.hpp"
#include "check.hpp"
#include "grammars.hpp"

namespace bcart::check {
namespace {

// The depths at which each box can be met, by a plain walk over boxes and depths.
std::vector<std::set<std::size_t>> walk_depths(const Problem& problem, const Family& family) {
  const PlainGrammar plain(problem, family, {"leaf-count", {0.0}}, nullptr);
  std::vector<std::set<std::size_t>> depths(plain.n_boxes());
  std::deque<std::pair<std::size_t, std::size_t>> waiting{{0, 0}};
  depths[0].insert(0);
  for (; !waiting.empty(); waiting.pop_front()) {
    const auto [box, depth] = waiting.front();
    for (const PlainGrammar::Children& split : plain.splits(box, depth)) {
      for (const std::size_t child : {split.left, split.right}) {
        if (depths[child].insert(depth + 1).second) waiting.emplace_back(child, depth + 1);
      }
    }
  }
  return depths;
}

// Places go up by one, from depth to depth and from box to box.
void check_places(const Graph& graph, const Depths& depths) {
  std::size_t next = 0;
  for (std::size_t box = 0; box < graph.n_boxes(); ++box) {
    CHECK_EQUAL(depths.begin(box), next);
    const std::size_t n = depths.end(box) - depths.begin(box);
    CHECK(n >= 1);
    if (graph.n_splits_of[box] == 0) CHECK_EQUAL(n, std::size_t{1});
    for (std::size_t i = 0; i < n; ++i) CHECK_EQUAL(depths.place(box, depths.first_depth(box) + i), next++);
  }
  CHECK_EQUAL(depths.n_places(), next);
}

void check_depths(const Problem& problem, const Family& family, const Engine& engine) {
  const Graph& graph = engine.graph;
  const std::vector<std::set<std::size_t>> expected = walk_depths(problem, family);
  CHECK_EQUAL(expected.size(), graph.n_boxes());
  check_places(graph, engine.depths);
  // Where light sides may not be split off, nothing rules out a gap between the depths of a box.
  const bool may_have_gaps = family.min_samples_leaf > 0.25 || family.min_samples_split > 0.5;
  for (std::size_t box = 0; box < graph.n_boxes(); ++box) {
    const std::size_t first = engine.depths.first_depth(box);
    const std::size_t n = engine.depths.end(box) - engine.depths.begin(box);
    CHECK_EQUAL(first, *expected[box].begin());
    if (graph.n_splits_of[box] == 0) {
      for (const std::size_t depth : expected[box]) {
        CHECK_EQUAL(engine.depths.place(box, depth), engine.depths.begin(box));
      }
      continue;
    }
    const std::size_t last = *expected[box].rbegin();
    CHECK(first + n - 1 >= last);
    if (!may_have_gaps || !graph.max_depth) CHECK_EQUAL(first + n - 1, last);
    if (!may_have_gaps) CHECK_EQUAL(n, expected[box].size());
  }
}

const NamedModel kLeafCount{"leaf-count", {2.0}};
const NamedModel kDepthDecay{"depth-decay", {0.95, 0.5}};

}  // namespace

TEST(boxes_have_a_place_for_each_depth_at_which_they_can_be_met) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 60; ++i) {
    const Problem problem = mixed_problem(random, 12, 4, 5);
    for (const double min_samples_leaf : {0.25, 1.5}) {
      for (std::size_t max_depth = 0; max_depth <= 5; ++max_depth) {
        Family family{max_depth, min_samples_leaf, 2 * min_samples_leaf};
        if (max_depth == 5) family.max_depth.reset();
        const Engine engine(problem, family, kDepthDecay);
        CHECK(!engine.depths.is_flat());
        check_depths(problem, family, engine);
        const Engine other(problem, family, kLeafCount);
        if (other.graph.max_depth) check_depths(problem, family, other);
      }
    }
  }
}

TEST(without_depth_to_look_at_there_is_one_place_a_box) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20; ++i) {
    const Problem problem = mixed_problem(random, 12, 3, 5);
    const Engine engine(problem, {}, kLeafCount);
    CHECK(engine.depths.is_flat());
    CHECK_EQUAL(engine.depths.n_places(), engine.graph.n_boxes());
    check_places(engine.graph, engine.depths);
    for (std::size_t box = 0; box < engine.graph.n_boxes(); ++box) {
      for (const std::size_t depth : {0, 1, 5}) CHECK_EQUAL(engine.depths.place(box, depth), box);
      CHECK_EQUAL(engine.depths.first_depth(box), std::size_t{0});
    }
  }
}

TEST(one_box_has_one_place) {
  std::mt19937_64 random(3);
  const Problem problem = random_problem(random, 1, {3});
  for (const NamedModel& prior : {kLeafCount, kDepthDecay}) {
    const Engine engine(problem, {}, prior);
    CHECK_EQUAL(engine.depths.n_places(), std::size_t{1});
    CHECK_EQUAL(engine.depths.place(0, 0), std::size_t{0});
  }
}

TEST(any_number_of_workers_finds_the_same_places) {
  std::mt19937_64 random(4);
  const Problem problem = random_problem(random, 60, std::vector<std::size_t>(12, 2));
  for (const Family& family : {Family{}, Family{4, 1, 2}}) {
    const Engine one(problem, family, kDepthDecay, 1);
    const Engine three(problem, family, kDepthDecay, 3);
    CHECK_EQUAL(one.depths.n_places(), three.depths.n_places());
    bool is_same = true;
    for (std::size_t box = 0; box < one.graph.n_boxes(); ++box) {
      is_same = is_same && one.depths.begin(box) == three.depths.begin(box) &&
                one.depths.first_depth(box) == three.depths.first_depth(box);
    }
    CHECK(is_same);
  }
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
