// Conjugate families: the log marginal likelihood of a box's statistics.
#pragma once

#include <cstddef>
#include <vector>

#include "bcart/workers.hpp"

namespace bcart {

class LeafModel {
 public:
  virtual ~LeafModel() = default;
  virtual std::size_t n_statistics() const = 0;
  virtual double log_marginal(const double* statistics) const = 0;

  // For `n` rows of statistics at once.
  void log_marginals(const double* statistics, std::size_t n, double* result, Workers& workers) const;
};

// Classes drawn from a categorical distribution with a Dirichlet(alpha) prior; statistics are class counts.
class DirichletLeaf final : public LeafModel {
 public:
  explicit DirichletLeaf(std::vector<double> alpha);
  std::size_t n_statistics() const override { return alpha_.size(); }
  double log_marginal(const double* counts) const override;

 private:
  // log_rising(base, n) for n = 0, 1, ...
  using Table = std::vector<double>;

  double log_marginal_of_large(const double* counts) const;

  std::vector<double> alpha_;
  std::vector<Table> per_class_;
  Table total_;
};

// log(Gamma(a + n) / Gamma(a)) for a > 0, n >= 0, without the cancellation of two large logarithms.
double log_rising(double a, double n);

// log(B(a + m, b + n) / B(a, b)), likewise.
double log_beta_ratio(double a, double b, double m, double n);

}  // namespace bcart
