// Memory for arrays that are read at random and grow to gigabytes.
#pragma once

#include <cstddef>

namespace bcart {

// Types that one worker writes to and others do not are aligned to it, so that they share no line.
inline constexpr std::size_t kCacheLine = 64;

// So many bytes, or more than were asked for.
struct Memory {
  void* data = nullptr;
  std::size_t n_bytes = 0;
};

// Zeroed and aligned to a cache line; large ones in large pages, since random reads over gigabytes would otherwise
// spend much of their time in page-table walks. Untouched memory costs nothing. Throws std::bad_alloc.
Memory allocate_zeroed(std::size_t n_bytes);

// Moves page tables instead of bytes where the system can. The bytes in use stay; what comes behind them may be
// anything.
Memory reallocate(Memory memory, std::size_t n_used, std::size_t n_bytes);

void release(Memory memory) noexcept;

// For new memory that will be filled at once: large pages from the first on, which the system hands out ten times as
// fast.
void expect_filling(Memory memory) noexcept;

// From now on, or no longer, large memory that is released stays with the process and is handed out again, since the
// system may take longer to give new pages than it takes to fill them. What is kept goes back to it with the last
// `keep_released_memory(false)`.
void keep_released_memory(bool is_kept) noexcept;

// What was freed in small pieces goes back to the system, where the heap can do that.
void return_unused_heap() noexcept;

// Tells whether the process may have so many more bytes of addresses, now.
bool can_map(std::size_t n_bytes) noexcept;

}  // namespace bcart
