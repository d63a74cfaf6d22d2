#include "bcart/memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <span>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace bcart {
namespace {

constexpr std::size_t kLargePage = std::size_t{1} << 21;

// From eight pages on, the unused part of the last is small.
bool is_large(std::size_t n_bytes) { return n_bytes >= 8 * kLargePage; }

std::size_t round_up(std::size_t n_bytes, std::size_t unit) {
  if (n_bytes > std::numeric_limits<std::size_t>::max() - unit) throw std::bad_alloc();
  return (n_bytes + unit - 1) / unit * unit;
}

void* allocate_small(std::size_t n_bytes) {
  const std::size_t rounded = round_up(n_bytes, kCacheLine);
  void* memory = std::aligned_alloc(kCacheLine, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

#if defined(__linux__)

constexpr std::size_t kPage = std::size_t{1} << 16;  // of any system, or a multiple

// What is smaller stays with the heap when it is released: all arrays of a build that grow in turn leave little there.
bool is_mapped(std::size_t n_bytes) { return n_bytes >= 4 * kPage; }

std::size_t n_bytes_mapped(std::size_t n_bytes) { return round_up(n_bytes, n_bytes < kLargePage ? kPage : kLargePage); }

void* checked_mapping(void* memory, std::size_t n_bytes) {
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, n_bytes, is_large(n_bytes) ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return memory;
}

void* map(std::size_t n_bytes) {
  const std::size_t rounded = n_bytes_mapped(n_bytes);
  return checked_mapping(mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), rounded);
}

void* remap(void* memory, std::size_t old_bytes, std::size_t new_bytes) {
  const std::size_t rounded = n_bytes_mapped(new_bytes);
  return checked_mapping(mremap(memory, n_bytes_mapped(old_bytes), rounded, MREMAP_MAYMOVE), rounded);
}

void unmap(void* memory, std::size_t n_bytes) { munmap(memory, n_bytes_mapped(n_bytes)); }

void prefer_large_pages(void* memory, std::size_t n_bytes) {
  if (n_bytes >= kLargePage) madvise(memory, n_bytes_mapped(n_bytes), MADV_HUGEPAGE);
}

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
void prefer_large_pages(void*, std::size_t) {}
bool is_mappable(std::size_t) { return true; }

#endif

// Mappings that were released and wait to be used again.
class KeptMemory {
 public:
  void turn(bool is_on) noexcept {
    const std::lock_guard lock(mutex_);
    n_keepers_ += is_on ? 1 : -1;
    if (n_keepers_ > 0) return;
    for (const Memory& memory : std::span(kept_.data(), n_kept_)) unmap(memory.data, memory.n_bytes);
    n_kept_ = 0;
  }

  bool is_on() const noexcept { return n_keepers_ > 0; }

  bool put(Memory memory) noexcept {
    const std::lock_guard lock(mutex_);
    if (!is_on() || memory.n_bytes < kLargePage || n_kept_ == kept_.size()) return false;
    kept_[n_kept_++] = {memory.data, (memory.n_bytes + kLargePage - 1) / kLargePage * kLargePage};
    return true;
  }

  // What grows in small steps gets the largest, since it will need it; all else what fits.
  Memory take(std::size_t n_bytes, bool grows_in_steps) noexcept {
    if (!is_on() || n_bytes < kLargePage) return {};
    const std::lock_guard lock(mutex_);
    const std::size_t most = grows_in_steps ? std::numeric_limits<std::size_t>::max() : 2 * n_bytes;
    Memory* best = nullptr;
    for (Memory& memory : std::span(kept_.data(), n_kept_)) {
      if (memory.n_bytes < n_bytes || memory.n_bytes > most) continue;
      if (best == nullptr || (memory.n_bytes > best->n_bytes) == grows_in_steps) best = &memory;
    }
    return best == nullptr ? Memory{} : std::exchange(*best, kept_[--n_kept_]);
  }

 private:
  std::mutex mutex_;
  std::atomic<int> n_keepers_ = 0;
  std::size_t n_kept_ = 0;
  std::array<Memory, 256> kept_;
};

KeptMemory kept_memory;

// Of the heap, or kept; null if it has to be mapped.
Memory used_before(std::size_t n_bytes) {
  if (is_mapped(n_bytes)) return kept_memory.take(n_bytes, false);
  return {allocate_small(n_bytes), n_bytes};
}

Memory allocate(std::size_t n_bytes) {
  const Memory memory = used_before(n_bytes);
  return memory.data != nullptr ? memory : Memory{map(n_bytes), n_bytes};
}

}  // namespace

Memory allocate_zeroed(std::size_t n_bytes) {
  const Memory memory = used_before(n_bytes);
  if (memory.data == nullptr) return {map(n_bytes), n_bytes};
  std::memset(memory.data, 0, memory.n_bytes);
  return memory;
}

Memory reallocate(Memory memory, std::size_t n_used, std::size_t n_bytes) {
  if (memory.data == nullptr) return allocate(n_bytes);
  const bool is_growing = n_bytes > memory.n_bytes;
  if (!is_growing && kept_memory.is_on()) return memory;
  Memory moved = is_growing ? kept_memory.take(n_bytes, n_bytes / 4 * 3 < n_used) : Memory{};
  if (moved.data == nullptr && is_mapped(memory.n_bytes) && is_mapped(n_bytes)) {
    return {remap(memory.data, memory.n_bytes, n_bytes), n_bytes};
  }
  if (moved.data == nullptr) moved = allocate(n_bytes);
  std::memcpy(moved.data, memory.data, std::min(n_used, n_bytes));
  release(memory);
  return moved;
}

void release(Memory memory) noexcept {
  if (!is_mapped(memory.n_bytes)) {
    std::free(memory.data);
  } else if (!kept_memory.put(memory)) {
    unmap(memory.data, memory.n_bytes);
  }
}

void expect_filling(Memory memory) noexcept { prefer_large_pages(memory.data, memory.n_bytes); }

void keep_released_memory(bool is_kept) noexcept { kept_memory.turn(is_kept); }

void return_unused_heap() noexcept {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

bool can_map(std::size_t n_bytes) noexcept { return is_mappable(n_bytes); }

}  // namespace bcart
