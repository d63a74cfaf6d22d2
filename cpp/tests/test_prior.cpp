#include <cmath>
#include <stdexcept>

#include "bcart/prior.hpp"
#include "check.hpp"
#include "grammars.hpp"

namespace bcart::check {
namespace {

std::unique_ptr<TreePrior> make_prior(const std::string& name, const std::vector<double>& parameters) {
  return Registered<TreePrior>::make(name, parameters);
}

}  // namespace

TEST(unknown_priors_and_missing_parameters_are_refused) {
  CHECK_THROWS(make_prior("uniform", {1.0}), std::out_of_range);
  CHECK_THROWS(make_prior("dirichlet", {1.0}), std::out_of_range);  // a leaf
  CHECK_THROWS(make_prior("leaf-count", {}), std::out_of_range);
  CHECK_THROWS(make_prior("depth-decay", {0.5}), std::out_of_range);
}

TEST(the_leaf_count_prior_weighs_each_split_alike) {
  for (const double log_phi : {2.0, 0.0, -3.5}) {
    const auto prior = make_prior("leaf-count", {log_phi});
    CHECK(!prior->depends_on_depth());
    for (const std::size_t depth : {0, 1, 17}) {
      CHECK_EQUAL(prior->log_stop(depth, 0), 0.0);
      CHECK_EQUAL(prior->log_stop(depth, 5), 0.0);
      CHECK_EQUAL(prior->log_split(depth, 5), -log_phi);
    }
  }
}

TEST(the_depth_decay_prior_splits_with_its_chance_and_uniformly) {
  for (const double alpha : {0.95, 0.5, 1e-3}) {
    for (const double beta : {0.0, 0.5, 2.0}) {
      const auto prior = make_prior("depth-decay", {alpha, beta});
      CHECK(prior->depends_on_depth());
      for (const std::size_t depth : {0, 1, 2, 30}) {
        const double chance = alpha * std::pow(1.0 + static_cast<double>(depth), -beta);
        for (const std::size_t n : {1, 2, 7, 1000}) {
          CHECK_CLOSE(prior->log_split(depth, n), std::log(chance / static_cast<double>(n)), 1e-14 * 10);
          CHECK_CLOSE(prior->log_stop(depth, n), std::log1p(-chance), 1e-14 * 10);
          const double total =
              std::exp(prior->log_stop(depth, n)) + static_cast<double>(n) * std::exp(prior->log_split(depth, n));
          CHECK_CLOSE(total, 1.0, 1e-14);
        }
        CHECK_EQUAL(prior->log_stop(depth, 0), 0.0);  // what cannot split stops for certain
      }
    }
  }
}

TEST(a_box_that_splits_for_certain_never_stops) {
  const auto prior = make_prior("depth-decay", {1.0, 0.0});
  CHECK(std::isinf(prior->log_stop(0, 3)) && prior->log_stop(0, 3) < 0);
  CHECK_CLOSE(prior->log_split(0, 4), -std::log(4.0), 1e-15);
  CHECK_EQUAL(prior->log_stop(3, 0), 0.0);
}

TEST(the_depth_decay_prior_is_a_distribution_over_the_trees_of_any_family) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20; ++i) {
    const Problem problem = mixed_problem(random, 14, 4, 5);
    for (const Family& family : some_families()) {
      for (const std::vector<double>& parameters : {std::vector<double>{0.95, 0.5}, {0.3, 3.0}, {1.0, 0.0}}) {
        Engine engine(problem, family, {"depth-decay", parameters}, 2);
        engine.set_leaves(std::vector<double>{});
        const Grammar grammar = engine.sums();
        for (std::size_t place = 0; place < engine.depths.n_places(); ++place) {
          CHECK_CLOSE(grammar.values[place], 0.0, 1e-13);
        }
      }
    }
  }
}

// The literature's own test suite has these numbers for the tree `x2 ? (x3 ? A : B) : C`, whose two boxes that split
// could make four and three splits.
TEST(the_published_weight_of_a_tree) {
  const auto prior = make_prior("depth-decay", {0.95, 0.5});
  const auto leaf = Registered<LeafModel>::make("dirichlet", {1.0, 1.0});
  const double log_prior = prior->log_split(0, 4) + prior->log_split(1, 3) + prior->log_stop(1, 3) +
                           prior->log_stop(2, 2) + prior->log_stop(2, 2);
  CHECK_CLOSE(log_prior, -5.638, 5e-4);
  const double counts[3][2] = {{0, 19}, {0, 10}, {11, 0}};
  double log_leaves = 0;
  for (const auto& row : counts) log_leaves += leaf->log_marginal(row);
  CHECK_CLOSE(log_leaves, -7.879, 5e-4);
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
