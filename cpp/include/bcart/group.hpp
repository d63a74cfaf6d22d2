// Rows of codes that are alike are one group.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bcart/array.hpp"
#include "bcart/workers.hpp"

namespace bcart {

using Group = std::uint32_t;

// Groups are numbered in lexicographic order of their codes, whatever the number of threads.
struct Groups {
  Array<Group> group_of;          // of each row
  Array<std::uint32_t> some_row;  // of each group

  std::size_t size() const { return some_row.size(); }
};

// Groups rows of n_features codes, at least one, one row behind the other.
template <class Code>
Groups group_rows(const Code* codes, std::size_t n_rows, std::size_t n_features, Workers& workers);

// The codes of each group, one group behind the other.
template <class Code>
Array<Code> codes_of_groups(const Groups& groups, const Code* codes, std::size_t n_features, Workers& workers);

}  // namespace bcart
