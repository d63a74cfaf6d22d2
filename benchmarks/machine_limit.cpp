// What memory does at best, as JSON: nanoseconds for a random cache line from a table of the given megabytes, with a
// new read started as soon as there is room for one, all threads together.
//   machine_limit MEGABYTES THREADS
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bcart/memory.hpp"

namespace {

using bcart::kCacheLine;
constexpr std::size_t kReads = 20'000'000;
constexpr std::size_t kInFlight = 32;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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

}  // namespace

int main(int n_arguments, char** arguments) {
  if (n_arguments != 3) return 2;
  const std::size_t n_bytes = std::strtoull(arguments[1], nullptr, 10) << 20;
  const std::size_t n_threads = std::strtoull(arguments[2], nullptr, 10);
  char* table = static_cast<char*>(bcart::allocate_zeroed(n_bytes));
  for (std::size_t i = 0; i < n_bytes; i += kCacheLine) table[i] = static_cast<char>(i >> 6);

  std::vector<std::uint64_t> sums(n_threads);
  std::vector<std::thread> threads;
  const auto read_start = std::chrono::steady_clock::now();
  for (std::size_t t = 0; t < n_threads; ++t) {
    threads.emplace_back([&, t] { sums[t] = read_at_random(table, n_bytes / kCacheLine, t + 1); });
  }
  for (std::thread& thread : threads) thread.join();
  const double read_seconds = seconds_since(read_start);
  std::uint64_t check = 0;
  for (const std::uint64_t sum : sums) check += sum;
  std::printf("{\"read_ns\": %.3f, \"check\": %llu}\n", read_seconds * 1e9 / static_cast<double>(kReads * n_threads),
              static_cast<unsigned long long>(check));
  bcart::release(table, n_bytes);
}
