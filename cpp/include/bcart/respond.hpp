// The answer of all trees together to a query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bcart/array.hpp"
#include "bcart/grammar.hpp"
#include "bcart/leaf.hpp"
#include "bcart/queries.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// For each query and output, over the leaves that the query can end in, weighed by their probability. Leaves that have
// less than 1e-12 together may be left out.
struct Response {
  Array<double> mean;           // n_queries x n_outputs, as all below
  Array<double> between_trees;  // variance of the leaves' means
  Array<double> within_leaf;    // mean of the leaves' variances
  Array<double> noise;          // mean of the leaves' noise
};
// The weights of queries take up to max_bytes, or 8 bytes a place if that is more.
Response respond(const Grammar& grammar, const Queries& queries, const LeafModel& leaf, std::size_t max_bytes,
                 Workers& workers);

// The leaves that a query can end in, with their probabilities; those of equal statistics are one. Leaves that have
// less than `may_lose` together may be left out.
struct Mixtures {
  std::vector<std::uint64_t> ends;  // of each query
  std::vector<double> weights;
  std::vector<double> statistics;
};
Mixtures mixtures(const Grammar& grammar, const Queries& queries, double may_lose, std::size_t max_bytes,
                  Workers& workers);

}  // namespace bcart
