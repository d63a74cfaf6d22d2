// One recursion, many questions: Q(N) = leaf(N) (+) sum over splits of weight * Q(left) * Q(right).
#pragma once

#include "bcart/addition.hpp"
#include "bcart/array.hpp"
#include "bcart/grammar.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// Finds the values of a grammar, one a place; those it has are not looked at.
template <class Addition>
Array<double> sweep(const Grammar& grammar, Workers& workers);

extern template Array<double> sweep<LogSum>(const Grammar&, Workers&);
extern template Array<double> sweep<Maximum>(const Grammar&, Workers&);

struct SumsAndMaxima {
  Array<double> log_sums;
  Array<double> maxima;
};

// Both in the time of one: what takes time is to reach the children of a box, not to add them up.
SumsAndMaxima sweep_both(const Grammar& grammar, Workers& workers);

}  // namespace bcart
