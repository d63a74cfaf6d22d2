#include "bcart/grammar.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <utility>

#include "bcart/derive.hpp"
#include "bcart/fold.hpp"
#include "bcart/sweep.hpp"
#include "bindings.hpp"

namespace bcart::bindings {
namespace {

using LogLeaf = std::optional<Input<double, 1>>;

void make_depths(Depths* self, const Graph& graph, const TreePrior& prior, std::size_t n_workers) {
  at_work(n_workers, [&](Workers& workers) { new (self) Depths(graph, prior.depends_on_depth(), workers); });
}

template <class Addition>
Output<double, 1> run_sweep(const Graph& graph, const Depths& depths, const TreePrior& prior, const Fold* fold,
                            const LeafModel* leaf, const LogLeaf& log_leaf, std::size_t n_workers) {
  const Grammar grammar{graph, depths, prior, log_leaf ? log_leaf->data() : nullptr, nullptr, fold, leaf};
  return give(at_work(n_workers, [&](Workers& workers) { return sweep<Addition>(grammar, workers); }));
}

std::pair<Output<double, 1>, Output<double, 1>> run_both_sweeps(const Graph& graph, const Depths& depths,
                                                                const TreePrior& prior, const Fold* fold,
                                                                const LeafModel& leaf, const Input<double, 1>& log_leaf,
                                                                std::size_t n_workers) {
  const Grammar grammar{graph, depths, prior, log_leaf.data(), nullptr, fold, &leaf};
  SumsAndMaxima both = at_work(n_workers, [&](Workers& workers) { return sweep_both(grammar, workers); });
  return {give(std::move(both.log_sums)), give(std::move(both.maxima))};
}

void make_grammar(Grammar* self, const Graph& graph, const Depths& depths, const TreePrior& prior, const Fold* fold,
                  const LeafModel& leaf, const Input<double, 1>& log_leaf, const Input<double, 1>& values) {
  new (self) Grammar{graph, depths, prior, log_leaf.data(), values.data(), fold, &leaf};
}

Derivations best(const Grammar& grammar, std::size_t max_bytes) {
  return at_work(1, [&](Workers& workers) { return derive_best(grammar, max_bytes, workers); });
}

Derivations samples(const Grammar& grammar, std::uint64_t seed, std::size_t n, std::size_t max_bytes,
                    std::size_t n_workers, std::size_t first) {
  return at_work(n_workers,
                 [&](Workers& workers) { return derive_samples(grammar, seed, n, max_bytes, workers, first); });
}

}  // namespace

void bind_grammar(nb::module_& module) {
  using namespace nb::literals;

  nb::class_<Depths>(module, "Depths")
      .def("__init__", &make_depths, "graph"_a, "prior"_a, "n_workers"_a)
      .def_prop_ro("is_flat", &Depths::is_flat)
      .def_prop_ro("n_places", &Depths::n_places)
      .def_prop_ro("n_bytes", &Depths::n_bytes)
      .def("place", &Depths::place, "box"_a, "depth"_a)
      .def("first_depth", &Depths::first_depth, "box"_a)
      .def(
          "n_depths", [](const Depths& depths, std::size_t box) { return depths.end(box) - depths.begin(box); },
          "box"_a);

  module.def("sweep_log_sum", &run_sweep<LogSum>, "graph"_a, "depths"_a, "prior"_a, "fold"_a.none(), "leaf"_a.none(),
             "log_leaf"_a.none(), "n_workers"_a);
  module.def("sweep_maximum", &run_sweep<Maximum>, "graph"_a, "depths"_a, "prior"_a, "fold"_a.none(), "leaf"_a.none(),
             "log_leaf"_a.none(), "n_workers"_a);
  module.def("sweep_both", &run_both_sweeps, "graph"_a, "depths"_a, "prior"_a, "fold"_a.none(), "leaf"_a, "log_leaf"_a,
             "n_workers"_a);

  nb::class_<Grammar>(module, "Grammar")
      .def("__init__", &make_grammar, "graph"_a, "depths"_a, "prior"_a, "fold"_a.none(), "leaf"_a,
           "log_leaf"_a.noconvert(), "values"_a.noconvert(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>(),
           nb::keep_alive<1, 8>())
      .def_prop_ro("n_rules", &Grammar::n_rules)
      .def("log_stop", &Grammar::log_stop, "box"_a, "depth"_a)
      .def("derive_best", &best, "max_bytes"_a)
      .def("derive_samples", &samples, "seed"_a, "n"_a, "max_bytes"_a, "n_workers"_a, "first"_a = 0);

  const auto internal = nb::rv_policy::reference_internal;
  nb::class_<Derivations>(module, "Derivations")
      .def_prop_ro(
          "tree_ends", [](const Derivations& d) { return view(d.tree_ends.data(), d.tree_ends.size()); }, internal)
      .def_prop_ro(
          "log_weight", [](const Derivations& d) { return view(d.log_weight.data(), d.log_weight.size()); }, internal)
      .def_prop_ro(
          "statistics", [](const Derivations& d) { return view(d.statistics.data(), d.statistics.size()); }, internal)
      .def_prop_ro(
          "test", [](const Derivations& d) { return view(d.test.data(), d.test.size()); }, internal)
      .def_prop_ro("right", [](const Derivations& d) { return view(d.right.data(), d.right.size()); }, internal);
}

}  // namespace bcart::bindings
