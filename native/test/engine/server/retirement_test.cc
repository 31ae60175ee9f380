// The steps in which a version ends.
#include "engine/server/retirement.h"

#include "check.h"
#include "units.h"

namespace tritonts::test {

namespace {

using Step = Retirement::Step;
using Phase = Retirement::Phase;

constexpr uint64_t kBegin = 100 * kSecond;
constexpr uint64_t kNever = Retirement::kNoLimit;

// The facts at a time, in seconds after the beginning.
Retirement::Facts At(double seconds, Retirement::Facts facts = {}) {
  facts.now_ns = kBegin + static_cast<uint64_t>(seconds * 1e9);
  return facts;
}

uint64_t Seconds(double seconds) {
  return At(seconds).now_ns;
}

// A retirement that has closed its version.
Retirement Draining(uint64_t limit_ns) {
  Retirement steps(kBegin, limit_ns);
  CHECK_EQ(steps.Next(At(0, {.ports_have_seen = true})), Step::kClose);
  return steps;
}

// A retirement whose version is being destroyed.
Retirement Destroying(uint64_t limit_ns) {
  Retirement steps = Draining(limit_ns);
  CHECK_EQ(steps.Next(At(0, {.drained = true})), Step::kDestroy);
  return steps;
}

}  // namespace

TEST(retirement_goes_straight_to_the_end_of_what_nobody_uses) {
  Retirement steps(kBegin, kNever);
  CHECK_EQ(steps.phase(), Phase::kAwaitingPorts);
  CHECK_EQ(steps.Next(At(0, {.ports_have_seen = true, .drained = true})), Step::kClose);
  CHECK_EQ(steps.Next(At(0, {.drained = true})), Step::kDestroy);
  CHECK_EQ(steps.Next(At(0, {.drained = true})), Step::kWait);
  CHECK_EQ(steps.wake_at_ns(), kNever);
  CHECK_EQ(steps.Next(At(500, {.drained = true, .destroyed = true})), Step::kEnd);
  CHECK_EQ(steps.phase(), Phase::kEnded);
}

TEST(retirement_waits_for_ports_for_a_second_at_most_and_not_beyond_the_limit) {
  const struct {
    uint64_t limit_ns;
    double until;
  } table[] = {{kNever, 1}, {Seconds(3), 1}, {Seconds(0.25), 0.25}, {Seconds(0), 0}};
  for (const auto& [limit_ns, until] : table) {
    Retirement steps(kBegin, limit_ns);
    if (until > 0) CHECK_EQ(steps.Next(At(until - 0.001)), Step::kWait);
    CHECK_EQ(steps.wake_at_ns(), Seconds(until));
    CHECK_EQ(steps.Next(At(until)), Step::kClose);
  }
}

TEST(retirement_without_a_limit_waits_for_requests_and_destructors_for_ever) {
  Retirement steps = Draining(kNever);
  CHECK_EQ(steps.Next(At(1e6)), Step::kWait);
  CHECK_EQ(steps.wake_at_ns(), kNever);
  CHECK_EQ(steps.Next(At(1e6, {.drained = true})), Step::kDestroy);
  CHECK_EQ(steps.Next(At(2e6)), Step::kWait);
  CHECK_EQ(steps.wake_at_ns(), kNever);
}

TEST(retirement_does_not_destroy_beneath_a_start) {
  Retirement steps = Draining(kNever);
  CHECK_EQ(steps.Next(At(0, {.starting = true, .drained = true})), Step::kWait);
  CHECK_EQ(steps.Next(At(9, {.drained = true})), Step::kDestroy);
}

TEST(retirement_aborts_at_the_limit_what_goes_on_and_abandons_it_two_seconds_later) {
  Retirement steps = Draining(Seconds(5));
  CHECK_EQ(steps.Next(At(4.9)), Step::kWait);
  CHECK_EQ(steps.wake_at_ns(), Seconds(5));
  CHECK_EQ(steps.Next(At(5)), Step::kAbort);
  CHECK_EQ(steps.Next(At(5)), Step::kWait);
  CHECK_EQ(steps.wake_at_ns(), Seconds(7));
  CHECK_EQ(steps.Next(At(6.9)), Step::kWait);
  CHECK_EQ(steps.Next(At(7)), Step::kAbandon);
  CHECK_EQ(steps.phase(), Phase::kAbandoned);
  // A call that returns now is too late.
  CHECK_EQ(steps.Next(At(7, {.drained = true, .destroyed = true})), Step::kAbandon);
}

TEST(retirement_destroys_what_ends_after_it_was_aborted) {
  Retirement steps = Draining(Seconds(1));
  CHECK_EQ(steps.Next(At(1)), Step::kAbort);
  CHECK_EQ(steps.Next(At(2, {.drained = true})), Step::kDestroy);
  CHECK_EQ(steps.wake_at_ns(), Seconds(3));
  CHECK_EQ(steps.Next(At(2.5, {.destroyed = true})), Step::kEnd);
}

TEST(retirement_abandons_a_destructor_two_seconds_after_the_limit) {
  Retirement steps = Destroying(Seconds(5));
  CHECK_EQ(steps.Next(At(5.5)), Step::kWait);
  CHECK_EQ(steps.wake_at_ns(), Seconds(7));
  CHECK_EQ(steps.Next(At(7)), Step::kAbandon);
}

TEST(retirement_abandons_a_start_that_does_not_return) {
  Retirement steps = Draining(Seconds(0));
  const Retirement::Facts starting{.starting = true, .drained = true};
  CHECK_EQ(steps.Next(At(0, starting)), Step::kAbort);
  CHECK_EQ(steps.Next(At(1.9, starting)), Step::kWait);
  CHECK_EQ(steps.Next(At(2, starting)), Step::kAbandon);
}

TEST(retirement_keeps_the_earlier_of_two_limits) {
  Retirement late = Draining(Seconds(5));
  late.Limit(Seconds(9));
  CHECK_EQ(late.wake_at_ns(), Seconds(5));
  late.Limit(Seconds(3));
  CHECK_EQ(late.wake_at_ns(), Seconds(3));
  Retirement destroying = Destroying(kNever);
  destroying.Limit(Seconds(1));
  CHECK_EQ(destroying.wake_at_ns(), Seconds(3));
}

TEST(retirement_gives_runs_two_seconds_from_when_they_were_asked_to_end) {
  Retirement steps = Draining(Seconds(1));
  CHECK_EQ(steps.Next(At(2.5)), Step::kAbort);  // the machine was busy
  // Now an earlier limit is set.
  steps.Limit(Seconds(0));
  CHECK_EQ(steps.wake_at_ns(), Seconds(4.5));
}

}  // namespace tritonts::test
