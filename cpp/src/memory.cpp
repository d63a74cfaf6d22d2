#include "bcart/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace bcart {
namespace {

constexpr std::size_t kLargePage = std::size_t{1} << 21;
[[maybe_unused]] constexpr std::size_t kManyLargePages = 8;  // from here on, the unused part of the last is small

std::size_t round_up(std::size_t n_bytes, std::size_t unit) {
  if (n_bytes > std::numeric_limits<std::size_t>::max() - unit) throw std::bad_alloc();
  return (n_bytes + unit - 1) / unit * unit;
}

void* allocate_small(std::size_t n_bytes) {
  const std::size_t rounded = round_up(n_bytes, kCacheLine);
  void* memory = std::aligned_alloc(kCacheLine, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return std::memset(memory, 0, rounded);
}

#if defined(__linux__)

bool is_mapped(std::size_t n_bytes) { return n_bytes >= kLargePage; }

void* checked_mapping(void* memory, std::size_t n_bytes) {
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, n_bytes, n_bytes >= kManyLargePages * kLargePage ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return memory;
}

void* map(std::size_t n_bytes) {
  const std::size_t rounded = round_up(n_bytes, kLargePage);
  return checked_mapping(mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), rounded);
}

void* remap(void* memory, std::size_t old_bytes, std::size_t new_bytes) {
  const std::size_t rounded = round_up(new_bytes, kLargePage);
  return checked_mapping(mremap(memory, round_up(old_bytes, kLargePage), rounded, MREMAP_MAYMOVE), rounded);
}

void unmap(void* memory, std::size_t n_bytes) { munmap(memory, round_up(n_bytes, kLargePage)); }

bool is_mappable(std::size_t n_bytes) {
  void* memory = mmap(nullptr, n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, n_bytes);
  return true;
}

#else

bool is_mapped(std::size_t) { return false; }
void* map(std::size_t n_bytes) { return allocate_small(n_bytes); }
void* remap(void* memory, std::size_t, std::size_t) { return memory; }
void unmap(void*, std::size_t) {}
bool is_mappable(std::size_t) { return true; }

#endif

}  // namespace

void* allocate_zeroed(std::size_t n_bytes) { return is_mapped(n_bytes) ? map(n_bytes) : allocate_small(n_bytes); }

void* reallocate(void* memory, std::size_t old_bytes, std::size_t new_bytes) {
  if (is_mapped(old_bytes) && is_mapped(new_bytes)) return remap(memory, old_bytes, new_bytes);
  void* moved = allocate_zeroed(new_bytes);
  if (memory != nullptr) std::memcpy(moved, memory, std::min(old_bytes, new_bytes));
  release(memory, old_bytes);
  return moved;
}

void release(void* memory, std::size_t n_bytes) noexcept {
  if (memory == nullptr) return;
  is_mapped(n_bytes) ? unmap(memory, n_bytes) : std::free(memory);
}

bool can_map(std::size_t n_bytes) noexcept { return is_mappable(n_bytes); }

}  // namespace bcart
