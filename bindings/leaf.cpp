#include "bcart/leaf.hpp"

#include <nanobind/stl/vector.h>

#include "bindings.hpp"

namespace bcart::bindings {

void bind_leaf(nb::module_& module) {
  using namespace nb::literals;

  nb::class_<LeafModel>(module, "LeafModel")
      .def(
          "log_marginal",
          [](const LeafModel& leaf, const Input<double, 2>& statistics, std::size_t n_workers) {
            Array<double> result(statistics.shape(0));
            PythonMonitor monitor;
            {
              const nb::gil_scoped_release no_gil;
              Workers workers(n_workers, monitor);
              leaf.log_marginals(statistics.data(), statistics.shape(0), result.data(), workers);
            }
            return give(std::move(result));
          },
          "statistics"_a, "n_workers"_a = 1);

  nb::class_<DirichletLeaf, LeafModel>(module, "DirichletLeaf").def(nb::init<std::vector<double>>(), "alpha"_a);
}

}  // namespace bcart::bindings
