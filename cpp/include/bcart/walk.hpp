// Single ways of a query from the root to a leaf, without building trees.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bcart/array.hpp"
#include "bcart/grammar.hpp"
#include "bcart/queries.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// The box where each query ends in the most probable tree; the grammar's values come from sweep<Maximum>.
Array<BoxId> walk_best(const Grammar& grammar, const Queries& queries, Workers& workers);

// Where each query ends in each of n random trees, and a uniform random number to draw its target with.
struct RandomWalks {
  Array<BoxId> leaves;  // n_queries x n
  Array<double> uniforms;
};

// The first n walks of the infinite sequence that belongs to the seed and the query's place.
RandomWalks walk_randomly(const Grammar& grammar, const Queries& queries, std::uint64_t seed, std::size_t n,
                          Workers& workers);

}  // namespace bcart
