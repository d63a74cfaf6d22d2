#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "bcart/numbering.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace bcart::check {
namespace {

std::vector<std::uint32_t> random_sizes(std::mt19937_64& random, std::size_t n, std::size_t max_cells) {
  std::vector<std::uint32_t> sizes(n);
  for (std::uint32_t& size : sizes) size = static_cast<std::uint32_t>(1 + pick(random, max_cells));
  return sizes;
}

// The largest first, equal ones in their order.
std::vector<BoxId> places_by_size(const std::vector<std::uint32_t>& sizes) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  std::vector<BoxId> places(sizes.size());
  for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = static_cast<BoxId>(i);
  return places;
}

std::vector<BoxId> first_of_sizes(const std::vector<std::uint32_t>& sizes, std::size_t max_cells) {
  std::vector<BoxId> first(max_cells + 1);
  for (std::uint32_t size = 0; size <= max_cells; ++size) {
    first[size] = static_cast<BoxId>(std::ranges::count_if(sizes, [&](std::uint32_t other) { return other > size; }));
  }
  return first;
}

// Of the boxes that were numbered, some of the last may have been dropped since.
void check_ids(std::mt19937_64& random, std::size_t n_numbered, std::size_t n_kept, std::size_t max_cells) {
  std::vector<std::uint32_t> sizes = random_sizes(random, n_numbered, max_cells);
  Numbering numbering(max_cells);
  std::vector<BoxId> numbers;
  for (const std::uint32_t size : sizes) numbers.push_back(numbering.next(size));
  CHECK(std::ranges::all_of(numbers, [&](BoxId number) { return number < numbering.end(); }));
  sizes.resize(n_kept);
  const std::vector<BoxId> expected = places_by_size(sizes);
  const Numbering::Ids ids = numbering.ids(first_of_sizes(sizes, max_cells));
  for (std::size_t i = 0; i < n_kept; ++i) CHECK_EQUAL(ids[numbers[i]], expected[i]);
}

}  // namespace

TEST(only_the_first_number_is_zero) {
  std::mt19937_64 random(4);
  Numbering numbering(9);
  CHECK_EQUAL(numbering.next(9), 0U);
  for (const std::uint32_t size : random_sizes(random, 3000, 8)) CHECK(numbering.next(size) > 0);
}

TEST(ids_are_the_places_of_boxes_sorted_by_size) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20; ++round) {
    const std::size_t n = 1 + pick(random, 3000);
    check_ids(random, n, n, 1 + pick(random, 12));
  }
}

TEST(boxes_that_are_dropped_from_the_end_leave_no_gap) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 20; ++round) {
    const std::size_t n = 1 + pick(random, 3000);
    check_ids(random, n, pick(random, n + 1), 1 + pick(random, 500));
  }
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
