// The gate between decision and start: which batches wait, enter and are withdrawn.

#include <deque>

#include "counting_gate.h"
#include "engine/version/inline_time.h"
#include "version_fixture.h"

namespace tritonts::test {

namespace {

VersionConfig GatedConfig(const std::shared_ptr<Gate>& gate, uint32_t instances = 1) {
  VersionConfig config = ConfigOf(FloatIo(), instances);
  config.gate = gate;
  return config;
}

}  // namespace

TEST(gate_holds_a_batch_until_another_version_s_is_through) {
  for (const bool asynchronous : {false, true}) {
    const auto gate = std::make_shared<CountingGate>(1);
    BusyVersion busy(GatedConfig(gate));
    const auto runs = std::make_shared<Runs>();
    Script script = ScriptOf(runs);
    script.asynchronous = asynchronous;
    if (asynchronous) {
      script.execute = [runs](uint32_t instance, Run& run) {
        runs->Execute(instance, run);
        run.InstanceFree();
      };
    }
    VersionBench other(std::move(script), GatedConfig(gate));
    other.Send({1});
    other.Send({2});
    CHECK_EQ(gate->waiting(), 1u);
    CHECK(runs->runs().empty());
    busy.runs->Open();
    CHECK(other.sink.Wait(2));
    CHECK(busy.sink.Wait(1));
    CHECK(Eventually([&] { return gate->inside() == 0; }));
    CHECK_EQ(gate->entered(), 3u);
  }
}

TEST(gate_is_asked_for_each_instance_and_each_batch) {
  const auto gate = std::make_shared<CountingGate>(2);
  ShutRuns shut;
  VersionBench bench(ScriptOf(shut.runs), GatedConfig(gate, 3));
  for (uint32_t i = 0; i < 5; i++) bench.Send({static_cast<float>(i)});
  CHECK(shut.runs->Started(2));
  CHECK_EQ(gate->inside(), 2u);
  CHECK_EQ(gate->waiting(), 1u);
  shut.runs->Open();
  CHECK(bench.sink.Wait(5));
  CHECK_EQ(gate->entered(), 5u);
}

TEST(gate_covers_runs_on_the_thread_that_submits) {
  const auto gate = std::make_shared<CountingGate>(1);
  BusyVersion busy(GatedConfig(gate));
  const auto runs = std::make_shared<Runs>();
  VersionConfig config = GatedConfig(gate);
  config.inline_budget_ns = 1'000'000'000;
  VersionBench bench(ScriptOf(runs), std::move(config));
  InlineTime inline_time;
  bench.Submit({bench.requests.Floats({1})}, &inline_time);
  CHECK(runs->runs().empty());
  CHECK_EQ(gate->waiting(), 1u);
  busy.runs->Open();
  CHECK(bench.sink.Wait(1));
}

TEST(gate_gives_back_what_an_aborted_version_waits_for) {
  const auto gate = std::make_shared<CountingGate>(1);
  BusyVersion busy(GatedConfig(gate));
  VersionConfig config = GatedConfig(gate);
  config.preserve_ordering = true;
  VersionBench bench({}, std::move(config));
  bench.Send({1});
  bench.Send({2});
  CHECK_EQ(gate->waiting(), 1u);
  bench.version().Close();
  CHECK(!bench.version().drained());
  bench.version().Abort(Status::Unavailable(Reason::kClosed, "over"));
  CHECK(bench.sink.Wait(2));
  for (const SeenResponse& seen : bench.sink.responses()) {
    CHECK_EQ(seen.status.message(), "over");
    CHECK(!seen.ran);
  }
  CHECK_EQ(gate->waiting(), 0u);
  CHECK(bench.version().drained());
  bench.Destroy();
  // The batch inside continues.
  busy.runs->Open();
  CHECK(busy.sink.Wait(1));
}

TEST(gate_is_left_by_runs_that_are_abandoned) {
  const auto gate = std::make_shared<CountingGate>(1);
  VersionBench waits({}, GatedConfig(gate));
  BusyVersion busy(GatedConfig(gate));
  waits.Send({1});
  CHECK_EQ(gate->waiting(), 1u);
  busy.Abandon();
  CHECK(waits.sink.Wait(1));
  CHECK(waits.sink.Of(0).status.ok());
  busy.runs->Open();
  CHECK(busy.runs->Returned(1));
}

TEST(gate_runs_a_batch_whose_requests_were_cancelled_meanwhile) {
  const auto gate = std::make_shared<CountingGate>(1);
  BusyVersion busy(GatedConfig(gate));
  VersionBench bench({}, GatedConfig(gate));
  Request* const request = bench.Send({1});
  bench.Cancel(request);
  busy.runs->Open();
  CHECK(bench.sink.Wait(1));
  CHECK(bench.sink.Of(0).status.code() == Code::kCancelled);
  CHECK(Eventually([&] { return gate->inside() == 0; }));
}

TEST(gate_is_not_asked_for_a_warm_up) {
  const auto gate = std::make_shared<CountingGate>(0);
  VersionConfig config = GatedConfig(gate);
  config.warmup.push_back({});
  config.warmup.back().name = "w";
  config.warmup.back().batch_size = 1;
  config.warmup.back().count = 1;
  VersionBench bench({}, std::move(config));
  CHECK_EQ(gate->entered(), 0u);
}

// Versions whose batches admit each other, from all threads.
TEST(gate_loses_nobody_under_load) {
  constexpr size_t kEach = 300;
  const auto gate = std::make_shared<CountingGate>(2);
  std::deque<VersionBench> versions;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  for (const bool asynchronous : {false, true, false, true}) {
    Script script;
    script.asynchronous = asynchronous;
    script.execute = [&, asynchronous](uint32_t, Run& run) {
      const int now = ++inside;
      for (int before = most; now > before && !most.compare_exchange_weak(before, now);) continue;
      inside--;
      run.RespondAll(Status::Ok());
      if (asynchronous) run.InstanceFree();
    };
    versions.emplace_back(std::move(script), GatedConfig(gate, 2));
  }
  std::vector<std::thread> threads;
  for (VersionBench& version : versions) {
    threads.emplace_back([&version] {
      for (size_t i = 0; i < kEach; i++) version.Send({1});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (VersionBench& version : versions) CHECK(version.sink.Wait(kEach));
  CHECK(Eventually([&] { return gate->inside() == 0; }));
  CHECK(most.load() <= 2);
  CHECK_EQ(gate->broken(), 0u);
}

}  // namespace tritonts::test
