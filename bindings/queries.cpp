#include "bcart/queries.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bcart/respond.hpp"
#include "bcart/walk.hpp"
#include "bindings.hpp"

namespace bcart::bindings {
namespace {

using Numbers = Output<double, 1>;

void make_queries(Queries* self, const Input<std::uint32_t, 2>& positions, const Input<std::uint32_t, 1>& feature,
                  const Input<std::uint32_t, 1>& first, const Input<std::uint32_t, 1>& last,
                  const Input<std::uint8_t, 1>& has_learned_missing, const std::optional<Input<double, 1>>& weight_of) {
  new (self) Queries{positions.shape(0),
                     positions.shape(1),
                     positions.data(),
                     feature.size(),
                     feature.data(),
                     first.data(),
                     last.data(),
                     has_learned_missing.data(),
                     weight_of ? weight_of->data() : nullptr};
}

std::tuple<Numbers, Numbers, Numbers, Numbers> responses(const Queries& queries, const Grammar& grammar,
                                                         const LeafModel& leaf, std::size_t max_bytes,
                                                         std::size_t n_workers) {
  Response response =
      at_work(n_workers, [&](Workers& workers) { return respond(grammar, queries, leaf, max_bytes, workers); });
  return {give(std::move(response.mean)), give(std::move(response.between_trees)),
          give(std::move(response.within_leaf)), give(std::move(response.noise))};
}

std::tuple<Output<std::uint64_t, 1>, Numbers, Numbers> all_mixtures(const Queries& queries, const Grammar& grammar,
                                                                    double may_lose, std::size_t max_bytes,
                                                                    std::size_t n_workers) {
  Mixtures all =
      at_work(n_workers, [&](Workers& workers) { return mixtures(grammar, queries, may_lose, max_bytes, workers); });
  return {give(std::move(all.ends)), give(std::move(all.statistics)), give(std::move(all.weights))};
}

Numbers best_walks(const Queries& queries, const Grammar& grammar, std::size_t max_bytes, std::size_t n_workers) {
  return give(at_work(n_workers, [&](Workers& workers) { return walk_best(grammar, queries, max_bytes, workers); }));
}

std::tuple<Output<BoxId, 1>, Numbers, Numbers> random_walks(const Queries& queries, const Grammar& grammar,
                                                            std::uint64_t seed, std::size_t n, std::size_t max_bytes,
                                                            std::size_t n_workers, std::size_t begin, std::size_t end) {
  Walks walks = at_work(n_workers, [&](Workers& workers) {
    return walk_randomly(grammar, queries, seed, n, max_bytes, workers, {begin, end});
  });
  return {give(std::move(walks.leaves)), give(std::move(walks.statistics)), give(std::move(walks.uniforms))};
}

}  // namespace

void bind_queries(nb::module_& module) {
  using namespace nb::literals;

  nb::class_<Queries>(module, "Queries")
      .def("__init__", &make_queries, "positions"_a.noconvert(), "feature"_a.noconvert(), "first"_a.noconvert(),
           "last"_a.noconvert(), "has_learned_missing"_a.noconvert(), "weight_of"_a.none().noconvert(),
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
           nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>())
      .def("respond", &responses, "grammar"_a, "leaf"_a, "max_bytes"_a, "n_workers"_a)
      .def("mixtures", &all_mixtures, "grammar"_a, "may_lose"_a, "max_bytes"_a, "n_workers"_a,
           "Where the leaves of each query end, and the statistics and weights of all leaves.")
      .def("walk_best", &best_walks, "grammar"_a, "max_bytes"_a, "n_workers"_a, "The statistics of the leaves reached.")
      .def("walk_randomly", &random_walks, "grammar"_a, "seed"_a, "n"_a, "max_bytes"_a, "n_workers"_a, "begin"_a,
           "end"_a, "The leaves reached, as boxes, their statistics, and random numbers.");
}

}  // namespace bcart::bindings
