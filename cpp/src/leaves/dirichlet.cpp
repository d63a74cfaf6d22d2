// Classes drawn from a categorical distribution with a Dirichlet(alpha) prior; statistics are class counts.
#include <cmath>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "bcart/gamma.hpp"
#include "bcart/leaf.hpp"
#include "bcart/registry.hpp"

namespace bcart {
namespace {

constexpr std::size_t kTableSize = 4096;  // counts below it are looked up, if they are whole

class DirichletLeaf final : public LeafModel {
 public:
  explicit DirichletLeaf(std::vector<double> alpha);
  std::size_t n_statistics() const override { return alpha_.size(); }
  std::size_t n_outputs() const override { return alpha_.size(); }
  double weight(const double* counts) const override { return std::accumulate(counts, counts + alpha_.size(), 0.0); }
  double log_marginal(const double* counts) const override;
  void log_marginal_each(const double* counts, std::size_t n, double* result) const override {
    for (std::size_t i = 0; i < n; ++i) result[i] = DirichletLeaf::log_marginal(counts + i * alpha_.size());
  }
  void moments(const double* counts, Moments* classes) const override;

 private:
  // log_rising(base, n) for n = 0, 1, ...
  using Table = std::vector<double>;

  double log_marginal_of_large(const double* counts) const;

  std::vector<double> alpha_;
  double alpha_sum_ = 0;
  std::map<double, Table> tables_;  // of each alpha, and of their sum
  std::vector<const double*> per_class_;
  const double* total_;
};

DirichletLeaf::DirichletLeaf(std::vector<double> alpha)
    : alpha_(std::move(alpha)), alpha_sum_(std::accumulate(alpha_.begin(), alpha_.end(), 0.0)) {
  const auto table = [&](double base) {
    const auto [place, is_new] = tables_.try_emplace(base);
    Table& values = place->second;
    for (std::size_t n = 0; is_new && n < kTableSize; ++n) values.push_back(log_rising(base, static_cast<double>(n)));
    return values.data();
  };
  for (const double a : alpha_) per_class_.push_back(table(a));
  total_ = table(alpha_sum_);
}

double DirichletLeaf::log_marginal(const double* counts) const {
  std::size_t n = 0;
  double log_product = 0;
  for (std::size_t c = 0; c < alpha_.size(); ++c) {
    if (!(counts[c] < static_cast<double>(kTableSize))) return log_marginal_of_large(counts);
    const auto count = static_cast<std::size_t>(counts[c]);
    n += count;
    if (static_cast<double>(count) != counts[c] || n >= kTableSize) return log_marginal_of_large(counts);
    log_product += per_class_[c][count];
  }
  return log_product - total_[n];
}

// Class by class: those so far against the next one.
double DirichletLeaf::log_marginal_of_large(const double* counts) const {
  double log_product = 0;
  double alpha = alpha_[0];
  double n = counts[0];
  for (std::size_t c = 1; c < alpha_.size(); ++c) {
    log_product += log_beta_ratio(alpha, alpha_[c], n, counts[c]);
    alpha += alpha_[c];
    n += counts[c];
  }
  return log_product;
}

void DirichletLeaf::moments(const double* counts, Moments* classes) const {
  const double total = std::accumulate(counts, counts + alpha_.size(), alpha_sum_);
  for (std::size_t c = 0; c < alpha_.size(); ++c) {
    const double p = (counts[c] + alpha_[c]) / total;
    const double variance = p * (1 - p) / (total + 1);
    classes[c] = {p, variance, p * (1 - p) - variance};
  }
}

const Registered<LeafModel> family("dirichlet", [](const std::vector<double>& alpha) {
  return std::make_unique<DirichletLeaf>(alpha);
});

}  // namespace
}  // namespace bcart
