#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>

#include "bcart/workers.hpp"
#include "check.hpp"

namespace bcart::check {
namespace {

using std::chrono::milliseconds;

void sleep(int n_milliseconds) { std::this_thread::sleep_for(milliseconds(n_milliseconds)); }

struct CountingMonitor final : Monitor {
  void poll() override {
    ++n_polls;
    is_on_calling_thread = is_on_calling_thread && std::this_thread::get_id() == calling_thread;
    if (n_polls == throws_at) throw std::runtime_error("the monitor has enough");
  }

  int n_polls = 0;
  int throws_at = -1;
  bool is_on_calling_thread = true;
  std::thread::id calling_thread = std::this_thread::get_id();
};

std::string message_of(Workers& workers, std::size_t n_chunks, const Workers::Task& task) {
  try {
    workers.run(n_chunks, task);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing thrown";
}

}  // namespace

TEST(every_chunk_runs_exactly_once) {
  for (const std::size_t n_workers : {1, 2, 3, 8}) {
    Monitor monitor;
    Workers workers(n_workers, monitor);
    CHECK_EQUAL(workers.size(), n_workers);
    for (const std::size_t n_chunks : {0, 1, 2, 3, 100, 10'000}) {
      std::vector<std::atomic<int>> n_runs(n_chunks);
      std::atomic<bool> is_right_worker = true;
      workers.run(n_chunks, [&](std::size_t chunk, std::size_t worker) {
        ++n_runs[chunk];
        if (worker >= n_workers) is_right_worker = false;
      });
      for (const std::atomic<int>& n : n_runs) CHECK_EQUAL(n.load(), 1);
      CHECK(is_right_worker);
    }
  }
}

TEST(no_more_chunks_than_asked_for_are_at_work_at_once) {
  Monitor monitor;
  Workers workers(6, monitor);
  for (const std::size_t n_at_once : {0, 1, 2, 5, 6, 100}) {
    std::vector<std::atomic<int>> n_runs(200);
    std::atomic<std::size_t> n_at_work = 0;
    std::atomic<bool> are_few = true;
    workers.run_few(n_at_once, n_runs.size(), [&](std::size_t chunk, std::size_t) {
      if (++n_at_work > std::clamp<std::size_t>(n_at_once, 1, 6)) are_few = false;
      if (chunk % 20 == 0) sleep(1);
      ++n_runs[chunk];
      --n_at_work;
    });
    CHECK(are_few);
    for (const std::atomic<int>& n : n_runs) CHECK_EQUAL(n.load(), 1);
  }
}

TEST(workers_that_are_kept_do_all_the_work) {
  Monitor monitor;
  Workers workers(8, monitor);
  for (const std::size_t n_kept : {9, 8, 5, 2, 3, 1, 0}) {
    const std::size_t n_expected = std::clamp<std::size_t>(n_kept, 1, workers.size());
    workers.keep(n_kept);
    CHECK_EQUAL(workers.size(), n_expected);
    std::atomic<int> n_runs = 0;
    std::atomic<bool> is_right_worker = true;
    for (int round = 0; round < 50; ++round) {
      workers.run(40, [&](std::size_t, std::size_t worker) {
        ++n_runs;
        if (worker >= n_expected) is_right_worker = false;
      });
    }
    CHECK_EQUAL(n_runs.load(), 50 * 40);
    CHECK(is_right_worker);
  }
}

TEST(a_share_is_taken_from_both_ends_and_each_chunk_once) {
  Share share;
  CHECK(!share.take_first());
  CHECK(!share.take_last());
  share.set(3, 7);
  CHECK_EQUAL(*share.take_first(), std::size_t{3});
  CHECK_EQUAL(*share.take_last(), std::size_t{6});
  CHECK_EQUAL(*share.take_last(), std::size_t{5});
  CHECK_EQUAL(*share.take_first(), std::size_t{4});
  CHECK(!share.take_first());
  CHECK(!share.take_last());
}

TEST(a_worker_begins_with_chunks_beside_each_other) {
  for (const std::size_t n_workers : {1, 2, 3}) {
    Monitor monitor;
    Workers workers(n_workers, monitor);
    std::vector<std::size_t> first(n_workers);
    std::atomic<std::size_t> n_begun = 0;
    workers.run(12, [&](std::size_t chunk, std::size_t worker) {
      if (n_begun.load() == n_workers) return;
      first[worker] = chunk;
      for (++n_begun; n_begun < n_workers;) std::this_thread::yield();  // so each takes one
    });
    for (std::size_t worker = 0; worker < n_workers; ++worker) CHECK_EQUAL(first[worker], 12 * worker / n_workers);
  }
}

TEST(others_take_the_chunks_of_a_worker_that_is_late) {
  Monitor monitor;
  Workers workers(2, monitor);
  for (const std::size_t late : {0, 50}) {
    std::atomic<int> n_done = 0;
    std::atomic<bool> is_all_done = false;
    const auto end = Clock::now() + std::chrono::seconds(20);
    workers.run(100, [&](std::size_t chunk, std::size_t) {
      if (chunk != late) ++n_done;
      while (chunk == late && n_done < 99 && Clock::now() < end) std::this_thread::yield();
      if (chunk == late) is_all_done = n_done == 99;
    });
    CHECK(is_all_done);
  }
}

TEST(no_two_threads_are_the_same_worker) {
  Monitor monitor;
  Workers workers(4, monitor);
  std::vector<std::atomic<int>> n_inside(4);
  std::atomic<bool> is_alone = true;
  for (int i = 0; i < 200; ++i) {
    workers.run(16, [&](std::size_t, std::size_t worker) {
      if (++n_inside[worker] != 1) is_alone = false;
      std::this_thread::yield();
      --n_inside[worker];
    });
  }
  CHECK(is_alone);
}

TEST(one_run_is_over_before_the_next_begins) {
  Monitor monitor;
  Workers workers(3, monitor);
  std::vector<int> values(64, 0);
  for (int round = 0; round < 2'000; ++round) {
    workers.run(values.size(), [&](std::size_t chunk, std::size_t) { ++values[(chunk + 7) % values.size()]; });
  }
  for (const int value : values) CHECK_EQUAL(value, 2'000);
}

TEST(ranges_cover_everything_once) {
  Monitor monitor;
  Workers workers(2, monitor);
  for (const std::size_t size : {0, 1, 9, 10, 11, 1000}) {
    std::vector<std::atomic<int>> n_runs(size + 5);
    workers.run_ranges(5, size + 5, 10, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = begin; i < end; ++i) ++n_runs[i];
    });
    for (std::size_t i = 0; i < n_runs.size(); ++i) CHECK_EQUAL(n_runs[i].load(), i < 5 ? 0 : 1);
  }
}

TEST(an_exception_of_any_worker_ends_the_run_and_is_thrown_again) {
  for (const std::size_t n_workers : {1, 2, 3}) {
    Monitor monitor;
    Workers workers(n_workers, monitor);
    for (const std::size_t culprit : {0, 1, 57}) {
      std::atomic<int> n_runs = 0;
      const auto task = [&](std::size_t chunk, std::size_t) {
        ++n_runs;
        if (chunk == culprit) throw std::out_of_range("chunk " + std::to_string(chunk));
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      };
      CHECK(message_of(workers, 100'000, task) == "chunk " + std::to_string(culprit));
      CHECK(n_runs < 50'000);
    }
    std::atomic<int> n_runs = 0;
    workers.run(100, [&](std::size_t, std::size_t) { ++n_runs; });
    CHECK_EQUAL(n_runs.load(), 100);
  }
}

TEST(the_first_exception_wins) {
  Monitor monitor;
  Workers workers(3, monitor);
  std::atomic<int> n_started = 0;
  const auto task = [&](std::size_t chunk, std::size_t) {
    for (++n_started; n_started < 3;) std::this_thread::yield();  // all three are at it
    sleep(static_cast<int>(chunk) * 60);
    throw std::runtime_error("chunk " + std::to_string(chunk));
  };
  CHECK(message_of(workers, 3, task) == "chunk 0");
}

TEST(the_monitor_is_asked_now_and_then_on_the_calling_thread) {
  for (const std::size_t n_workers : {1, 2}) {
    CountingMonitor monitor;
    Workers workers(n_workers, monitor);
    const auto start = Clock::now();
    workers.run(120, [&](std::size_t, std::size_t) { sleep(5); });
    const auto time = std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
    CHECK(monitor.n_polls >= 3);
    CHECK(monitor.n_polls <= time / 50 + 1);
    CHECK(monitor.is_on_calling_thread);
  }
}

TEST(the_monitor_is_asked_while_the_caller_only_waits) {
  CountingMonitor monitor;
  Workers workers(2, monitor);
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> other_has_chunk = false;
  workers.run(2, [&](std::size_t, std::size_t) {
    if (std::this_thread::get_id() == caller) {
      while (!other_has_chunk) std::this_thread::yield();
    } else {
      other_has_chunk = true;
      sleep(300);
    }
  });
  CHECK(monitor.n_polls >= 2);
}

TEST(short_runs_do_not_ask_the_monitor) {
  CountingMonitor monitor;
  const auto start = Clock::now();
  Workers workers(1, monitor);
  for (int i = 0; i < 100; ++i) workers.run(2, [](std::size_t, std::size_t) {});
  if (Clock::now() - start < milliseconds(50)) CHECK_EQUAL(monitor.n_polls, 0);
}

TEST(the_monitor_stops_the_work_by_throwing) {
  for (const std::size_t n_workers : {1, 2}) {
    CountingMonitor monitor;
    monitor.throws_at = 2;
    Workers workers(n_workers, monitor);
    std::atomic<int> n_runs = 0;
    const auto task = [&](std::size_t, std::size_t) {
      ++n_runs;
      sleep(1);
    };
    CHECK(message_of(workers, 100'000, task) == "the monitor has enough");
    CHECK(n_runs < 10'000);
  }
}

TEST(a_deadline_ends_the_run) {
  for (const std::size_t n_workers : {1, 2}) {
    Monitor monitor;
    const auto start = Clock::now();
    Workers workers(n_workers, monitor, start + milliseconds(100));
    CHECK_THROWS(workers.run(100'000, [&](std::size_t, std::size_t) { sleep(1); }), DeadlinePassed);
    CHECK(Clock::now() - start >= milliseconds(100));
    CHECK(Clock::now() - start < milliseconds(2'000));
    CHECK_THROWS(workers.watch(), DeadlinePassed);
  }
}

TEST(many_steps_are_a_checkpoint_however_they_come) {
  Monitor monitor;
  Workers late(1, monitor, Clock::now() - milliseconds(1));
  for (const std::size_t n_together : {1, 1000, 1'000'000}) {
    Steps steps(late, 0);
    if (n_together < 1'000'000) steps.add(n_together);
    const auto go_on = [&] {
      for (std::size_t n = 0; n < 1'000'000; n += n_together) steps.add(n_together);
    };
    CHECK_THROWS(go_on(), DeadlinePassed);
  }
}

TEST(after_a_run_that_failed_the_caller_may_go_on) {
  for (const std::size_t n_workers : {1, 3}) {
    Monitor monitor;
    Workers workers(n_workers, monitor);
    const auto task = [](std::size_t, std::size_t) { throw std::runtime_error("failed"); };
    CHECK(message_of(workers, 10, task) == "failed");
    workers.checkpoint(0);
  }
}

TEST(without_a_deadline_there_is_none) {
  Monitor monitor;
  Workers workers(1, monitor);
  workers.watch();
  CHECK_EQUAL(workers.size(), std::size_t{1});
}

}  // namespace bcart::check

int main() { return bcart::check::run_all(); }
