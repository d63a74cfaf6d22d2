#include "bcart/workers.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bcart/memory.hpp"

namespace bcart {
namespace {

struct Cancelled : std::exception {};  // another thread has failed, and its error is the one to tell

constexpr auto kPollInterval = std::chrono::milliseconds(50);
constexpr int kSpins = 2000;  // some dozen microseconds: about the gap between two steps of a batch

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

constexpr std::size_t kThreadBytes = std::size_t{1} << 27;  // of addresses: glibc reserves them for a thread's heap

// A thread keeps a little memory for the exceptions it throws. It is asked for when the first is thrown, and if there
// is none by then, the process ends: so every thread asks before its work, and there are only as many threads as get
// some.
void prepare_to_throw() {
  [[maybe_unused]] const volatile int n = std::uncaught_exceptions();  // volatile, or the call would be left out
}

template <class Condition>
bool spin_until(const Condition& condition) {
  for (int i = 0; i < kSpins; ++i) {
    if (condition()) return true;
    relax();
  }
  return condition();
}

}  // namespace

Workers::Workers(std::size_t n_workers, Monitor& monitor, Clock::time_point deadline)
    : monitor_(monitor), deadline_(deadline), n_wanted_(n_workers) {
  prepare_to_throw();
  while (n_workers > 1 && !can_map((n_workers - 1) * kThreadBytes)) n_workers /= 2;
  if (n_workers < 2) return;
  threads_.reserve(n_workers - 1);
  try {
    for (std::size_t worker = 1; worker < n_workers; ++worker) {
      threads_.emplace_back([this, worker] { live(worker); });
    }
  } catch (const std::exception&) {
    // The system has no more threads, or memory for them, to give; those that started are enough.
  }
  while (!spin_until([&] { return n_ready_.load() == threads_.size(); })) std::this_thread::yield();
}

Workers::~Workers() { keep(1); }

void Workers::keep(std::size_t n_workers) {
  const std::size_t n_threads = std::max<std::size_t>(n_workers, 1) - 1;
  if (n_threads >= threads_.size()) return;
  n_wanted_ = n_threads + 1;
  n_chunks_ = next_chunk_ = 0;
  is_shared_ = true;
  n_busy_ = n_threads;
  wake_all();
  for (; threads_.size() > n_threads; threads_.pop_back()) threads_.back().join();
  while (!spin_until([&] { return n_busy_.load() == 0; })) std::this_thread::yield();
}

void Workers::wake_all() {
  ++generation_;
  generation_.notify_all();
}

void Workers::live(std::size_t worker) {
  prepare_to_throw();
  ++n_ready_;
  for (std::uint32_t seen = 0;;) {
    if (!spin_until([&] { return generation_.load() != seen; })) generation_.wait(seen);
    seen = generation_.load();
    if (worker >= n_wanted_) return;
    take_chunks(worker);
    --n_busy_;
  }
}

void Workers::run(std::size_t n_chunks, const Task& task) { start(n_chunks, task, true); }

void Workers::run_few(std::size_t n_at_once, std::size_t n_chunks, const Task& task) {
  if (n_at_once >= size()) return run(n_chunks, task);
  std::atomic<std::size_t> next = 0;
  run_each([&](std::size_t worker) {
    if (worker >= std::max<std::size_t>(n_at_once, 1)) return;
    for (std::size_t chunk = next++; chunk < n_chunks; chunk = next++) {
      task(chunk, worker);
      checkpoint(worker);
    }
  });
}

void Workers::run_each(const std::function<void(std::size_t)>& task) {
  start(size(), [&](std::size_t, std::size_t worker) { task(worker); }, false);
}

void Workers::start(std::size_t n_chunks, const Task& task, bool is_shared) {
  task_ = &task;
  is_shared_ = is_shared;
  n_chunks_ = n_chunks;
  next_chunk_ = 0;
  has_failed_ = false;
  if (n_chunks > 1 && !threads_.empty()) {
    n_busy_ = threads_.size();
    wake_all();
  }
  take_chunks(0);
  wait_for_others();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Workers::run_ranges(std::size_t begin, std::size_t end, std::size_t grain,
                         const std::function<void(std::size_t, std::size_t, std::size_t)>& task,
                         std::size_t n_at_once) {
  const std::size_t n_chunks = (end - begin + grain - 1) / grain;
  run_few(n_at_once, n_chunks, [&](std::size_t chunk, std::size_t worker) {
    const std::size_t first = begin + chunk * grain;
    task(first, std::min(first + grain, end), worker);
  });
}

void Workers::take_chunks(std::size_t worker) {
  try {
    if (!is_shared_) return (*task_)(worker, worker);
    for (std::size_t chunk = next_chunk_++; chunk < n_chunks_; chunk = next_chunk_++) {
      (*task_)(chunk, worker);
      if (worker == 0) watch();
    }
  } catch (...) {
    fail(std::current_exception());
  }
}

void Workers::watch() {
  const auto now = Clock::now();
  if (now > deadline_) throw DeadlinePassed();
  if (now - last_poll_ < kPollInterval) return;
  last_poll_ = now;
  monitor_.poll();
}

double Workers::seconds_left() const {
  if (deadline_ == Clock::time_point::max()) return std::numeric_limits<double>::infinity();
  return std::chrono::duration<double>(deadline_ - Clock::now()).count();
}

void Workers::checkpoint(std::size_t worker) {
  if (worker == 0) watch();
  if (has_failed_) throw Cancelled();
}

void Workers::fail(std::exception_ptr error) {
  const std::lock_guard lock(error_mutex_);
  if (!error_) error_ = std::move(error);
  has_failed_ = true;
  next_chunk_ = n_chunks_;
}

void Workers::wait_for_others() {
  while (!spin_until([&] { return n_busy_.load() == 0; })) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    try {
      watch();
    } catch (...) {
      fail(std::current_exception());
    }
  }
}

}  // namespace bcart
