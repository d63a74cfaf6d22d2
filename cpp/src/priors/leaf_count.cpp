// Trees weigh phi^-(number of leaves), up to a constant: the tree of one leaf counts 1.
#include "bcart/prior.hpp"
#include "bcart/registry.hpp"

namespace bcart {
namespace {

class LeafCountPrior final : public TreePrior {
 public:
  explicit LeafCountPrior(double log_phi) : log_phi_(log_phi) {}
  double log_stop(std::size_t, std::size_t) const override { return 0; }
  double log_split(std::size_t, std::size_t) const override { return -log_phi_; }
  bool depends_on_depth() const override { return false; }

 private:
  double log_phi_;
};

const Registered<TreePrior> family("leaf-count", [](const std::vector<double>& parameters) {
  return std::make_unique<LeafCountPrior>(parameters.at(0));
});

}  // namespace
}  // namespace bcart
