#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "bcart/array.hpp"
#include "check.hpp"

namespace bcart::check {

TEST(a_new_array_is_zero) {
  for (const std::size_t size : {0, 1, 100, 1 << 18, 1 << 20}) {
    const Array<std::uint64_t> array(size);
    CHECK_EQUAL(array.size(), size);
    bool is_zero = true;
    for (const std::uint64_t value : array) is_zero = is_zero && value == 0;
    CHECK(is_zero);
  }
}

TEST(values_stay_while_an_array_grows_and_shrinks_across_the_size_of_large_pages) {
  Array<std::uint32_t> array;
  std::size_t n_set = 0;
  for (std::size_t size = 1; size < 3'000'000; size = size * 3 / 2 + 1) {
    array.resize(size);
    for (; n_set < size; ++n_set) array[n_set] = static_cast<std::uint32_t>(n_set * 2654435761U);
    if (size % 2 == 0) array.shrink_to_fit();
  }
  for (std::size_t size = array.size(); size > 0; size /= 3) {
    array.resize(size);
    array.shrink_to_fit();
    bool is_same = true;
    for (std::size_t i = 0; i < size; ++i) is_same = is_same && array[i] == static_cast<std::uint32_t>(i * 2654435761U);
    CHECK(is_same);
  }
}

TEST(memory_is_aligned_to_cache_lines) {
  for (const std::size_t size : {1, 1000, 1 << 22}) {
    const Array<std::uint8_t> array(size);
    CHECK_EQUAL(reinterpret_cast<std::uintptr_t>(array.data()) % kCacheLine, std::uintptr_t{0});
  }
}

TEST(moving_takes_the_values_along) {
  Array<int> one(3);
  one[2] = 7;
  Array<int> other = std::move(one);
  CHECK_EQUAL(other.size(), std::size_t{3});
  CHECK_EQUAL(other[2], 7);
  Array<int> third(1);
  third = std::move(other);
  CHECK_EQUAL(third[2], 7);
}

#if defined(__linux__)
TEST(memory_that_was_kept_is_used_again_and_is_zero) {
  constexpr std::size_t kLarge = std::size_t{1} << 23;
  keep_released_memory(true);
  const std::uint32_t* place = nullptr;
  {
    Array<std::uint32_t> array(kLarge);
    place = array.data();
    for (std::size_t i = 0; i < kLarge; ++i) array[i] = 1;
  }
  {
    Array<std::uint32_t> array(kLarge - 5);
    CHECK(array.data() == place);
    std::uint32_t sum = 0;
    for (const std::uint32_t value : array) sum += value;
    CHECK_EQUAL(sum, 0U);
  }
  {
    Array<std::uint32_t> array(3);  // grows into it
    array[2] = 7;
    array.resize(kLarge / 2 + 1);
    CHECK(array.data() == place);
    CHECK_EQUAL(array[2], 7U);
    array.shrink_to_fit();
    array.resize(2 * kLarge);  // and beyond it
    CHECK_EQUAL(array[2], 7U);
  }
  keep_released_memory(false);
}

TEST(memory_of_a_few_megabytes_is_kept_too) {
  constexpr std::size_t kMedium = std::size_t{1} << 20;
  keep_released_memory(true);
  const std::uint32_t* place = Array<std::uint32_t>(kMedium).data();
  CHECK(Array<std::uint32_t>(kMedium - 5).data() == place);
  CHECK(Array<std::uint32_t>(16 * kMedium).data() != place);
  CHECK(Array<std::uint32_t>(kMedium - 5).data() == place);  // and not the large one, which is kept by now
  keep_released_memory(false);
}
#endif

TEST(what_no_machine_has_is_refused) {
  Array<std::uint64_t> array(2);
  array[1] = 5;
  CHECK_THROWS(array.resize(std::numeric_limits<std::size_t>::max() / 2), std::bad_alloc);
  CHECK_THROWS(array.resize(std::size_t{1} << 58), std::bad_alloc);
  CHECK_EQUAL(array.size(), std::size_t{2});
  CHECK_EQUAL(array[1], std::uint64_t{5});
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
