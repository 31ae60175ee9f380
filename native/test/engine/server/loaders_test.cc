// Loaders: which threads run which loads.
#include "engine/server/loaders.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "engine_fixture.h"
#include "no_threads.h"

namespace tritonts::test {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Counts loads while they run.
class Work {
 public:
  // A load that calls `run`.
  Loaders::Task Load(std::function<void()> run = [] {}) {
    Loaders::Task task;
    task.model = "m";
    task.refuse = [this](const Status&) { refused_++; };
    task.run = [this, run = std::move(run)]() -> std::function<void()> {
      const int now = ++at_once_;
      int most = most_;
      while (most < now && !most_.compare_exchange_weak(most, now)) continue;
      run();
      at_once_--;
      return [this] { done_++; };
    };
    return task;
  }
  int at_once() const { return at_once_; }
  int most() const { return most_; }
  int done() const { return done_; }
  int refused() const { return refused_; }

 private:
  std::atomic<int> at_once_{0};
  std::atomic<int> most_{0};
  std::atomic<int> done_{0};
  std::atomic<int> refused_{0};
};

}  // namespace

TEST(loaders_beyond_the_cores_leave_short_loads_to_the_others) {
  Work work;
  Loaders loaders({.most_threads = 4, .cores = 2, .overdue = hours(1)}, [] {});
  CHECK(loaders.Start());
  for (int i = 0; i < 100; i++) {
    loaders.Add(work.Load([] { std::this_thread::sleep_for(std::chrono::microseconds(100)); }));
  }
  CHECK(Eventually([&] { return work.done() == 100 && loaders.idle(); }));
  CHECK(work.most() <= 2);
}

TEST(loaders_take_what_others_wait_for) {
  Work work;
  Loaders loaders({.most_threads = 2, .cores = 2, .overdue = milliseconds(1)}, [] {});
  CHECK(loaders.Start());
  std::atomic<int> awaited{0};
  // Each waits for one that is added while it runs, and so for a thread.
  for (int i = 0; i < 4; i++) {
    loaders.Add(work.Load([&] {
      const LoaderWait wait;
      CHECK(wait.allowed());
      CHECK_EQ(LoaderWait::model(), "m");
      const int before = awaited;
      loaders.Add(work.Load([&] { awaited++; }));
      CHECK(Eventually([&] { return awaited > before; }));
    }));
  }
  CHECK(Eventually([&] { return work.done() == 8 && loaders.idle(); }));
  CHECK_EQ(LoaderWait::model(), "");
  const LoaderWait elsewhere;
  CHECK(elsewhere.allowed());
}

TEST(loaders_refuse_a_wait_when_too_many_wait) {
  Work work;
  std::atomic<int> refused{0};
  std::atomic<bool> over{false};
  Loaders loaders({.most_threads = 1, .cores = 1, .overdue = milliseconds(1), .most_in_place = 2},
                  [] {});
  CHECK(loaders.Start());
  for (int i = 0; i < 3; i++) {
    loaders.Add(work.Load([&] {
      const LoaderWait wait;
      if (!wait.allowed()) refused++;
      while (!over) std::this_thread::sleep_for(milliseconds(1));
    }));
  }
  CHECK(Eventually([&] { return refused == 1; }));
  over = true;
  CHECK(Eventually([&] { return work.done() == 3 && loaders.idle(); }));
  CHECK_EQ(refused.load(), 1);
}

TEST(loaders_beyond_the_cores_take_what_is_overdue) {
  Work work;
  std::atomic<bool> over{false};
  Loaders loaders({.most_threads = 4, .cores = 1, .overdue = milliseconds(1)}, [] {});
  CHECK(loaders.Start());
  // Each load waits, without using a core, until all four run.
  for (int i = 0; i < 8; i++) {
    loaders.Add(work.Load([&] {
      while (!over) std::this_thread::sleep_for(milliseconds(1));
    }));
  }
  CHECK(Eventually([&] { return work.at_once() == 4; }));
  over = true;
  CHECK(Eventually([&] { return work.done() == 8 && loaders.idle(); }));
  CHECK_EQ(work.most(), 4);
}

TEST(loaders_beyond_the_cores_take_what_comes_when_the_others_hang) {
  Work work;
  std::atomic<bool> over{false};
  Loaders loaders({.most_threads = 2, .cores = 1, .overdue = milliseconds(1)}, [] {});
  CHECK(loaders.Start());
  const auto hang = [&] {
    while (!over) std::this_thread::sleep_for(milliseconds(1));
  };
  loaders.Add(work.Load(hang));
  loaders.Add(work.Load());
  CHECK(Eventually([&] { return work.done() == 1; }));
  // The second thread waits for another task now.
  std::this_thread::sleep_for(milliseconds(5));
  loaders.Add(work.Load());
  CHECK(Eventually([&] { return work.done() == 2; }));
  over = true;
  CHECK(Eventually([&] { return work.done() == 3 && loaders.idle(); }));
}

TEST(loaders_start_threads_in_place_of_those_that_hang) {
  Work work;
  std::atomic<bool> over{false};
  Timer timer;
  CHECK(timer.Start());
  {
    Loaders loaders({.most_threads = 2,
                     .cores = 1,
                     .overdue = milliseconds(1),
                     .patience = hours(1),
                     .short_patience = milliseconds(20),
                     .timer = &timer},
                    [] {});
    CHECK(loaders.Start());
    const auto hang = [&] {
      while (!over) std::this_thread::sleep_for(milliseconds(1));
    };
    for (int i = 0; i < 5; i++) {
      Loaders::Task task = work.Load(hang);
      task.is_short = true;
      loaders.Add(std::move(task));
    }
    loaders.Add(work.Load());
    // Nothing is added any more.
    CHECK(Eventually([&] { return work.done() == 1; }));
    CHECK_EQ(work.at_once(), 5);
    over = true;
    CHECK(Eventually([&] { return work.done() == 6 && loaders.idle(); }));
    // Then there are as many threads as before.
    over = false;
    for (int i = 0; i < 5; i++) loaders.Add(work.Load(hang));
    CHECK(Eventually([&] { return work.at_once() == 2; }));
    std::this_thread::sleep_for(milliseconds(60));
    CHECK_EQ(work.at_once(), 2);
    over = true;
    CHECK(Eventually([&] { return work.done() == 11 && loaders.idle(); }));
    // Those that rest are called again.
    over = false;
    for (int i = 0; i < 4; i++) {
      Loaders::Task task = work.Load(hang);
      task.is_short = true;
      loaders.Add(std::move(task));
    }
    CHECK(Eventually([&] { return work.at_once() == 4; }));
    over = true;
    CHECK(Eventually([&] { return work.done() == 15 && loaders.idle(); }));
  }
  timer.Stop();
}

TEST(loaders_start_no_more_threads_in_place_than_the_limit) {
  Work work;
  std::atomic<bool> over{false};
  Timer timer;
  CHECK(timer.Start());
  {
    Loaders loaders({.most_threads = 1,
                     .cores = 1,
                     .overdue = milliseconds(1),
                     .patience = milliseconds(5),
                     .short_patience = milliseconds(5),
                     .most_in_place = 2,
                     .timer = &timer},
                    [] {});
    CHECK(loaders.Start());
    for (int i = 0; i < 6; i++) {
      loaders.Add(work.Load([&] {
        while (!over) std::this_thread::sleep_for(milliseconds(1));
      }));
    }
    CHECK(Eventually([&] { return work.at_once() == 3; }));
    std::this_thread::sleep_for(milliseconds(50));
    CHECK_EQ(work.at_once(), 3);
    over = true;
    CHECK(Eventually([&] { return work.done() == 6 && loaders.idle(); }));
  }
  timer.Stop();
}

TEST(loaders_do_with_the_threads_that_the_system_has) {
  if (kWatched) SKIP("a sanitizer needs memory at any time");
  Work work;
  Loaders loaders({.most_threads = 4, .cores = 4}, [] {});
  {
    NoThreads none;
    CHECK(!loaders.Start());
  }
  CHECK(loaders.Start());
  {
    NoThreads none;
    for (int i = 0; i < 8; i++) loaders.Add(work.Load());
    CHECK(Eventually([&] { return work.done() == 8 && loaders.idle(); }));
  }
  CHECK_EQ(work.most(), 1);
  // More threads take tasks if there are more tasks.
  std::atomic<bool> over{false};
  for (int i = 0; i < 4; i++) {
    loaders.Add(work.Load([&] {
      while (!over) std::this_thread::sleep_for(milliseconds(1));
    }));
  }
  CHECK(Eventually([&] { return work.at_once() == 4; }));
  over = true;
  CHECK(Eventually([&] { return work.done() == 12 && loaders.idle(); }));
}

TEST(loaders_free_what_a_task_holds_with_no_lock_held) {
  Work work;
  std::atomic<int> freed{0};
  Loaders loaders({.most_threads = 1, .cores = 1}, [] {});
  CHECK(loaders.Start());
  {
    // Calls the loaders when it is freed.
    std::shared_ptr<int> held(new int(0), [&](const int* number) {
      delete number;
      loaders.idle();
      freed++;
    });
    loaders.Add(work.Load([held = std::move(held)] {}));
  }
  CHECK(Eventually([&] { return freed == 1; }));
}

TEST(loaders_that_are_closed_refuse_what_waits_for_those_beyond_the_cores) {
  Work work;
  std::atomic<bool> over{false};
  Loaders loaders({.most_threads = 2, .cores = 1, .overdue = hours(1)}, [] {});
  CHECK(loaders.Start());
  loaders.Add(work.Load([&] {
    while (!over) std::this_thread::sleep_for(milliseconds(1));
  }));
  CHECK(Eventually([&] { return work.at_once() == 1; }));
  loaders.Add(work.Load());
  loaders.Close();
  CHECK(Eventually([&] { return work.refused() == 1; }));
  over = true;
  CHECK(Eventually([&] { return loaders.idle(); }));
  loaders.Join();
}

}  // namespace tritonts::test
