// Memory for arrays that are read at random and grow to gigabytes.
#pragma once

#include <cstddef>

namespace bcart {

// Types that one worker writes to and others do not are aligned to it, so that they share no line.
inline constexpr std::size_t kCacheLine = 64;

// Zeroed and aligned to a cache line; large ones in large pages, since random reads over gigabytes would otherwise
// spend much of their time in page-table walks. Untouched memory costs nothing. Throws std::bad_alloc.
void* allocate_zeroed(std::size_t n_bytes);

// Moves page tables instead of bytes where the system can. What was never written is zero.
void* reallocate(void* memory, std::size_t old_bytes, std::size_t new_bytes);

void release(void* memory, std::size_t n_bytes) noexcept;

// Tells whether the process may have so many more bytes of addresses, now.
bool can_map(std::size_t n_bytes) noexcept;

}  // namespace bcart
