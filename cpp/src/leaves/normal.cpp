// Targets drawn from a normal distribution with a normal-inverse-gamma prior; statistics are the weight, the sum and
// the sum of squares of the targets' distances from a centre near their mean.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "bcart/gamma.hpp"
#include "bcart/leaf.hpp"
#include "bcart/registry.hpp"

namespace bcart {
namespace {

class NormalLeaf final : public LeafModel {
 public:
  // The prior mean counts from the centre, too.
  NormalLeaf(double mean, double weight, double shape, double scale)
      : mean_(mean), weight_(weight), shape_(shape), scale_(scale) {}
  std::size_t n_statistics() const override { return 3; }

  double log_marginal(const double* statistics) const override {
    const double n = statistics[0];
    const double shape = shape_ + n / 2;
    const double added = (posterior_scale(statistics) - scale_) / scale_;
    const double growth =
        std::isinf(added) ? std::log(posterior_scale(statistics)) - std::log(scale_) : std::log1p(added);
    return log_rising(shape_, n / 2) - shape * growth - n / 2 * std::log(scale_) - std::log1p(n / weight_) / 2 -
           n / 2 * std::log(2 * std::numbers::pi);
  }

  void moments(const double* statistics, Moments* outputs) const override {
    const double weight = weight_ + statistics[0];
    const double shape = shape_ + statistics[0] / 2;
    const double infinite = std::numeric_limits<double>::infinity();
    const double noise = shape > 1 ? posterior_scale(statistics) / (shape - 1) : infinite;
    outputs[0] = {weight_ / weight * mean_ + statistics[1] / weight, noise / weight, noise};
  }

 private:
  double posterior_scale(const double* statistics) const {
    const double n = statistics[0];
    const double mean = n > 0 ? statistics[1] / n : 0;
    const double squares = std::max(0.0, statistics[2] - statistics[1] * mean);
    const double shift = mean - mean_;
    return scale_ + squares / 2 + weight_ / (weight_ + n) * n * shift * shift / 2;
  }

  double mean_;
  double weight_;
  double shape_;
  double scale_;
};

const Registered<LeafModel> family("normal", [](const std::vector<double>& parameters) {
  return std::make_unique<NormalLeaf>(parameters.at(0), parameters.at(1), parameters.at(2), parameters.at(3));
});

}  // namespace
}  // namespace bcart
