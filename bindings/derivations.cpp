#include "bcart/derive.hpp"
#include "bindings.hpp"

namespace bcart::bindings {
namespace {

Derivations best(const Graph& graph, const Input<double, 1>& log_leaf, const Values& maxima, double log_split) {
  const nb::gil_scoped_release no_gil;
  return derive_best(graph, log_leaf.data(), maxima, log_split);
}

Derivations samples(const Graph& graph, const Input<double, 1>& log_leaf, const Values& sums, double log_split,
                    std::uint64_t seed, std::size_t n, std::size_t n_workers) {
  PythonMonitor monitor;
  const nb::gil_scoped_release no_gil;
  Workers workers(n_workers, monitor);
  return derive_samples(graph, log_leaf.data(), sums, log_split, seed, n, workers);
}

}  // namespace

void bind_derivations(nb::module_& module) {
  using namespace nb::literals;

  const auto internal = nb::rv_policy::reference_internal;
  nb::class_<Derivations>(module, "Derivations")
      .def_prop_ro(
          "tree_ends", [](const Derivations& d) { return view(d.tree_ends.data(), d.tree_ends.size()); }, internal)
      .def_prop_ro(
          "log_weight", [](const Derivations& d) { return view(d.log_weight.data(), d.log_weight.size()); }, internal)
      .def_prop_ro(
          "box", [](const Derivations& d) { return view(d.box.data(), d.box.size()); }, internal)
      .def_prop_ro(
          "feature", [](const Derivations& d) { return view(d.feature.data(), d.box.size()); }, internal)
      .def_prop_ro(
          "lower", [](const Derivations& d) { return view(d.lower.data(), d.box.size()); }, internal)
      .def_prop_ro(
          "upper", [](const Derivations& d) { return view(d.upper.data(), d.box.size()); }, internal)
      .def_prop_ro("right", [](const Derivations& d) { return view(d.right.data(), d.box.size()); }, internal);

  module.def("derive_best", &best, "graph"_a, "log_leaf"_a, "maxima"_a, "log_split"_a);
  module.def("derive_samples", &samples, "graph"_a, "log_leaf"_a, "sums"_a, "log_split"_a, "seed"_a, "n"_a,
             "n_workers"_a);
}

}  // namespace bcart::bindings
