// Wake-ups of a JS thread, and how often they happen. For threads that look instead, see
// port_look_test.cc.
#include "engine/port/waker.h"

#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

namespace tritonts::test {

TEST(waker_wakes_once_until_the_signal_is_taken) {
  int wakes = 0;
  Waker waker([&] { wakes++; }, 0);
  waker.Signal();
  waker.Signal();
  CHECK_EQ(wakes, 1);
  CHECK(waker.TakeSignal());
  CHECK(!waker.TakeSignal());
  waker.Signal();
  CHECK_EQ(wakes, 2);
}

TEST(waker_asks_for_no_turn_of_the_event_loop_where_nothing_waits) {
  Waker waker([] {}, 8);
  for (int i = 0; i < 20; i++) {
    CHECK(waker.Look() == Looked::kAsleep);
    waker.BeginWait(0);
  }
}

TEST(waker_asks_for_no_turn_of_the_event_loop_where_runs_take_long) {
  Waker waker([] {}, 8);
  uint64_t now = NowNs();
  for (int i = 0; i < 50; i++) {
    waker.BeginWait(now);
    CHECK(waker.Look() == Looked::kAsleep);
    BatchTimings timings;
    timings.exec_start_ns = now + 1000;
    timings.exec_end_ns = now += 5'000'000;
    waker.Signal(&timings);
    CHECK(waker.TakeSignal());
  }
}

TEST(waker_counts_a_wait_from_when_the_batch_had_its_thread) {
  // An asynchronous instance gets its batch at once; its thread takes long to wake.
  Waker waker([] {}, 8);
  uint64_t now = NowNs();
  bool looks = false;
  for (int i = 0; i < 20 && !looks; i++) {
    waker.BeginWait(now);
    looks = waker.Look() == Looked::kNothing;
    BatchTimings timings;
    timings.exec_start_ns = now + 1000;
    timings.compute_start_ns = now + 200'000;
    timings.compute_end_ns = timings.exec_end_ns = now += 240'000;
    waker.Signal(&timings);
    CHECK(waker.TakeSignal());
  }
  CHECK(looks);
}

// Whether the JS thread looks after it has slept through some batches of this length.
bool LooksAfterBatchesOf(uint64_t batch_ns) {
  Waker waker([] {}, 8);
  uint64_t now = NowNs();
  for (int i = 0; i < 20; i++) {
    waker.BeginWait(now);
    if (waker.Look() == Looked::kNothing) return true;
    BatchTimings timings;
    timings.exec_start_ns = now;
    timings.exec_end_ns = now += batch_ns;
    waker.Signal(&timings);
    CHECK(waker.TakeSignal());
  }
  return false;
}

TEST(waker_counts_no_wake_ups_that_a_look_spares) {
  CHECK(LooksAfterBatchesOf(150'000));
  CHECK(!LooksAfterBatchesOf(170'000));
}

TEST(waker_wakes_nobody_when_it_is_closed) {
  for (int round = 0; round < 200; round++) {
    std::atomic<int> wakes{0};
    std::atomic<bool> closed{false};
    Waker waker(
        [&] {
          CHECK(!closed);
          wakes++;
        },
        0);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++) {
      threads.emplace_back([&] { waker.Signal(); });
    }
    waker.Close();
    closed = true;
    for (std::thread& thread : threads) thread.join();
    waker.Signal();
  }
}

}  // namespace tritonts::test
