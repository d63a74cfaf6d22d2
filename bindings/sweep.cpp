#include "bcart/sweep.hpp"

#include <nanobind/stl/optional.h>

#include "bindings.hpp"

namespace bcart::bindings {
namespace {

using LogLeaf = std::optional<Input<double, 1>>;

template <class Addition>
Values run_sweep(const Graph& graph, const LogLeaf& log_leaf, double log_split, std::size_t n_workers) {
  PythonMonitor monitor;
  const nb::gil_scoped_release no_gil;
  Workers workers(n_workers, monitor);
  return sweep<Addition>(graph, log_leaf ? log_leaf->data() : nullptr, log_split, workers);
}

}  // namespace

void bind_sweep(nb::module_& module) {
  using namespace nb::literals;

  nb::class_<Values>(module, "Values")
      .def_prop_ro("root", &Values::root)
      .def_prop_ro("n_levels", [](const Values& values) { return values.levels.size(); })
      .def(
          "level",
          [](const Values& values, std::size_t level) {
            const Array<double>& array = values.levels.at(level);
            return view(array.data(), array.size());
          },
          "level"_a, nb::rv_policy::reference_internal);

  module.def("sweep_log_sum", &run_sweep<LogSum>, "graph"_a, "log_leaf"_a.none(), "log_split"_a, "n_workers"_a);
  module.def("sweep_maximum", &run_sweep<Maximum>, "graph"_a, "log_leaf"_a.none(), "log_split"_a, "n_workers"_a);
}

}  // namespace bcart::bindings
