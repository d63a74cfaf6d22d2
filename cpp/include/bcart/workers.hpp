// A few threads that share the chunks of one task at a time, watched over by the calling thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "bcart/memory.hpp"

namespace bcart {

using Clock = std::chrono::steady_clock;

// Tasks on boxes of more cells than this call Workers::checkpoint after each step.
inline constexpr std::size_t kLargeBox = 1024;

// Asked at most every 50 ms, always on the calling thread; it stops the work by throwing.
class Monitor {
 public:
  virtual ~Monitor() = default;
  virtual void poll() {}
};

struct DeadlinePassed : std::exception {
  const char* what() const noexcept override { return "the time limit has passed"; }
};

// The consecutive chunks that one worker begins with: it takes them from the front, and workers that have nothing left
// to do from the back. So chunks beside each other, which may write to the same lines of memory, seldom meet.
class alignas(kCacheLine) Share {
 public:
  void set(std::size_t begin, std::size_t end);
  std::optional<std::size_t> take_first();
  std::optional<std::size_t> take_last();

 private:
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  std::atomic<Range> left_;
};

class Workers {
 public:
  using Task = std::function<void(std::size_t chunk, std::size_t worker)>;

  Workers(std::size_t n_workers, Monitor& monitor, Clock::time_point deadline = Clock::time_point::max());
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  std::size_t size() const { return threads_.size() + 1; }

  // Ends threads until at most so many workers are left, the calling thread being one of them.
  void keep(std::size_t n_workers);

  // Calls task(chunk, worker) once for each chunk below n_chunks and returns when all are done. The first exception,
  // of a task or of the monitor, ends the run early and is thrown again here.
  void run(std::size_t n_chunks, const Task& task);

  // The same with no more than so many chunks at work at once, always by the same workers: what is allocated and freed
  // by a thread stays with its heap.
  void run_few(std::size_t n_at_once, std::size_t n_chunks, const Task& task);

  // Calls task(begin, end, worker) for consecutive ranges of [begin, end), in parallel if that is worth it.
  void run_ranges(std::size_t begin, std::size_t end, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t, std::size_t)>& task,
                  std::size_t n_at_once = std::numeric_limits<std::size_t>::max());

  // For the calling thread: asks the monitor and looks at the deadline, if the last time was long enough ago.
  void watch();

  // For long tasks, and for the calling thread between runs: throws if the work is to end.
  void checkpoint(std::size_t worker);

  double seconds_left() const;  // until the deadline
  void lift_deadline() { deadline_ = Clock::time_point::max(); }

 private:
  void wake_all();
  void live(std::size_t worker);
  void share_out(std::size_t n_chunks, std::size_t n_at_once);
  std::optional<std::size_t> next_chunk(std::size_t worker);
  void take_chunks(std::size_t worker);
  void fail(std::exception_ptr error);
  void wait_for_others();

  Monitor& monitor_;
  Clock::time_point deadline_;
  Clock::time_point last_poll_ = Clock::now();
  const Task* task_ = nullptr;
  std::vector<Share> shares_;  // of each worker
  std::size_t n_at_once_ = 0;  // workers that take chunks
  std::atomic<std::uint32_t> generation_{0};
  std::atomic<std::size_t> n_ready_{0};  // threads that have begun to live
  std::atomic<std::size_t> n_busy_{0};
  std::atomic<std::size_t> n_wanted_;  // workers; the others end
  std::atomic<bool> has_failed_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

// Counts the short steps of one worker at a long task, each some dozen nanoseconds, and calls Workers::checkpoint after
// every so many of them.
class Steps {
 public:
  Steps(Workers& workers, std::size_t worker) : workers_(workers), worker_(worker) {}

  void add(std::size_t n) {
    n_ += n;
    if (n_ >= kBetweenCheckpoints) checkpoint();
  }
  void checkpoint() {
    n_ = 0;
    workers_.checkpoint(worker_);
  }

 private:
  static constexpr std::size_t kBetweenCheckpoints = std::size_t{1} << 16;

  Workers& workers_;
  std::size_t worker_;
  std::size_t n_ = 0;
};

}  // namespace bcart
