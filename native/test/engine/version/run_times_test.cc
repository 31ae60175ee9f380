// RunTimes: which batches are known to be short.
#include "engine/version/run_times.h"

#include "engine/base/clock.h"
#include "engine/version/inline_time.h"
#include "engine_fixture.h"
#include "units.h"

namespace tritonts::test {

namespace {

// The class of a batch of one request with this shape key.
uint64_t ClassOf(std::vector<int64_t> key, uint32_t rows, size_t bytes = 0) {
  Requests requests;
  Request* request = requests.Add(rows);
  request->header->shape_key = std::move(key);
  requests.Input(request, 0, DataType::kBytes, {1}, std::string(bytes, 'x'));
  const Request* const batch[] = {request};
  return RunTimes::Class(batch, rows, bytes > 0);
}

// The CPU clock of a thread, set by the tests, and the number of its readings.
uint64_t thread_time = 0;
int readings = 0;
uint64_t ThreadTime() {
  readings++;
  return thread_time;
}

// A run of `ns` on the submitting thread, which has a core for `had` of that.
void RunHere(RunTimes* times, ThreadWatch* watch, uint64_t ns, uint64_t had) {
  static uint64_t now = kUs;
  watch->Begin(now);
  now += ns;
  thread_time += had;
  times->NoteHere(1, ns, *watch);
}

}  // namespace

TEST(run_times_know_nothing_of_what_was_not_measured) {
  RunTimes times(50 * kUs);
  CHECK(!times.Fits(1, 0));
  times.Note(1, 10 * kUs);
  CHECK(times.Fits(1, 0));
  CHECK(!times.Fits(2, 0));
}

TEST(run_times_leave_room_for_what_is_spent) {
  RunTimes times(50 * kUs);
  times.Note(1, 20 * kUs);
  CHECK(times.Fits(1, 30 * kUs));
  CHECK(!times.Fits(1, 31 * kUs));
  CHECK(!times.Fits(1, 50 * kUs));
  CHECK(!times.Fits(1, UINT64_MAX));
}

TEST(run_times_without_a_budget_fit_nothing) {
  RunTimes times;
  times.Note(1, 0);
  CHECK(!times.enabled());
  CHECK(!times.Fits(1, 0));
}

TEST(run_times_take_a_slow_run_at_its_word_but_not_for_long) {
  RunTimes times(50 * kUs);
  times.Note(1, 10 * kUs);
  times.Note(1, 5'000 * kUs);
  CHECK(!times.Fits(1, 0));
  int runs = 0;
  while (!times.Fits(1, 0) && runs < 100) {
    times.Note(1, 10 * kUs);
    runs++;
  }
  CHECK(runs > 1);
  CHECK(runs < 20);
}

TEST(run_times_count_a_run_that_takes_far_too_long_once) {
  RunTimes times(50 * kUs);
  ThreadWatch watch(ThreadTime);
  times.Note(1, 10 * kUs);
  times.Note(2, 10 * kUs);
  RunHere(&times, &watch, 4'000'000 * kUs, 0);
  CHECK(!times.enabled());
  // Another class does not fit either, and any number of short runs does not change that.
  CHECK(!times.Fits(2, 0));
  for (int i = 0; i < 1000; i++) times.Note(2, 10 * kUs);
  CHECK(!times.Fits(2, 0));
}

TEST(run_times_add_up_what_runs_take_beyond_their_budget) {
  RunTimes times(50 * kUs);
  ThreadWatch watch(ThreadTime);
  for (int i = 0; i < 4; i++) {
    CHECK(times.enabled());
    RunHere(&times, &watch, 6'000 * kUs, 6'000 * kUs);
  }
  CHECK(!times.enabled());
}

TEST(run_times_forgive_a_little_for_each_run_that_keeps_to_its_budget) {
  RunTimes times(50 * kUs);
  ThreadWatch watch(ThreadTime);
  for (int i = 0; i < 20; i++) {
    RunHere(&times, &watch, 6'000 * kUs, 6'000 * kUs);
    for (int j = 0; j < 2'000; j++) RunHere(&times, &watch, 40 * kUs, 40 * kUs);
  }
  CHECK(times.enabled());
}

TEST(run_times_do_not_count_what_others_took_of_a_core) {
  RunTimes times(50 * kUs);
  ThreadWatch watch(ThreadTime);
  for (int i = 0; i < 100; i++) RunHere(&times, &watch, 100'000 * kUs, 40 * kUs);
  CHECK(times.enabled());
  RunHere(&times, &watch, 100'000 * kUs, 50'000 * kUs);
  CHECK(!times.enabled());
}

TEST(run_times_read_the_clock_of_the_thread_once_a_millisecond) {
  ThreadWatch watch(ThreadTime);
  const int before = readings;
  for (uint64_t now = 1; now < 10'000 * kUs; now += 100 * kUs) watch.Begin(now);
  CHECK_EQ(readings - before, 10);
  // The thread may have had a core during the whole time between the reading and the run.
  watch.Begin(20'000 * kUs);
  watch.Begin(20'300 * kUs);
  thread_time += 1'000 * kUs;
  CHECK_EQ(watch.Had(5'000 * kUs), 700 * kUs);
  CHECK_EQ(watch.Had(500 * kUs), 500 * kUs);
}

TEST(run_times_know_how_long_this_thread_had_a_core) {
  ThreadWatch watch;
  watch.Begin(NowNs());
  const uint64_t began = NowNs();
  while (platform::ThreadTimeNs() == 0 && NowNs() - began < 1'000'000'000) continue;
  const uint64_t had = platform::ThreadTimeNs();
  if (had == 0) SKIP("it is not told here");
  while (platform::ThreadTimeNs() - had < 3'000 * kUs) continue;
  CHECK(watch.Had(UINT64_MAX) >= 2'000 * kUs);
}

TEST(run_times_forget_rather_than_grow_without_bounds) {
  RunTimes times(50 * kUs);
  for (uint64_t i = 0; i < 5000; i++) times.Note(i, kUs);
  CHECK(!times.Fits(0, 0));
  CHECK(times.Fits(4999, 0));
}

TEST(run_times_tell_shapes_and_sizes_apart) {
  CHECK_EQ(ClassOf({3, 4}, 2), ClassOf({3, 4}, 2));
  CHECK(ClassOf({3, 4}, 2) != ClassOf({4, 3}, 2));
  CHECK(ClassOf({3}, 2) != ClassOf({3, 0}, 2));
  CHECK(ClassOf({}, 1) != ClassOf({}, 2));
  CHECK(ClassOf({}, 16) != ClassOf({}, 17));
  // Large sizes share a class in steps of an eighth.
  CHECK_EQ(ClassOf({}, 500), ClassOf({}, 512));
  CHECK(ClassOf({}, 512) != ClassOf({}, 513));
  CHECK(ClassOf({}, 100) != ClassOf({}, 128));
}

TEST(run_times_tell_long_strings_from_short_ones) {
  CHECK(ClassOf({1}, 1, 10) != ClassOf({1}, 1, 10'000));
  CHECK_EQ(ClassOf({1}, 1, 10'000), ClassOf({1}, 1, 10'001));
}

}  // namespace tritonts::test
