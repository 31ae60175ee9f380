// The engine's threads: start, end, and scheduling requests to the system.
#include "platform/thread.h"

#include <cstdint>
#include <thread>

#include "engine/base/thread_group.h"
#include "engine_fixture.h"
#include "no_threads.h"

#if defined(__linux__)
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tritonts::test {

TEST(thread_runs_its_body_and_is_joined) {
  std::atomic<bool> ran{false};
  platform::Thread thread;
  CHECK(!thread.joinable());
  CHECK(thread.Start([&] { ran = true; }));
  CHECK(thread.joinable());
  platform::Thread moved = std::move(thread);
  CHECK(!thread.joinable());
  CHECK(moved.joinable());
  moved.Join();
  CHECK(!moved.joinable());
  CHECK(ran);
  // The object may be used again.
  CHECK(moved.Start([&] { ran = false; }));
  moved.Join();
  CHECK(!ran);
}

TEST(thread_that_is_detached_goes_on_without_an_owner) {
  auto gate = std::make_shared<Event>();
  auto left = std::make_shared<Event>();
  {
    platform::Thread thread;
    CHECK(thread.Start([gate, left] {
      gate->Wait();
      left->Set();
    }));
    thread.Detach();
  }
  gate->Set();
  CHECK(left->Wait());
}

TEST(thread_frees_its_body_when_it_has_run) {
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = held;
  platform::Thread thread;
  CHECK(thread.Start([held = std::move(held)] {}));
  thread.Join();
  CHECK(watched.expired());
}

TEST(thread_that_the_system_does_not_have_is_no_exception) {
  if (kWatched) SKIP("a sanitizer needs memory at any time");
  auto held = std::make_shared<int>(0);
  platform::Thread thread;
  {
    NoThreads none;
    CHECK(!thread.Start([held] {}));
    CHECK(!thread.joinable());
    ThreadGroup group;
    CHECK(!group.Start([held](size_t) {}));
    group.Join();
  }
  CHECK_EQ(held.use_count(), 1);
  CHECK(thread.Start([] {}));
  thread.Join();
}

TEST(threads_of_a_group_are_joined_together_but_for_the_abandoned_one) {
  auto gate = std::make_shared<Event>();
  auto left = std::make_shared<Event>();
  std::atomic<int> ended{0};
  ThreadGroup group;
  CHECK(group.Start([&](size_t number) {
    CHECK_EQ(number, 0u);
    ended++;
  }));
  CHECK(group.Start([gate, left](size_t) {
    gate->Wait();
    left->Set();
  }));
  group.Abandon(1);
  group.Join();
  CHECK_EQ(ended.load(), 1);
  CHECK(!left->set());
  CHECK(!group.Start([](size_t) {}));
  gate->Set();
  CHECK(left->Wait());
}

#if defined(__linux__)
TEST(thread_has_8_MiB_of_stack_whatever_the_systems_default_is) {
  pthread_attr_t before;
  CHECK(pthread_getattr_default_np(&before) == 0);
  pthread_attr_t small = before;
  CHECK(pthread_attr_setstacksize(&small, 512 << 10) == 0);  // as on macOS
  CHECK(pthread_setattr_default_np(&small) == 0);
  size_t size = 0;
  platform::Thread thread;
  CHECK(thread.Start([&] {
    pthread_attr_t own;
    CHECK(pthread_getattr_np(pthread_self(), &own) == 0);
    CHECK(pthread_attr_getstacksize(&own, &size) == 0);
    pthread_attr_destroy(&own);
  }));
  thread.Join();
  CHECK(pthread_setattr_default_np(&before) == 0);
  CHECK(size >= platform::Thread::kStackBytes);
}

namespace {

// The calling thread's time slice in nanoseconds; 0: the kernel does not report it.
uint64_t Slice() {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes{};
  return syscall(SYS_sched_getattr, 0, &attributes, unsigned{sizeof(attributes)}, 0) == 0
             ? attributes.runtime
             : 0;
}

}  // namespace

TEST(threads_that_compute_for_long_have_longer_slices_and_so_have_those_they_start) {
  uint64_t before = 0;
  uint64_t after = 0;
  uint64_t started = 0;
  std::thread([&] {
    before = Slice();
    platform::UseLongSlices();
    after = Slice();
    std::thread([&] { started = Slice(); }).join();
  }).join();
  if (before == 0) SKIP("this kernel has no slices of threads' own");
  CHECK_EQ(after, uint64_t{10'000'000});
  CHECK_EQ(started, after);
  // Other threads are not changed.
  CHECK_EQ(Slice(), before);
}
#endif

}  // namespace tritonts::test
