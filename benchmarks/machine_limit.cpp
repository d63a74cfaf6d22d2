// What memory does at best, as JSON, all threads together:
//   read_ns    nanoseconds for a random cache line from a table of TABLE megabytes, with a new read started as soon as
//              there is room for one
//   stream_ns  nanoseconds for a cache line when STREAM megabytes are read in order
//   pass_ns    nanoseconds until a word that one thread writes is seen by another; 0 with one thread
// machine_limit TABLE STREAM THREADS
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "bcart/array.hpp"

namespace {

using bcart::kCacheLine;
constexpr std::size_t kReads = 20'000'000;
constexpr std::size_t kInFlight = 32;
constexpr std::uint64_t kPasses = 1'000'000;
constexpr std::size_t kStreamed = std::size_t{1} << 31;  // bytes a thread reads in order at least

std::uint64_t read_at_random(const char* table, std::size_t n_lines, std::uint64_t state) {
  std::size_t waiting[kInFlight] = {};
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kReads; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::size_t& line = waiting[i % kInFlight];
    sum += static_cast<std::uint64_t>(table[line * kCacheLine]);
    line = (state >> 32) * n_lines >> 32;
    __builtin_prefetch(table + line * kCacheLine);
  }
  return sum;
}

std::uint64_t read_in_order(const char* begin, const char* end) {
  std::uint64_t sums[8] = {};
  for (const char* line = begin; line < end; line += kCacheLine) {
    std::uint64_t words[8];
    std::memcpy(words, line, kCacheLine);
    for (int i = 0; i < 8; ++i) sums[i] += words[i];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t part : sums) sum += part;
  return sum;
}

class Table {
 public:
  explicit Table(std::size_t megabytes) : bytes_(megabytes << 20) {
    for (std::size_t i = 0; i < bytes_.size(); i += kCacheLine) bytes_[i] = static_cast<char>(i >> 6);
  }

  const char* memory() const { return bytes_.data(); }
  std::size_t n_lines() const { return bytes_.size() / kCacheLine; }

 private:
  bcart::Array<char> bytes_;
};

// Runs `work(thread)` in every thread and returns the seconds; what it read is added to `check`, so that it is read.
template <class Work>
double seconds_of(std::size_t n_threads, std::uint64_t& check, Work work) {
  std::vector<std::uint64_t> sums(n_threads);
  std::vector<std::thread> threads;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t t = 0; t < n_threads; ++t) {
    threads.emplace_back([&, t] { sums[t] = work(t); });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const std::uint64_t sum : sums) check += sum;
  return seconds;
}

double random_read_ns(std::size_t megabytes, std::size_t n_threads, std::uint64_t& check) {
  const Table table(megabytes);
  const double seconds = seconds_of(
      n_threads, check, [&](std::size_t t) { return read_at_random(table.memory(), table.n_lines(), t + 1); });
  return seconds * 1e9 / static_cast<double>(kReads * n_threads);
}

double stream_ns(std::size_t megabytes, std::size_t n_threads, std::uint64_t& check) {
  const Table table(megabytes);
  const std::size_t n_lines = table.n_lines() / n_threads;
  const std::size_t n_passes = std::max<std::size_t>(1, kStreamed / (n_lines * kCacheLine));
  const double seconds = seconds_of(n_threads, check, [&](std::size_t t) {
    const char* begin = table.memory() + t * n_lines * kCacheLine;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < n_passes; ++i) sum += read_in_order(begin, begin + n_lines * kCacheLine) ^ i;
    return sum;
  });
  return seconds * 1e9 / static_cast<double>(n_lines * n_passes * n_threads);
}

// Two threads count in turn; where they have no processor each, they would wait for the system.
double pass_ns(std::size_t n_threads, std::uint64_t& check) {
  if (std::min<std::size_t>(n_threads, std::thread::hardware_concurrency()) < 2) return 0;
  std::atomic<std::uint64_t> count = 0;
  const double seconds = seconds_of(2, check, [&](std::size_t t) {
    for (std::uint64_t turn = t; turn < kPasses; turn += 2) {
      while (count.load(std::memory_order_acquire) != turn) continue;
      count.store(turn + 1, std::memory_order_release);
    }
    return count.load();
  });
  return seconds * 1e9 / static_cast<double>(kPasses);
}

}  // namespace

int main(int n_arguments, char** arguments) {
  if (n_arguments != 4) return 2;
  const auto number = [&](int i) -> std::size_t { return std::strtoull(arguments[i], nullptr, 10); };
  std::uint64_t check = 0;
  const double random = random_read_ns(number(1), number(3), check);
  const double stream = stream_ns(number(2), number(3), check);
  const double pass = pass_ns(number(3), check);
  std::printf("{\"read_ns\": %.3f, \"stream_ns\": %.3f, \"pass_ns\": %.3f, \"check\": %llu}\n", random, stream, pass,
              static_cast<unsigned long long>(check));
}
