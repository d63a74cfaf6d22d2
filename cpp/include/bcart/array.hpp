// A flat array of plain values that grows in place and hands its memory to the system in large pages.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace bcart {

// Random reads over gigabytes spend much of their time in page-table walks; large pages remove most of them.
inline void advise_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t n_bytes) {
#if defined(__linux__)
  constexpr std::size_t kPage = std::size_t{1} << 21;
  const auto begin = (reinterpret_cast<std::size_t>(memory) + kPage - 1) / kPage * kPage;
  const auto end = (reinterpret_cast<std::size_t>(memory) + n_bytes) / kPage * kPage;
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

// Like std::vector, but new elements are left unset, so that untouched capacity costs no memory, and growing uses
// realloc, which moves page tables instead of bytes where the system can.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  explicit Array(std::size_t size) { resize(size); }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() { std::free(data_); }

  std::size_t size() const { return size_; }
  std::size_t n_bytes() const { return size_ * sizeof(T); }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  void resize(std::size_t size) {
    if (size > capacity_) reallocate(size + (size_ > 0 ? size_ / 4 : 0));
    size_ = size;
  }
  void shrink_to_fit() { reallocate(size_); }
  void fill(T value) {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = value;
  }

 private:
  void swap(Array& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  void reallocate(std::size_t capacity) {
    if (capacity == capacity_) return;
    if (capacity > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
    if (capacity == 0) {
      std::free(std::exchange(data_, nullptr));
    } else {
      void* memory = std::realloc(static_cast<void*>(data_), capacity * sizeof(T));
      if (memory == nullptr) throw std::bad_alloc();
      data_ = static_cast<T*>(memory);
      advise_large_pages(memory, capacity * sizeof(T));
    }
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace bcart
