#include "bcart/workers.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "bcart/relax.hpp"

namespace bcart {
namespace {

struct Cancelled : std::exception {};  // another thread has failed, and its error is the one to tell

constexpr auto kPollInterval = std::chrono::milliseconds(50);
constexpr int kSpins = 2000;  // some dozen microseconds: about the gap between two steps of a batch

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

void Share::set(std::size_t begin, std::size_t end) {
  left_ = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

std::optional<std::size_t> Share::take_first() {
  Range left = left_.load();
  while (left.begin < left.end && !left_.compare_exchange_weak(left, {left.begin + 1, left.end})) {
  }
  return left.begin < left.end ? std::optional<std::size_t>(left.begin) : std::nullopt;
}

std::optional<std::size_t> Share::take_last() {
  Range left = left_.load();
  while (left.begin < left.end && !left_.compare_exchange_weak(left, {left.begin, left.end - 1})) {
  }
  return left.begin < left.end ? std::optional<std::size_t>(left.end - 1) : std::nullopt;
}

Workers::Workers(std::size_t n_workers, Monitor& monitor, Clock::time_point deadline)
    : monitor_(monitor), deadline_(deadline), n_wanted_(n_workers) {
  prepare_to_throw();
  while (n_workers > 1 && !can_map((n_workers - 1) * kThreadBytes)) n_workers /= 2;
  shares_ = std::vector<Share>(std::max<std::size_t>(n_workers, 1));
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
  share_out(0, 1);
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

void Workers::run(std::size_t n_chunks, const Task& task) { run_few(size(), n_chunks, task); }

void Workers::run_few(std::size_t n_at_once, std::size_t n_chunks, const Task& task) {
  task_ = &task;
  share_out(n_chunks, std::clamp<std::size_t>(n_at_once, 1, size()));
  if (n_chunks > 1 && n_at_once_ > 1) {
    n_busy_ = threads_.size();
    wake_all();
  }
  take_chunks(0);
  wait_for_others();
  has_failed_ = false;
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

void Workers::share_out(std::size_t n_chunks, std::size_t n_at_once) {
  if (n_chunks > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("more chunks than 32 bits can number");
  n_at_once_ = n_at_once;
  for (std::size_t worker = 0; worker < n_at_once; ++worker) {
    shares_[worker].set(n_chunks * worker / n_at_once, n_chunks * (worker + 1) / n_at_once);
  }
}

std::optional<std::size_t> Workers::next_chunk(std::size_t worker) {
  if (worker >= n_at_once_) return std::nullopt;
  std::optional<std::size_t> chunk = shares_[worker].take_first();
  for (std::size_t i = 1; !chunk && i < n_at_once_; ++i) chunk = shares_[(worker + i) % n_at_once_].take_last();
  return chunk;
}

void Workers::take_chunks(std::size_t worker) {
  try {
    for (auto chunk = next_chunk(worker); chunk && !has_failed_; chunk = next_chunk(worker)) {
      (*task_)(*chunk, worker);
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
