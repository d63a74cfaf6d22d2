// What the bound nouns share: array types, and the one way in which the core talks back to Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <optional>
#include <type_traits>
#include <utility>

#include "bcart/array.hpp"
#include "bcart/build.hpp"
#include "bcart/workers.hpp"

namespace bcart::bindings {

namespace nb = nanobind;

template <class T, int dimensions>
using Input = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
template <class T, int dimensions>
using Output = nb::ndarray<nb::numpy, const T, nb::ndim<dimensions>, nb::c_contig>;

// A read-only view; the object that a property is asked of stays alive as long as the view.
template <class T>
Output<T, 1> view(const T* data, std::size_t size) {
  return Output<T, 1>(data, {size}, nb::handle());
}

// Hands an array over to numpy.
template <class Container>
auto give(Container&& values) {
  using T = std::remove_cvref_t<decltype(*values.data())>;
  auto* owned = new Container(std::forward<Container>(values));
  nb::capsule owner(owned, [](void* pointer) noexcept { delete static_cast<Container*>(pointer); });
  return Output<T, 1>(owned->data(), {owned->size()}, owner);
}

// Lets Python handle signals (Ctrl-C) and tells the callback how far a build is. Called without the GIL.
class PythonMonitor final : public Monitor {
 public:
  explicit PythonMonitor(nb::object on_progress = nb::none()) : on_progress_(std::move(on_progress)) {}

  void poll() override {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (on_progress_.is_none()) return;
    on_progress_(progress.depth, progress.n_boxes, progress.n_splits, progress.n_expanded, progress.layer_size,
                 progress.n_bytes);
  }

  Progress progress;

 private:
  nb::object on_progress_;
};

// When a part of some seconds will be over.
inline Clock::time_point deadline_in(std::optional<double> seconds, double part = 1) {
  if (!seconds) return Clock::time_point::max();
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(part * *seconds));
}

// Does some work without the GIL, on a number of threads.
template <class Work>
auto at_work(std::size_t n_workers, const Work& work, Clock::time_point deadline = Clock::time_point::max()) {
  PythonMonitor monitor;
  const nb::gil_scoped_release no_gil;
  Workers workers(n_workers, monitor, deadline);
  return work(workers);
}

void bind_graph(nb::module_& module);
void bind_models(nb::module_& module);
void bind_grammar(nb::module_& module);
void bind_queries(nb::module_& module);
void bind_rows(nb::module_& module);

}  // namespace bcart::bindings
