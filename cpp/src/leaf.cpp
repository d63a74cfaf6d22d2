#include "bcart/leaf.hpp"

namespace bcart {
namespace {

constexpr std::size_t kGrain = 8192;

}  // namespace

void LeafModel::log_marginals(const double* statistics, std::size_t n, double* result, Workers& workers) const {
  workers.run_ranges(0, n, kGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
    log_marginal_each(statistics + begin * n_statistics(), end - begin, result + begin);
  });
}

}  // namespace bcart
