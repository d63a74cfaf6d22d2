#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bcart/leaf.hpp"
#include "bcart/prior.hpp"
#include "bcart/registry.hpp"
#include "bindings.hpp"

namespace bcart::bindings {
namespace {

Output<double, 1> log_marginal(const LeafModel& leaf, const Input<double, 2>& statistics, std::size_t n_workers) {
  Array<double> result(statistics.shape(0));
  at_work(n_workers, [&](Workers& workers) {
    leaf.log_marginals(statistics.data(), statistics.shape(0), result.data(), workers);
  });
  return give(std::move(result));
}

// The mean, variance and noise of each output, one row of outputs behind the other.
std::tuple<Output<double, 1>, Output<double, 1>, Output<double, 1>> moments(const LeafModel& leaf,
                                                                            const Input<double, 2>& statistics) {
  const std::size_t size = statistics.shape(0) * leaf.n_outputs();
  Array<double> mean(size), variance(size), noise(size);
  std::vector<Moments> outputs(leaf.n_outputs());
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t output = i % leaf.n_outputs();
    if (output == 0) leaf.moments(statistics.data() + i / leaf.n_outputs() * leaf.n_statistics(), outputs.data());
    mean[i] = outputs[output].mean;
    variance[i] = outputs[output].variance;
    noise[i] = outputs[output].noise;
  }
  return {give(std::move(mean)), give(std::move(variance)), give(std::move(noise))};
}

}  // namespace

void bind_models(nb::module_& module) {
  using namespace nb::literals;

  nb::class_<LeafModel>(module, "LeafModel")
      .def(nb::new_(&Registered<LeafModel>::make), "family"_a, "parameters"_a)
      .def("log_marginal", &log_marginal, "statistics"_a, "n_workers"_a = 1)
      .def("moments", &moments, "statistics"_a)
      .def_prop_ro("n_statistics", &LeafModel::n_statistics)
      .def_prop_ro("n_outputs", &LeafModel::n_outputs);

  nb::class_<TreePrior>(module, "TreePrior")
      .def(nb::new_(&Registered<TreePrior>::make), "name"_a, "parameters"_a)
      .def("log_stop", &TreePrior::log_stop, "depth"_a, "n_splits"_a)
      .def("log_split", &TreePrior::log_split, "depth"_a, "n_splits"_a)
      .def_prop_ro("depends_on_depth", &TreePrior::depends_on_depth);
}

}  // namespace bcart::bindings
