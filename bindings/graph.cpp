#include "bcart/graph.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>

#include "bcart/byte_counts.hpp"
#include "bcart/fold.hpp"
#include "bcart/memory.hpp"
#include "bindings.hpp"

namespace bcart::bindings {
namespace {

using namespace nb::literals;

// Of the time that a build may take: the rest is for putting its boxes in order, and for the first sweeps over them.
constexpr double kShareOfListing = 0.7;

Cells as_cells(const Input<Code, 2>& codes, const std::vector<std::size_t>& n_bins, const std::vector<Kind>& kinds,
               const Input<double, 2>& statistics, const Input<double, 1>& weights) {
  return {codes.shape(0), codes.shape(1), statistics.shape(1), codes.data(), statistics.data(), weights.data(),
          n_bins,         kinds};
}

Graph build(const Input<Code, 2>& codes, const std::vector<std::size_t>& n_bins, const std::vector<Kind>& kinds,
            const Input<double, 2>& statistics, const Input<double, 1>& weights, std::optional<std::size_t> max_depth,
            double min_samples_leaf, double min_samples_split, Folding folding, std::size_t max_bytes,
            std::optional<double> seconds, std::size_t n_workers, nb::object on_progress) {
  const Cells cells = as_cells(codes, n_bins, kinds, statistics, weights);
  const Family family{max_depth, min_samples_leaf, min_samples_split};
  PythonMonitor monitor(std::move(on_progress));
  const nb::gil_scoped_release no_gil;
  Workers workers(n_workers, monitor, deadline_in(seconds, kShareOfListing));
  return_unused_heap();  // what earlier work left there is not counted
  Graph graph = build_graph(cells, family, {max_bytes, folding}, workers, monitor.progress);
  if (graph.wants_listed_tests()) graph.list_tests(TestNumbers(n_bins, kinds).size(), workers);
  return graph;
}

void make_fold(Fold* self, const Graph& graph, const Input<Code, 2>& codes, const Input<double, 2>& statistics,
               const Input<double, 1>& weights, double min_samples_leaf, double min_samples_split,
               std::size_t n_workers) {
  const Cells cells = as_cells(codes, graph.n_bins, graph.kinds, statistics, weights);
  const Family family{graph.max_depth, min_samples_leaf, min_samples_split};
  at_work(n_workers, [&](Workers& workers) { new (self) Fold(graph, cells, family, workers); });
}

void count_bytes(ByteCounts* self, std::size_t n_cells, std::vector<std::size_t> n_bins, std::vector<Kind> kinds,
                 std::size_t n_statistics) {
  const std::size_t n_features = n_bins.size();
  new (self)
      ByteCounts({n_cells, n_features, n_statistics, nullptr, nullptr, nullptr, std::move(n_bins), std::move(kinds)});
}

template <class T>
Array<T> copy(const T* data, std::size_t size) {
  Array<T> array(size);
  std::copy(data, data + size, array.data());
  return array;
}

// The inverse of reading a graph's properties one by one, as pickling does.
Graph restore(std::vector<std::size_t> n_bins, std::vector<Kind> kinds, const Input<std::uint64_t, 1>& first_split,
              const Input<std::uint32_t, 1>& n_splits_of, const Input<std::uint32_t, 1>& n_cells,
              const Input<double, 2>& statistics, const Input<std::uint32_t, 1>& tests, const Input<BoxId, 1>& left,
              const Input<BoxId, 1>& right, const Input<std::uint32_t, 1>& asked, std::optional<std::size_t> max_depth,
              bool is_folded, Ending ending) {
  Graph graph;
  graph.n_statistics = statistics.shape(1);
  graph.first_split = copy(first_split.data(), first_split.size());
  graph.n_splits_of = copy(n_splits_of.data(), n_splits_of.size());
  graph.n_cells = copy(n_cells.data(), n_cells.size());
  graph.statistics = copy(statistics.data(), statistics.size());
  graph.tests = TestArray(TestNumbers(n_bins, kinds).size());
  graph.tests.resize(tests.size());
  for (std::size_t i = 0; i < tests.size(); ++i) graph.tests.set(i, tests.data()[i]);
  graph.left = copy(left.data(), left.size());
  graph.right = copy(right.data(), right.size());
  graph.asked = copy(asked.data(), asked.size());
  graph.n_bins = std::move(n_bins);
  graph.kinds = std::move(kinds);
  graph.max_depth = max_depth;
  graph.n_folded = is_folded ? kFoldedLevels : 0;
  graph.has_listed_tests = graph.wants_listed_tests();
  graph.ending = ending;
  return graph;
}

nb::object tests_view(nb::handle self) {
  const auto& graph = nb::cast<const Graph&>(self);
  const auto owned = [&]<class T>(const Array<T>& tests) {
    return nb::cast(Output<T, 1>(tests.data(), {tests.size()}, self));
  };
  return graph.tests.is_narrow() ? owned(graph.tests.narrow()) : owned(graph.tests.wide());
}

using Codes = Output<std::uint32_t, 1>;

std::tuple<Codes, Codes, Codes, Codes> all_tests(const Graph& graph) {
  const TestNumbers numbers(graph.n_bins, graph.kinds);
  const std::size_t n_tests = graph.n_tests();
  std::vector<std::uint32_t> feature(n_tests), form(n_tests), lower(n_tests), upper(n_tests);
  at_work(1, [&](Workers& workers) {
    Steps steps(workers, 0);
    for (std::size_t place = 0; place < n_tests; ++place) {
      const Test test = numbers.test(graph.has_listed_tests ? graph.asked[place] : static_cast<std::uint32_t>(place));
      feature[place] = test.feature;
      form[place] = static_cast<std::uint32_t>(test.form);
      lower[place] = test.lower;
      upper[place] = test.upper;
      steps.add(1);
    }
  });
  return {give(std::move(feature)), give(std::move(form)), give(std::move(lower)), give(std::move(upper))};
}

Output<double, 2> statistics_view(const Graph& graph) {
  return Output<double, 2>(graph.statistics.data(), {graph.n_boxes(), graph.n_statistics}, nb::handle());
}

}  // namespace

void bind_graph(nb::module_& module) {
  nb::enum_<Kind>(module, "Kind")
      .value("NUMERIC", Kind::numeric)
      .value("OPTIONAL", Kind::optional)
      .value("NOMINAL", Kind::nominal);
  nb::enum_<Form>(module, "Form", nb::is_arithmetic())
      .value("BELOW", Form::below)
      .value("MISSING_LEFT", Form::missing_left)
      .value("MISSING_RIGHT", Form::missing_right)
      .value("IS_MISSING", Form::is_missing)
      .value("EQUALS", Form::equals);
  nb::enum_<Ending>(module, "Ending")
      .value("COMPLETE", Ending::complete)
      .value("MAX_DEPTH", Ending::max_depth)
      .value("MEMORY", Ending::memory)
      .value("TIME", Ending::time)
      .value("SYSTEM", Ending::system)
      .value("NUMBERS", Ending::numbers);

  nb::enum_<Folding>(module, "Folding")
      .value("AUTOMATIC", Folding::automatic)
      .value("NEVER", Folding::never)
      .value("ALWAYS", Folding::always);

  const auto internal = nb::rv_policy::reference_internal;
  nb::class_<Graph>(module, "Graph")
      .def_prop_ro("n_boxes", &Graph::n_boxes)
      .def_prop_ro("n_splits", &Graph::n_splits)
      .def_prop_ro("n_bytes", &Graph::n_bytes)
      .def_prop_ro("n_bins", [](const Graph& graph) { return graph.n_bins; })
      .def_prop_ro("kinds", [](const Graph& graph) { return graph.kinds; })
      .def_prop_ro("max_depth", [](const Graph& graph) { return graph.max_depth; })
      .def_prop_ro("is_folded", [](const Graph& graph) { return graph.n_folded > 0; })
      .def_prop_ro("n_boxes_to", [](const Graph& graph) { return graph.n_boxes_to; })
      .def_prop_ro("n_cells_to", [](const Graph& graph) { return graph.n_cells_to; })
      .def_prop_ro("n_splits_to", [](const Graph& graph) { return graph.n_splits_to; })
      .def_prop_ro("n_boxes_tried", [](const Graph& graph) { return graph.n_boxes_tried; })
      .def_prop_ro("n_boxes_found", [](const Graph& graph) { return graph.n_boxes_found; })
      .def_prop_ro("n_cells_found", [](const Graph& graph) { return graph.n_cells_found; })
      .def_prop_ro("n_splits_found", [](const Graph& graph) { return graph.n_splits_found; })
      .def_prop_ro("n_bytes_counted", [](const Graph& graph) { return graph.n_bytes_counted; })
      .def_prop_ro("ending", [](const Graph& graph) { return graph.ending; })
      .def_prop_ro(
          "first_split", [](const Graph& g) { return view(g.first_split.data(), g.n_boxes()); }, internal)
      .def_prop_ro(
          "n_splits_of", [](const Graph& g) { return view(g.n_splits_of.data(), g.n_boxes()); }, internal)
      .def_prop_ro(
          "n_cells", [](const Graph& g) { return view(g.n_cells.data(), g.n_boxes()); }, internal)
      .def_prop_ro("statistics", &statistics_view, internal)
      .def_prop_ro("tests", &tests_view)
      .def_prop_ro(
          "left", [](const Graph& g) { return view(g.left.data(), g.n_splits()); }, internal)
      .def_prop_ro(
          "right", [](const Graph& g) { return view(g.right.data(), g.n_splits()); }, internal)
      .def_prop_ro(
          "asked", [](const Graph& g) { return view(g.asked.data(), g.asked.size()); }, internal)
      .def_prop_ro("n_bytes_of_tests", [](const Graph& graph) { return graph.n_tests() * kBytesPerTest; })
      .def("all_tests", &all_tests, "Of each number of a test: feature, form, and the codes below and above the gap.");

  module.def("build_graph", &build, "codes"_a, "n_bins"_a, "kinds"_a, "statistics"_a, "weights"_a, "max_depth"_a.none(),
             "min_samples_leaf"_a, "min_samples_split"_a, "folding"_a, "max_bytes"_a, "seconds"_a.none(), "n_workers"_a,
             "on_progress"_a.none());
  module.def("restore_graph", &restore, "n_bins"_a, "kinds"_a, "first_split"_a, "n_splits_of"_a, "n_cells"_a,
             "statistics"_a, "tests"_a, "left"_a, "right"_a, "asked"_a, "max_depth"_a.none(), "is_folded"_a,
             "ending"_a);

  nb::class_<Fold>(module, "Fold")
      .def("__init__", &make_fold, "graph"_a, "codes"_a.noconvert(), "statistics"_a.noconvert(),
           "weights"_a.noconvert(), "min_samples_leaf"_a, "min_samples_split"_a, "n_workers"_a, nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>())
      .def_prop_ro("n_bytes", [](const Fold& fold) { return bytes_of_fold(fold.cells()); });

  nb::class_<ByteCounts>(module, "ByteCounts")
      .def("__init__", &count_bytes, "n_cells"_a, "n_bins"_a, "kinds"_a, "n_statistics"_a)
      .def_prop_ro("before_first_box", &ByteCounts::before_first_box)
      .def_ro("a_box", &ByteCounts::a_box)
      .def_ro("a_split", &ByteCounts::a_split)
      .def_ro("fold", &ByteCounts::fold);
  module.def(
      "sums_a_cell",
      [](const Input<Code, 2>& codes, const std::vector<std::size_t>& n_bins, const Input<double, 2>& statistics,
         const Input<double, 1>& weights) {
        const Cells cells = as_cells(codes, n_bins, {}, statistics, weights);
        return at_work(1, [&](Workers& workers) { return sums_a_cell(cells, workers); });
      },
      "codes"_a, "n_bins"_a, "statistics"_a, "weights"_a);
}

}  // namespace bcart::bindings
