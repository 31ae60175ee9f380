// Spinning: when a waiting thread spins, and that no wake-up is lost between spinning and sleeping.
#include "engine/waiting/spin.h"

#include <deque>
#include <optional>
#include <random>

#include "engine/base/exit.h"
#include "engine_fixture.h"
#include "units.h"

namespace tritonts::test {

namespace {

constexpr uint64_t kShortWaitNs = 10 * kUs;
constexpr uint64_t kLongWaitNs = SpinPolicy::kMostNs + 1;

// A policy that has seen only short waits.
SpinPolicy Eager() {
  SpinPolicy policy;
  for (int i = 0; i < 8; i++) policy.Note(Spin::kNone, kShortWaitNs);
  return policy;
}

// The number of waits until the next one that spins.
int Skipped(SpinPolicy* policy) {
  int waits = 0;
  while (!policy->ShouldSpin() && waits < 100'000) {
    policy->Note(Spin::kNone, kShortWaitNs);
    waits++;
  }
  return waits;
}

// A clock set by the test. Each reading advances it by `step`, and calls `at` when its time has
// come.
struct FakeClock {
  static inline uint64_t now = 0;
  static inline uint64_t step = 0;
  static inline uint64_t due = UINT64_MAX;
  static inline std::function<void()> at;

  static void Set(uint64_t each) {
    now = 0;
    step = each;
    due = UINT64_MAX;
  }
  static void At(uint64_t time, std::function<void()> what) {
    due = time;
    at = std::move(what);
  }
  static uint64_t Read() {
    now += step;
    if (now >= due) {
      due = UINT64_MAX;
      at();
    }
    return now;
  }
};

// Spins like an instance's thread in a wait that began at `began`.
Spin LookAt(const Bell& bell, const SpinCore& core, uint64_t began) {
  return Look(bell.rung(), core, began + SpinPolicy::kMostNs, FakeClock::Read);
}

}  // namespace

TEST(spin_is_not_worth_it_before_waits_were_seen) {
  SpinPolicy policy;
  CHECK(!policy.ShouldSpin());
  for (int i = 0; i < 8; i++) policy.Note(Spin::kNone, kShortWaitNs);
  CHECK(policy.ShouldSpin());
}

TEST(spin_is_worth_it_while_half_of_the_waits_are_short) {
  SpinPolicy policy = Eager();
  for (int i = 0; i < 4; i++) policy.Note(Spin::kNone, kLongWaitNs);
  CHECK(policy.ShouldSpin());
  policy.Note(Spin::kNone, kLongWaitNs);
  CHECK(!policy.ShouldSpin());
  // A spin covers a wait as long as the longest spin.
  policy.Note(Spin::kNone, SpinPolicy::kMostNs);
  policy.Note(Spin::kNone, SpinPolicy::kMostNs);
  policy.Note(Spin::kNone, SpinPolicy::kMostNs);
  policy.Note(Spin::kNone, SpinPolicy::kMostNs);
  CHECK(policy.ShouldSpin());
}

TEST(spin_in_vain_is_tried_less_and_less_often) {
  SpinPolicy policy = Eager();
  int before = 0;
  for (int i = 0; i < 30; i++) {
    CHECK(policy.ShouldSpin());
    policy.Note(Spin::kNotFound, kShortWaitNs);
    const int waits = Skipped(&policy);
    CHECK(waits > before || waits == 255);
    before = waits;
  }
  CHECK_EQ(before, 255);
}

TEST(spin_that_finds_something_is_trusted_again) {
  SpinPolicy policy = Eager();
  for (int i = 0; i < 4; i++) policy.Note(Spin::kNotFound, kShortWaitNs);
  CHECK_EQ(Skipped(&policy), 15);
  for (int i = 0; i < 4; i++) {
    policy.Note(Spin::kFound, kShortWaitNs);
    CHECK(policy.ShouldSpin());
  }
  policy.Note(Spin::kNotFound, kShortWaitNs);
  CHECK_EQ(Skipped(&policy), 1);
}

TEST(spin_that_was_interrupted_counts_twice) {
  SpinPolicy policy = Eager();
  policy.Note(Spin::kPreempted, kShortWaitNs);
  CHECK_EQ(Skipped(&policy), 3);
}

TEST(spin_lasts_longer_where_batches_take_a_while_to_begin) {
  SpinPolicy policy;
  CHECK_EQ(policy.most_ns(), SpinPolicy::kMostNs);
  policy.Note(Spin::kFound, kShortWaitNs, 30 * kUs);
  CHECK_EQ(policy.most_ns(), SpinPolicy::kMostNs + 30 * kUs);
  policy.Note(Spin::kNotFound, kLongWaitNs, 30'000 * kUs);
  CHECK_EQ(policy.most_ns(), 2 * SpinPolicy::kMostNs);
  policy.Note(Spin::kNone, kShortWaitNs);
  CHECK_EQ(policy.most_ns(), SpinPolicy::kMostNs);
}

TEST(spin_of_an_idle_thread_happens_once) {
  // A burst of requests, then one per second.
  SpinPolicy policy = Eager();
  int spins = 0;
  for (int i = 0; i < 1000; i++) {
    const bool spin = policy.ShouldSpin();
    if (spin) spins++;
    policy.Note(spin ? Spin::kNotFound : Spin::kNone, 1'000'000 * kUs);
  }
  CHECK(spins >= 1);
  CHECK(spins <= 4);
}

TEST(spin_cores_are_those_of_the_process_less_its_runs) {
  CHECK(!SpinCore(Spinner::kInstance, 0).taken());
  const SpinCore first(Spinner::kInstance, 2);
  CHECK(first.taken());
  CHECK(!first.wanted());
  CHECK(!SpinCore(Spinner::kInstance, 1).taken());
  {
    const SpinCore second(Spinner::kInstance, 2);
    CHECK(second.taken());
    CHECK(!SpinCore(Spinner::kInstance, 2).taken());
    const RuntimeCall call;
    CHECK(first.wanted());
    CHECK(second.wanted());
    CHECK(!SpinCore(Spinner::kInstance, 3).taken());
    CHECK(SpinCore(Spinner::kInstance, 4).taken());
  }
  CHECK(!first.wanted());
  CHECK(SpinCore(Spinner::kInstance, 2).taken());
}

TEST(spin_cores_of_js_threads_are_not_those_of_instances) {
  const SpinCore instance(Spinner::kInstance, 1);
  const SpinCore js(Spinner::kJs, 1);
  CHECK(instance.taken());
  CHECK(js.taken());
  CHECK(!js.wanted());
  // A second JS thread would take one of the instances' cores.
  CHECK(!SpinCore(Spinner::kJs, 1).taken());
  CHECK(SpinCore(Spinner::kJs, 2).taken());
  const RuntimeCall call;
  CHECK(instance.wanted());
  CHECK(js.wanted());
}

TEST(spin_core_of_a_js_thread_is_its_own_while_something_runs) {
  const RuntimeCall call;
  const SpinCore js(Spinner::kJs, 1);
  CHECK(js.taken());
  CHECK(!js.wanted());
  CHECK(!SpinCore(Spinner::kJs, 1).taken());
}

TEST(spin_cores_count_a_thread_with_a_run_within_a_run_once) {
  const SpinCore first(Spinner::kInstance, 2);
  const uint32_t before = RunsUnderWay();
  const RuntimeCall call;
  {
    const RuntimeCall guest;
    CHECK_EQ(RunsUnderWay(), before + 1);
    CHECK(!first.wanted());
    std::thread([&] {
      const RuntimeCall other;
      CHECK_EQ(RunsUnderWay(), before + 2);
      CHECK(first.wanted());
    }).join();
  }
  CHECK_EQ(RunsUnderWay(), before + 1);
}

TEST(spin_goes_on_while_a_batch_is_handed_over) {
  const SpinCore core(Spinner::kInstance, 1);
  const uint32_t before = RunsUnderWay();
  const RuntimeCall handing(false);
  CHECK_EQ(RunsUnderWay(), before);
  CHECK(!core.wanted());
  const RuntimeCall run;
  CHECK(core.wanted());
}

TEST(spin_ends_when_the_bell_is_rung) {
  Bell bell;
  const SpinCore core(Spinner::kInstance, 1);
  FakeClock::Set(kUs);
  FakeClock::At(30 * kUs, [&] { bell.Ring(); });
  CHECK_EQ(LookAt(bell, core, 0), Spin::kFound);
  CHECK(FakeClock::now < 35 * kUs);
  // It stays rung until it is reset.
  CHECK_EQ(LookAt(bell, core, FakeClock::now), Spin::kFound);
  bell.Reset();
  CHECK_EQ(LookAt(bell, core, FakeClock::now), Spin::kNotFound);
}

TEST(spin_ends_when_the_wait_has_its_age) {
  const Bell bell;
  const SpinCore core(Spinner::kInstance, 1);
  FakeClock::Set(kUs);
  CHECK_EQ(LookAt(bell, core, 0), Spin::kNotFound);
  CHECK_EQ(FakeClock::now, SpinPolicy::kMostNs);
  // The limit counts from the beginning of the wait, not of the spin.
  FakeClock::Set(kUs);
  FakeClock::now = SpinPolicy::kMostNs - 5 * kUs;
  CHECK_EQ(LookAt(bell, core, 0), Spin::kNotFound);
  CHECK_EQ(FakeClock::now, SpinPolicy::kMostNs);
}

TEST(spin_ends_when_another_thread_had_its_core) {
  Bell bell;
  const SpinCore core(Spinner::kInstance, 1);
  for (const bool rung : {false, true}) {
    FakeClock::Set(kUs);
    FakeClock::At(30 * kUs, [&] {
      FakeClock::now += 50 * kUs;
      if (rung) bell.Ring();
    });
    CHECK_EQ(LookAt(bell, core, 0), Spin::kPreempted);
  }
}

TEST(spin_ends_when_a_run_begins) {
  const Bell bell;
  const SpinCore core(Spinner::kInstance, 1);
  std::optional<RuntimeCall> run;
  FakeClock::Set(kUs);
  FakeClock::At(30 * kUs, [&] { run.emplace(); });
  CHECK_EQ(LookAt(bell, core, 0), Spin::kNone);
  CHECK(FakeClock::now < 35 * kUs);
}

TEST(spin_without_a_core_is_sleep) {
  Bell bell;
  std::mutex mutex;
  bool work = false;
  SpinPolicy policy = Eager();
  std::unique_lock lock(mutex);
  std::thread other([&] {
    {
      // The lock is free only when the thread sleeps.
      std::lock_guard guard(mutex);
      work = true;
    }
    bell.Ring();
  });
  CHECK_EQ(Await(&bell, &policy, 0, NowNs(), &lock, [&] { return work; }), Spin::kNone);
  other.join();
}

// Work may arrive at any moment of a wait: while the thread spins, when it stops, and when it
// sleeps.
TEST(spin_and_sleep_lose_nothing_between_them) {
  Bell bell;
  std::mutex mutex;
  std::deque<int> queue;  // guarded by the mutex
  int taken = 0;
  int found = 0;
  int slept = 0;
  constexpr int kCount = 3000;
  std::atomic<int> done{0};
  std::thread consumer([&] {
    std::unique_lock lock(mutex);
    while (taken < kCount) {
      SpinPolicy policy = Eager();
      const Spin spin = Await(&bell, &policy, 1000, NowNs(), &lock, [&] { return !queue.empty(); });
      (spin == Spin::kFound ? found : slept)++;
      while (!queue.empty()) {
        CHECK_EQ(queue.front(), taken);
        queue.pop_front();
        taken++;
      }
      done = taken;
    }
  });
  std::mt19937 random(11);
  bool lost = false;
  for (int i = 0; i < kCount && !lost; i++) {
    // Most waits end at about the same time as the spin.
    const uint64_t until = NowNs() + (i % 3 == 0 ? 0 : random() % (2 * SpinPolicy::kMostNs));
    while (NowNs() < until) continue;
    {
      std::lock_guard lock(mutex);
      queue.push_back(i);
    }
    bell.Ring();
    if (i % 2 == 0) lost = !Eventually([&] { return done > i; });
  }
  CHECK(!lost);
  consumer.join();
  CHECK_EQ(taken, kCount);
  CHECK(slept > 0);
}

}  // namespace tritonts::test
