// Which batches are known to be short.
#include "run_times.h"

#include "engine_fixture.h"

namespace tritonts::test {

namespace {

constexpr uint64_t kUs = 1000;

// The class of a batch of one request with this shape key.
uint64_t ClassOf(std::vector<int64_t> key, uint32_t rows, size_t bytes = 0) {
  Requests requests;
  Request* request = requests.Add(rows);
  request->shape_key = std::move(key);
  requests.Input(request, 0, DataType::kBytes, {1}, std::string(bytes, 'x'));
  const Request* const batch[] = {request};
  return RunTimes::Class(batch, rows, bytes > 0);
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
  // Large sizes in steps of an eighth.
  CHECK_EQ(ClassOf({}, 500), ClassOf({}, 512));
  CHECK(ClassOf({}, 512) != ClassOf({}, 513));
  CHECK(ClassOf({}, 100) != ClassOf({}, 128));
}

TEST(run_times_tell_long_strings_from_short_ones) {
  CHECK(ClassOf({1}, 1, 10) != ClassOf({1}, 1, 10'000));
  CHECK_EQ(ClassOf({1}, 1, 10'000), ClassOf({1}, 1, 10'001));
}

}  // namespace tritonts::test
