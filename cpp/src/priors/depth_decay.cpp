// A box at depth t splits with probability alpha (1 + t)^-beta if it can, and takes any of its splits alike (Chipman,
// George and McCulloch 1998).
#include <cmath>

#include "bcart/prior.hpp"
#include "bcart/registry.hpp"

namespace bcart {
namespace {

class DepthDecayPrior final : public TreePrior {
 public:
  DepthDecayPrior(double alpha, double beta) : log_alpha_(std::log(alpha)), beta_(beta) {}

  double log_stop(std::size_t depth, std::size_t n_splits) const override {
    return n_splits == 0 ? 0 : std::log(-std::expm1(log_chance(depth)));
  }
  double log_split(std::size_t depth, std::size_t n_splits) const override {
    return log_chance(depth) - std::log(static_cast<double>(n_splits));
  }
  bool depends_on_depth() const override { return true; }

 private:
  double log_chance(std::size_t depth) const { return log_alpha_ - beta_ * std::log1p(static_cast<double>(depth)); }

  double log_alpha_;
  double beta_;
};

const Registered<TreePrior> family("depth-decay", [](const std::vector<double>& parameters) {
  return std::make_unique<DepthDecayPrior>(parameters.at(0), parameters.at(1));
});

}  // namespace
}  // namespace bcart
