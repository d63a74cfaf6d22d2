// Lets each allocation of a program fail in turn. Its operators stand in place of the library's for the whole program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>

// The thread sanitizer has to see every mapping, and maps memory before it can watch a function.
#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
#define BCART_MAPPINGS_FAIL
#endif

#if defined(BCART_MAPPINGS_FAIL)
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "check.hpp"

namespace bcart::check {

constexpr long kNever = -1;

enum class Failing { once, for_good };
enum class Asked { anything, mappings };  // large arrays alone, where all allocations are too many to try

struct Failure {
  std::atomic<long> n_until = kNever;
  std::atomic<bool> is_for_good = false;
  std::atomic<bool> is_of_mappings = false;
  std::atomic<bool> has_come = false;

  bool is_now(Asked asked) {
    if (is_of_mappings && asked != Asked::mappings) return false;
    if (has_come && is_for_good) return true;
    if (n_until == kNever || n_until-- != 0) return false;
    has_come = true;
    return true;
  }
};

inline Failure failure;

inline bool can_fail([[maybe_unused]] Asked asked) {
#if defined(BCART_MAPPINGS_FAIL)
  return true;
#else
  return asked != Asked::mappings;
#endif
}

inline void* allocate(std::size_t n_bytes, std::size_t alignment = alignof(std::max_align_t)) {
  void* memory = nullptr;
  return failure.is_now(Asked::anything) || posix_memalign(&memory, alignment, n_bytes) != 0 ? nullptr : memory;
}

inline void* allocate_or_throw(std::size_t n_bytes, std::size_t alignment = alignof(std::max_align_t)) {
  if (void* memory = allocate(n_bytes, alignment)) return memory;
  throw std::bad_alloc();
}

// All bits of some answers in one number, so that keeping them takes no memory.
class Digest {
 public:
  template <class Values>
  Digest& add(const Values& values) {
    for (const std::byte byte : std::as_bytes(std::span(values.data(), values.size()))) {
      bits_ = (bits_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;  // after Fowler, Noll and Vo
    }
    return *this;
  }
  std::uint64_t bits() const { return bits_; }

 private:
  std::uint64_t bits_ = 0xcbf29ce484222325;
};

// Calls work with the first, then the second, ... allocation failing, until it needs no more of them. It may throw
// std::bad_alloc only. Returns how many there are.
template <class Work>
std::size_t fail_everywhere(Failing failing, const Work& work, Asked asked = Asked::anything) {
  failure.is_for_good = failing == Failing::for_good;
  failure.is_of_mappings = asked == Asked::mappings;
  for (long n = 0;; ++n) {
    bool is_thrown = false;
    failure.n_until = n;
    try {
      work();
    } catch (const std::bad_alloc&) {
      is_thrown = true;
    }
    failure.n_until = kNever;
    const bool is_over = !failure.has_come.exchange(false);
    CHECK(!is_thrown || !is_over);
    if (is_over) return static_cast<std::size_t>(n);
  }
}

// The same for work that returns a digest of its answers: those that come, with a failure or after it, are those that
// come without.
template <class Work>
void check_answers(Failing failing, const Work& work, Asked asked = Asked::anything) {
  const std::uint64_t expected = work().bits();
  const std::size_t n = fail_everywhere(failing, [&] { CHECK(work().bits() == expected); }, asked);
  CHECK_EQUAL(n > 0, can_fail(asked));
  CHECK(work().bits() == expected);
}

}  // namespace bcart::check

void* operator new(std::size_t n) { return bcart::check::allocate_or_throw(n); }
void* operator new[](std::size_t n) { return bcart::check::allocate_or_throw(n); }
void* operator new(std::size_t n, std::align_val_t to) {
  return bcart::check::allocate_or_throw(n, static_cast<std::size_t>(to));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return bcart::check::allocate(n); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t n) { return bcart::check::allocate(n, alignment); }

#if defined(BCART_MAPPINGS_FAIL)
// Large arrays ask the system itself. The C library's own calls, as for the stack of a thread, do not come by here.
extern "C" void* mmap(void* at, std::size_t n, int protection, int flags, int file, off_t offset) noexcept {
  if (bcart::check::failure.is_now(bcart::check::Asked::mappings)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, n, protection, flags, file, offset));
}
extern "C" void* mremap(void* memory, std::size_t n_before, std::size_t n, int flags, ...) noexcept {
  if (bcart::check::failure.is_now(bcart::check::Asked::mappings)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mremap, memory, n_before, n, flags));
}
#endif
