// Single ways of a query from the root to a leaf, without building trees.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bcart/array.hpp"
#include "bcart/grammar.hpp"
#include "bcart/queries.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// The statistics of the leaf of the most probable tree that each query ends in; the grammar's values come from
// sweep<Maximum>. As many boxes of a fold are opened at once as there is room for in max_bytes.
Array<double> walk_best(const Grammar& grammar, const Queries& queries, std::size_t max_bytes, Workers& workers);

// Where random walks end.
struct Walks {
  Array<BoxId> leaves;       // the box, or kNoBox if it is in a fold
  Array<double> statistics;  // of that box
  Array<double> uniforms;    // a random number to draw the target with
};

// Some of the walks that stand query after query.
struct WalkRange {
  std::size_t begin = 0;
  std::size_t end = ~std::size_t{0};  // at most
};

// In each of n random trees, query after query: the first n walks of the infinite sequence that belongs to the seed and
// the query's place. Of these, only those in the range are made.
Walks walk_randomly(const Grammar& grammar, const Queries& queries, std::uint64_t seed, std::size_t n,
                    std::size_t max_bytes, Workers& workers, WalkRange range = {});

}  // namespace bcart
