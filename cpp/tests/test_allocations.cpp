// Lets each allocation fail in turn: the engine then throws std::bad_alloc, or does with less, and goes on living.
#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>

#include "bcart/derive.hpp"
#include "bcart/respond.hpp"
#include "bcart/walk.hpp"
#include "check.hpp"
#include "grammars.hpp"
#include "query_sets.hpp"

namespace {

constexpr long kNever = -1;

std::atomic<long> n_until_failure = kNever;
std::atomic<bool> fails_for_good = false;  // or once
std::atomic<bool> has_failed = false;

bool is_to_fail() {
  if (has_failed && fails_for_good) return true;
  if (n_until_failure == kNever || n_until_failure-- != 0) return false;
  has_failed = true;
  return true;
}

void* allocate(std::size_t n_bytes, std::size_t alignment = alignof(std::max_align_t)) {
  void* memory = nullptr;
  return is_to_fail() || posix_memalign(&memory, alignment, n_bytes) != 0 ? nullptr : memory;
}

void* allocate_or_throw(std::size_t n_bytes, std::size_t alignment = alignof(std::max_align_t)) {
  if (void* memory = allocate(n_bytes, alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// In place of the library's, for the whole program.
void* operator new(std::size_t n) { return allocate_or_throw(n); }
void* operator new[](std::size_t n) { return allocate_or_throw(n); }
void* operator new(std::size_t n, std::align_val_t to) { return allocate_or_throw(n, static_cast<std::size_t>(to)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t n) { return allocate(n, alignment); }

namespace bcart::check {
namespace {

// Runs work with the first, then the second, ... allocation failing, until it needs no more of them.
template <class Work>
std::size_t fail_everywhere(const Work& work) {
  for (long n = 0;; ++n) {
    bool is_thrown = false;
    has_failed = false;
    n_until_failure = n;
    try {
      work();
    } catch (const std::bad_alloc&) {
      is_thrown = true;
    }
    n_until_failure = kNever;
    const bool is_over = !has_failed;
    has_failed = false;
    CHECK(!is_thrown || !is_over);
    if (is_over) return static_cast<std::size_t>(n);
  }
}

// One problem with all that can be asked of it.
struct Asked {
  Problem problem;
  NamedModel prior{"depth-decay", {0.9, 1.0}};
  Family family{3, 1, 2};
  std::unique_ptr<LeafModel> leaf = Registered<LeafModel>::make("dirichlet", {0.5, 1.0});
  std::optional<Engine> engine;
  QuerySet queries;

  explicit Asked(std::size_t n_workers) {
    std::mt19937_64 random(5);
    problem = random_problem(random, 30, {3, 4, 3}, {Kind::numeric, Kind::optional, Kind::nominal});
    engine.emplace(problem, family, prior, n_workers);
    engine->set_leaves(*leaf);
    queries = random_queries(random, problem, PlainGrammar(problem, family, prior, engine->leaves()), 40);
  }
};

template <class Work>
void check_everywhere(const Work& work) {
  for (const bool is_for_good : {false, true}) {
    fails_for_good = is_for_good;
    for (const std::size_t n_workers : {1, 3}) {
      Asked asked(n_workers);
      CHECK(fail_everywhere([&] { work(asked, n_workers); }) > 0);
      work(asked, n_workers);  // and then it works
    }
  }
}

}  // namespace

TEST(a_build_that_gets_no_memory_ends_with_fewer_layers_or_a_bad_alloc) {
  check_everywhere([](Asked& asked, std::size_t n_workers) {
    Monitor monitor;
    Progress progress;
    Workers workers(n_workers, monitor);
    const Graph graph = build_graph(asked.problem.cells(), asked.family, {kNoLimit, Folding::never}, workers, progress);
    CHECK(graph.n_boxes() == asked.engine->graph.n_boxes() || graph.ending == Ending::system);
    CHECK(graph.max_depth <= asked.engine->graph.max_depth);
  });
}

TEST(sweeps_that_get_no_memory_are_a_bad_alloc) {
  check_everywhere([](Asked& asked, std::size_t) {
    asked.engine->set_leaves(*asked.leaf);
    const Depths depths(asked.engine->graph, true, asked.engine->workers);
    CHECK_EQUAL(depths.n_places(), asked.engine->depths.n_places());
  });
}

TEST(trees_that_get_no_memory_are_a_bad_alloc) {
  check_everywhere([](Asked& asked, std::size_t) {
    CHECK_EQUAL(derive_best(asked.engine->maxima(), kRoom).tree_ends.size(), std::size_t{1});
    const Derivations samples = derive_samples(asked.engine->sums(), 1, 50, kRoom, asked.engine->workers);
    CHECK_EQUAL(samples.tree_ends.size(), std::size_t{50});
  });
}

TEST(responses_that_get_no_memory_are_a_bad_alloc) {
  check_everywhere([](Asked& asked, std::size_t) {
    const Grammar sums = asked.engine->sums();
    const Response response = respond(sums, asked.queries.all(), *asked.leaf, kNoLimit, asked.engine->workers);
    CHECK_EQUAL(response.mean.size(), asked.queries.size() * asked.leaf->n_outputs());
    CHECK_EQUAL(mixtures(sums, asked.queries.all(), 1e-9, kNoLimit, asked.engine->workers).ends.size(),
                asked.queries.size());
  });
}

TEST(walks_that_get_no_memory_are_a_bad_alloc) {
  check_everywhere([](Asked& asked, std::size_t) {
    const Array<BoxId> best =
        walk_best(asked.engine->maxima(), asked.queries.all(), kRoom, asked.engine->workers).leaves;
    CHECK_EQUAL(best.size(), asked.queries.size());
    const Walks walks = walk_randomly(asked.engine->sums(), asked.queries.all(), 1, 20, kRoom, asked.engine->workers);
    CHECK_EQUAL(walks.leaves.size(), asked.queries.size() * 20);
  });
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
