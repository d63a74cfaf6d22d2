#include "bcart/addition.hpp"

#include <algorithm>
#include <cmath>

#include "bcart/exponential.hpp"

namespace bcart {
namespace {

double largest(const double* begin, const double* end) {
  double result = *begin;
  for (const double* term = begin + 1; term < end; ++term) result = std::max(result, *term);
  return result;
}

}  // namespace

void Maximum::reduce(Terms& terms) {
  terms.values.resize(terms.ends.size());
  const double* begin = terms.log_terms.data();
  for (std::size_t i = 0; i < terms.ends.size(); ++i) {
    const double* end = terms.log_terms.data() + terms.ends[i];
    terms.values[i] = largest(begin, end);
    begin = end;
  }
}

void LogSum::reduce(Terms& terms) {
  Maximum::reduce(terms);
  std::vector<double>& values = terms.values;
  double* log_terms = terms.log_terms.data();
  std::size_t k = 0;
  for (std::size_t i = 0; i < terms.ends.size(); ++i) {
    for (const double most = values[i]; k < terms.ends[i]; ++k) log_terms[k] -= most;
  }
  exp_all(log_terms, terms.log_terms.size());
  k = 0;
  for (std::size_t i = 0; i < terms.ends.size(); ++i) {
    double sum = 0;
    for (; k < terms.ends[i]; ++k) sum += log_terms[k];
    values[i] += std::log(sum);
  }
}

}  // namespace bcart
