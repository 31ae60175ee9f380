// Cancelling requests of a version: each ends exactly once.
#include "version_fixture.h"

namespace tritonts::test {

TEST(version_ends_a_waiting_request_at_once_when_it_is_cancelled) {
  BusyVersion bench(ConfigOf(FloatIo(), 1, Dynamic(8)));
  bench.Send({1});
  Request* cancelled = bench.Send({2});
  bench.Send({3});
  bench.Cancel(cancelled);
  CHECK_EQ(bench.sink.responses().size(), 1u);
  CHECK(bench.sink.Of(2).status.code() == Code::kCancelled);
  CHECK(!bench.sink.Of(2).ran);
  bench.runs->Open();
  CHECK(bench.sink.Wait(4));
  CHECK_EQ(bench.runs->batches(), (Batches{{0}, {1, 3}}));
  const Statistics statistics = bench.version().statistics();
  CHECK_EQ(statistics.fail.count, 1u);
  CHECK_EQ(statistics.cancelled, 1u);
  CHECK_EQ(statistics.rejected, 0u);
}

TEST(version_drops_the_rows_of_a_running_request_when_it_is_cancelled) {
  BusyVersion bench(ConfigOf(FloatIo(), 1, Dynamic(8)));
  bench.Cancel(bench.first);
  CHECK(bench.sink.responses().empty());
  bench.runs->Open();
  CHECK(bench.sink.Wait(1));
  CHECK(bench.sink.Of(0).status.code() == Code::kCancelled);
  CHECK(bench.sink.Of(0).ran);
}

TEST(version_takes_a_cancellation_of_a_request_that_has_ended) {
  VersionBench bench(ScriptOf(std::make_shared<Runs>()), ConfigOf(FloatIo()));
  Request* request = bench.Send({0});
  CHECK(bench.sink.Wait(1));
  bench.Cancel(request);
  bench.Cancel(request);
  CHECK_EQ(bench.sink.responses().size(), 1u);
  CHECK(bench.sink.Of(0).status.ok());
}

TEST(version_responds_once_when_cancellation_and_run_race) {
  VersionBench bench(ScriptOf(std::make_shared<Runs>()), ConfigOf(FloatIo(), 2, Dynamic(4)));
  for (uint32_t i = 0; i < 200; i++) {
    Request* request = bench.Send({static_cast<float>(i)});
    if (i % 2 == 0) bench.Cancel(request);
  }
  CHECK(bench.sink.Wait(200));
  for (uint32_t i = 0; i < 200; i++) {
    const SeenResponse response = bench.sink.Of(i);
    CHECK(response.status.ok() || (i % 2 == 0 && response.status.code() == Code::kCancelled));
  }
}

}  // namespace tritonts::test
