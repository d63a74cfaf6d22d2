// Conjugate families: what a box's statistics say about its targets.
#pragma once

#include <cstddef>

#include "bcart/workers.hpp"

namespace bcart {

// What is known of one output of a leaf: the probability of a class, or the mean of the targets.
struct Moments {
  double mean = 0;      // posterior expectation of the output
  double variance = 0;  // posterior variance of the output: more data would remove it
  double noise = 0;     // expected variance of a target around the output: no data would
};

class LeafModel {
 public:
  virtual ~LeafModel() = default;
  virtual std::size_t n_statistics() const = 0;
  virtual std::size_t n_outputs() const { return 1; }
  virtual double weight(const double* statistics) const { return statistics[0]; }
  virtual double log_marginal(const double* statistics) const = 0;
  virtual void moments(const double* statistics, Moments* outputs) const = 0;

  // For `n` rows of statistics at once, alone or shared out.
  virtual void log_marginal_each(const double* statistics, std::size_t n, double* result) const {
    for (std::size_t i = 0; i < n; ++i) result[i] = log_marginal(statistics + i * n_statistics());
  }
  void log_marginals(const double* statistics, std::size_t n, double* result, Workers& workers) const;
};

}  // namespace bcart
