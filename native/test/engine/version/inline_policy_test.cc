// Which batches may run on the submitting thread, and how such runs affect later ones.
#include "engine/version/inline_policy.h"

#include "run_fixture.h"

namespace tritonts::test {

namespace {

constexpr uint64_t kBudgetNs = 50'000;

// An instance with a batch of one request that has not begun.
struct InlinePolicyBench {
  explicit InlinePolicyBench(MemoryKind memory = MemoryKind::kHost)
      : runner({"m_0", 0, memory, 0}, std::make_unique<IdleInstance>()) {
    runs.Begin({runs.requests.Floats({1})});
    runner.next = &runs.run;
    policy.Classify(&runs.run);
  }
  ~InlinePolicyBench() { runs.End(); }

  void Note(uint64_t ns, InlineTime* on = nullptr, bool failed = false) {
    policy.Note(runs.run.batch_class, ns, failed, on);
  }
  bool MayRun() const { return policy.MayRun(runner, runs.run, inline_time); }

  RunBench runs;
  InstanceRunner runner;
  InlinePolicy policy{kBudgetNs};
  InlineTime inline_time;
};

}  // namespace

TEST(inline_policy_allows_what_is_known_to_be_short) {
  InlinePolicyBench bench;
  CHECK(!bench.MayRun());
  bench.Note(1000);
  CHECK(bench.MayRun());
  bench.Note(kBudgetNs + 1);
  CHECK(!bench.MayRun());
}

TEST(inline_policy_without_a_budget_allows_nothing) {
  InlinePolicyBench bench;
  bench.policy = InlinePolicy();
  bench.Note(1);
  CHECK(!bench.MayRun());
}

TEST(inline_policy_allows_nothing_on_a_device_or_where_the_thread_is_in_execute) {
  InlinePolicyBench device(MemoryKind::kDevice);
  device.Note(1000);
  CHECK(!device.MayRun());
  InlinePolicyBench busy;
  busy.Note(1000);
  busy.runner.executing = true;
  CHECK(!busy.MayRun());
}

TEST(inline_policy_leaves_the_rest_to_the_thread_when_the_tick_has_spent_its_budget) {
  InlinePolicyBench bench;
  bench.Note(kBudgetNs / 2, &bench.inline_time);
  CHECK_EQ(bench.inline_time.spent_ns, kBudgetNs / 2);
  CHECK(bench.MayRun());
  bench.Note(kBudgetNs / 2 + 1, &bench.inline_time);
  CHECK(!bench.MayRun());
  bench.inline_time.spent_ns = 0;
  CHECK(bench.MayRun());
}

TEST(inline_policy_has_a_budget_of_its_own_for_guests) {
  InlinePolicyBench bench;
  bench.policy = InlinePolicy(0, false, kBudgetNs);
  bench.policy.Classify(&bench.runs.run);
  InlineTime guests;
  guests.of_instance = true;
  bench.Note(1000);
  CHECK(!bench.policy.MayRun(bench.runner, bench.runs.run, guests));
  // Times are recorded once a guest is expected.
  bench.policy.ExpectGuests();
  bench.policy.Classify(&bench.runs.run);
  bench.Note(1000);
  CHECK(bench.policy.MayRun(bench.runner, bench.runs.run, guests));
  CHECK(!bench.MayRun());
  bench.Note(kBudgetNs - 500, &guests);
  CHECK(!bench.policy.MayRun(bench.runner, bench.runs.run, guests));
  guests.spent_ns = 0;
  CHECK(bench.policy.MayRun(bench.runner, bench.runs.run, guests));
  bench.policy.ExpectGuests();
  CHECK(bench.policy.MayRun(bench.runner, bench.runs.run, guests));
}

TEST(inline_policy_never_takes_a_guest_again_after_one_that_took_far_too_long) {
  InlinePolicyBench bench;
  bench.policy = InlinePolicy(kBudgetNs, false, kBudgetNs);
  bench.policy.ExpectGuests();
  bench.policy.Classify(&bench.runs.run);
  InlineTime guests;
  guests.of_instance = true;
  bench.Note(1000);
  bench.Note(10'000'000'000, &guests);
  guests.spent_ns = 0;
  for (int i = 0; i < 100; i++) bench.Note(1000);
  bench.policy.ExpectGuests();
  CHECK(!bench.policy.MayRun(bench.runner, bench.runs.run, guests));
  CHECK(bench.MayRun());
}

TEST(inline_policy_learns_nothing_from_a_batch_that_fails_early) {
  InlinePolicyBench bench;
  bench.Note(10, nullptr, true);
  CHECK(!bench.MayRun());
  bench.Note(1000);
  bench.Note(kBudgetNs * 2, nullptr, true);
  CHECK(!bench.MayRun());
}

TEST(inline_policy_takes_the_first_batch_from_the_thread_that_would_be_woken) {
  InlinePolicyBench bench;
  WakeList wake;
  CHECK(!bench.policy.Choose(bench.inline_time, &wake));
  wake.Add(&bench.runner);
  CHECK(!bench.policy.Choose(bench.inline_time, &wake));
  bench.Note(1000);
  CHECK(bench.policy.Choose(bench.inline_time, &wake) == &bench.runner);
}

}  // namespace tritonts::test
