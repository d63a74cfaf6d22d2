// Counts drawn from a Poisson distribution with a gamma prior on its rate; statistics are the weight, the sum of the
// counts, and the sum of the logarithms of their factorials.
#include <cmath>

#include "bcart/gamma.hpp"
#include "bcart/leaf.hpp"
#include "bcart/registry.hpp"

namespace bcart {
namespace {

class PoissonLeaf final : public LeafModel {
 public:
  PoissonLeaf(double shape, double rate) : shape_(shape), rate_(rate) {}
  std::size_t n_statistics() const override { return 3; }

  double log_marginal(const double* statistics) const override {
    const double n = statistics[0];
    const double sum = statistics[1];
    const double ratio = n / rate_;
    const double log_gain = std::isinf(ratio) ? std::log(n) - std::log(rate_) : std::log1p(ratio);
    return log_rising(shape_, sum) - shape_ * log_gain - sum * std::log(rate_ + n) - statistics[2];
  }

  void moments(const double* statistics, Moments* outputs) const override {
    const double mean = (shape_ + statistics[1]) / (rate_ + statistics[0]);
    outputs[0] = {mean, mean / (rate_ + statistics[0]), mean};
  }

 private:
  double shape_;
  double rate_;
};

const Registered<LeafModel> family("poisson", [](const std::vector<double>& parameters) {
  return std::make_unique<PoissonLeaf>(parameters.at(0), parameters.at(1));
});

}  // namespace
}  // namespace bcart
