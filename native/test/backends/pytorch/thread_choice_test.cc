#include "backends/pytorch/thread_choice.h"

#include <cstdint>
#include <functional>

#include "check.h"

namespace tritonts::test {

namespace {

using pytorch::ThreadChoice;

constexpr size_t kBytes = 256;

struct Counts {
  uint32_t one = 0;
  uint32_t all = 0;
  uint32_t changes = 0;
  uint64_t ns = 0;
};

// Runs a model whose runs take that long, on one thread and on all.
Counts Play(ThreadChoice* choice, uint32_t runs, uint64_t one_ns,
            const std::function<uint64_t(uint32_t)>& all_ns, size_t bytes = kBytes) {
  Counts counts;
  bool before = choice->TakesOne(bytes);
  for (uint32_t run = 0; run < runs; run++) {
    const bool one = choice->TakesOne(bytes);
    counts.changes += one != before ? 1 : 0;
    before = one;
    const uint64_t ns = one ? one_ns : all_ns(run);
    (one ? counts.one : counts.all)++;
    counts.ns += ns;
    choice->Took(bytes, ns);
  }
  return counts;
}

Counts Play(ThreadChoice* choice, uint32_t runs, uint64_t one_ns, uint64_t all_ns,
            size_t bytes = kBytes) {
  return Play(choice, runs, one_ns, [=](uint32_t) { return all_ns; }, bytes);
}

TEST(pytorch_short_runs_never_take_more_threads) {
  ThreadChoice choice;
  CHECK_EQ(Play(&choice, 20'000, 20'000, 5'000).all, uint32_t{0});
}

TEST(pytorch_long_runs_take_the_faster_way) {
  ThreadChoice faster;
  CHECK_EQ(Play(&faster, 20'000, 1'000'000, 600'000).one < 100, true);
  ThreadChoice slower;
  CHECK_EQ(Play(&slower, 20'000, 1'000'000, 1'500'000).all < 100, true);
  // Less than a tenth faster: the rest of the cores is for others.
  ThreadChoice alike;
  CHECK_EQ(Play(&alike, 20'000, 1'000'000, 950'000).all < 100, true);
}

TEST(pytorch_runs_that_wait_for_cores_cost_little) {
  ThreadChoice choice;
  const Counts counts = Play(&choice, 20'000, 1'000'000, 100'000'000);
  CHECK_EQ(counts.all < 12, true);
  CHECK_EQ(counts.ns < 20'000 * uint64_t{1'060'000}, true);
}

TEST(pytorch_other_work_on_the_cores_is_noticed) {
  ThreadChoice choice;
  Play(&choice, 10'000, 1'000'000, 600'000);
  CHECK_EQ(choice.TakesOne(kBytes), false);
  // Other work begins.
  const Counts busy = Play(&choice, 1'000, 1'000'000, 50'000'000);
  CHECK_EQ(busy.all < 20, true);
  // And it ends.
  CHECK_EQ(Play(&choice, 10'000, 1'000'000, 600'000).all > 5'000, true);
}

TEST(pytorch_a_single_slow_run_changes_nothing) {
  ThreadChoice choice;
  const auto rarely = [](uint32_t run) { return run % 50 == 0 ? uint64_t{9'000'000} : 600'000; };
  const Counts counts = Play(&choice, 20'000, 1'000'000, rarely);
  CHECK_EQ(counts.one < 200, true);
  CHECK_EQ(counts.changes < 40, true);
}

TEST(pytorch_sizes_of_inputs_choose_by_themselves) {
  ThreadChoice choice;
  for (uint32_t i = 0; i < 1'000; i++) {
    Play(&choice, 1, 10'000, 100'000, 64);
    Play(&choice, 1, 1'000'000, 600'000, 1 << 20);
  }
  CHECK_EQ(choice.TakesOne(64), true);
  CHECK_EQ(choice.TakesOne(1 << 20), false);
  // Without bytes, and with the most.
  CHECK_EQ(choice.TakesOne(0), true);
  CHECK_EQ(choice.TakesOne(SIZE_MAX), true);
}

}  // namespace

}  // namespace tritonts::test
