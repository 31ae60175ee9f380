// How a version ends: drained, aborted, destroyed or abandoned.
#include "version_fixture.h"

namespace tritonts::test {

TEST(version_finishes_what_it_accepted_after_it_closed) {
  BusyVersion bench(ConfigOf(FloatIo(), 1, Dynamic(8)));
  bench.Send({1});
  bench.version().Close();
  CHECK(!bench.version().drained());
  CHECK_EQ(bench.drained.load(), 0);
  bench.runs->Open();
  CHECK(bench.sink.Wait(2));
  CHECK(bench.sink.Of(0).status.ok());
  CHECK(bench.sink.Of(1).status.ok());
  CHECK(Eventually([&] { return bench.version().drained() && bench.drained > 0; }));
}

TEST(version_says_that_it_is_drained_when_it_closes_idle) {
  VersionBench bench({}, ConfigOf(FloatIo()));
  bench.version().Close();
  CHECK(bench.version().drained());
  CHECK_EQ(bench.drained.load(), 1);
}

TEST(version_that_is_aborted_ends_what_waits_and_asks_what_runs_to_end) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  Script script = ScriptOf(runs);
  script.terminate = [runs](uint32_t) { runs->Open(); };
  VersionBench bench(std::move(script), ConfigOf(FloatIo(), 1, Dynamic(8)));
  bench.Send({0});
  CHECK(runs->Started(1));
  bench.Send({1});
  bench.Send({2});
  bench.version().Close();
  bench.version().Abort(Status::Cancelled("closed"));
  CHECK(bench.sink.Wait(3));
  CHECK(bench.sink.Of(0).status.ok());
  CHECK_EQ(bench.sink.Of(1).status.message(), "closed");
  CHECK_EQ(bench.sink.Of(2).status.message(), "closed");
  CHECK(Eventually([&] { return bench.version().drained(); }));
  CHECK_EQ(runs->runs().size(), 1u);
  CHECK_EQ(bench.version().statistics().cancelled, 2u);
}

TEST(version_destroys_instances_and_model_once_its_threads_are_joined) {
  auto destroyed = std::make_shared<std::atomic<int>>(0);
  {
    Script script = ScriptOf(std::make_shared<Runs>());
    script.destroyed = [destroyed] { ++*destroyed; };
    VersionBench bench(std::move(script), ConfigOf(FloatIo(), 2));
    for (int i = 0; i < 8; i++) bench.Send({1});
    CHECK(bench.sink.Wait(8));
    CHECK_EQ(destroyed->load(), 0);
  }
  CHECK_EQ(destroyed->load(), 1);
}

TEST(version_may_be_destroyed_while_the_submission_of_its_last_request_still_returns) {
  // Covers memory that a submission accesses after releasing the lock. ThreadSanitizer detects the
  // race reliably.
  for (int i = 0; i < 100; i++) {
    VersionBench bench(ScriptOf(std::make_shared<Runs>()), ConfigOf(FloatIo()));
    std::thread caller([&] { bench.Send({1}); });
    CHECK(bench.sink.Wait(1));
    bench.version().Close();
    CHECK(Eventually([&] { return bench.version().drained(); }));
    bench.Destroy();
    caller.join();
  }
}

TEST(version_that_is_abandoned_fails_its_hanging_runs_and_stays_silent_when_they_return) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  auto destroyed = std::make_shared<std::atomic<int>>(0);
  Script script = ScriptOf(runs);
  script.destroyed = [destroyed] { ++*destroyed; };
  {
    VersionBench bench(std::move(script), ConfigOf(FloatIo(), 2, Dynamic(8)));
    bench.Send({0});
    CHECK(runs->Started(1));
    bench.version().Close();
    bench.version().Abort(Status::Cancelled("closed"));
    bench.Abandon();
    CHECK_EQ(bench.sink.responses().size(), 1u);
    CHECK(bench.sink.Of(0).status.code() == Code::kInternal);
    CHECK(bench.sink.Of(0).abandoned);
    runs->Open();
    CHECK(runs->Returned(1));
    CHECK_EQ(bench.sink.responses().size(), 1u);
  }
  CHECK_EQ(destroyed->load(), 0);
}

TEST(version_that_is_abandoned_tells_nothing_of_its_runtime) {
  VersionBench bench({}, ConfigOf(FloatIo()));
  bench.version().Close();
  bench.Abandon();
  CHECK(bench.version().Info().empty());
}

}  // namespace tritonts::test
