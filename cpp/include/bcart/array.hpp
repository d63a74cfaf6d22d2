// A flat array of plain values that can grow to gigabytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "bcart/memory.hpp"

namespace bcart {

// Like std::vector, but elements that an array grows by are anything (those it is made with are zero), growing moves no
// bytes where the system can help, and capacity that was never touched costs no memory.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  explicit Array(std::size_t size) : size_(size) {
    if (size > 0) take(allocate_zeroed(bytes_of(size)));
  }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() { release(memory()); }

  std::size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  void resize(std::size_t size) {
    if (size > capacity_) move_to(std::max(size, size_ + size_ / 4));
    size_ = size;
  }
  void reserve(std::size_t size) {
    if (size > capacity_) move_to(size);
  }
  void shrink_to_fit() { move_to(size_); }
  void expect_filling() { bcart::expect_filling(memory()); }

 private:
  void swap(Array& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  static std::size_t bytes_of(std::size_t size) {
    if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
    return size * sizeof(T);
  }
  void move_to(std::size_t capacity) { take(reallocate(memory(), size_ * sizeof(T), bytes_of(capacity))); }
  void take(const Memory& memory) {
    data_ = static_cast<T*>(memory.data);
    capacity_ = memory.n_bytes / sizeof(T);
  }
  Memory memory() const { return {data_, capacity_ * sizeof(T)}; }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace bcart
