// The statistics of a version.
#include "engine/statistics/response_counts.h"
#include "version_fixture.h"

namespace tritonts::test {

TEST(version_counts_what_is_responded_to_while_its_run_goes_on) {
  auto answered = std::make_shared<Runs>();
  answered->Shut();
  Script script;
  script.execute = [answered](uint32_t instance, Run& run) {
    run.MarkInputsReady();
    run.MarkComputed();
    run.Respond(0, Status::Ok());
    answered->Execute(instance, run);  // waits with the rest
  };
  VersionBench bench(std::move(script), ConfigOf(FloatIo(), 1, Dynamic(8)));
  bench.Submit({bench.requests.Floats({1, 2}), bench.requests.Floats({3})});
  CHECK(bench.sink.Wait(1));
  Statistics statistics = bench.version().statistics();
  CHECK_EQ(statistics.success.count, 1u);
  CHECK_EQ(statistics.inference_count, 2u);
  CHECK_EQ(statistics.execution_count, 1u);
  CHECK_EQ(statistics.batches.at(3).compute_infer.count, 1u);
  answered->Open();
  CHECK(bench.sink.Wait(2));
  statistics = bench.version().statistics();
  CHECK_EQ(statistics.success.count, 2u);
  CHECK_EQ(statistics.inference_count, 3u);
  CHECK_EQ(statistics.execution_count, 1u);
  CHECK_EQ(statistics.batches.at(3).compute_infer.count, 1u);
}

// Triton's metrics separate them; its statistics do not.
TEST(version_counts_what_the_instances_on_a_gpu_do_apart) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  Script script;
  script.execute = [runs](uint32_t instance, Run& run) { runs->Execute(instance, run); };
  VersionConfig config = ConfigOf(FloatIo(), 2, Dynamic(1));
  config.latencies = {true, 7, false, {}};
  config.instances[1].memory = MemoryKind::kDevice;
  config.instances[1].device = 3;
  VersionBench bench(std::move(script), std::move(config));
  for (const float value : {1.0F, 2.0F}) bench.Submit({bench.requests.Floats({value})});
  runs->Open();
  CHECK(bench.sink.Wait(2));
  const std::vector<double> median{0.5};
  VersionMetrics metrics;
  // Statistics count a response while its run continues. Quantiles include a run when it has ended.
  CHECK(Eventually([&] {
    metrics = bench.version().metrics(median);
    return metrics.gpus.size() == 1 && metrics.quantiles[0] > 0 &&
           metrics.gpus.at(3).quantiles[0] > 0;
  }));
  for (const InstanceMetrics* const one :
       {static_cast<InstanceMetrics*>(&metrics), &metrics.gpus.at(3)}) {
    CHECK_EQ(one->statistics.success.count, 1u);
    CHECK_EQ(one->statistics.execution_count, 1u);
    CHECK_EQ(one->statistics.batches.at(1).compute_infer.count, 1u);
    uint64_t requests = 0;
    for (const uint64_t count : one->latencies.phases[0].counts()) requests += count;
    CHECK_EQ(requests, 1u);
  }
  const Statistics statistics = bench.version().statistics();
  CHECK_EQ(statistics.success.count, 2u);
  CHECK_EQ(statistics.inference_count, 2u);
  CHECK_EQ(statistics.batches.at(1).compute_infer.count, 2u);
  CHECK_EQ(statistics.success.ns,
           metrics.statistics.success.ns + metrics.gpus.at(3).statistics.success.ns);
}

TEST(version_counts_a_request_with_the_times_of_its_answer) {
  auto rest = std::make_shared<Runs>();
  rest->Shut();
  Script script;
  script.execute = [rest](uint32_t instance, Run& run) {
    run.MarkInputsReady();
    run.Respond(0, Status::Ok());
    rest->Execute(instance, run);  // waits with the other one
  };
  VersionConfig config = ConfigOf(FloatIo(), 1, Dynamic(8));
  config.latencies = {true, 7, false, {}};
  VersionBench bench(std::move(script), std::move(config));
  bench.Submit({bench.requests.Floats({1}), bench.requests.Floats({2})});
  CHECK(bench.sink.Wait(1));
  const VersionMetrics before = bench.version().metrics({});
  // Long enough to fall into another class of the histograms.
  const uint64_t began = NowNs();
  CHECK(Eventually([&] { return NowNs() - began > 20'000'000; }));
  // The value comes from two clocks in whole milliseconds, so it may be 1 ms too late.
  const uint64_t last_ms = bench.version().statistics().last_inference_ms;
  CHECK(last_ms + 1 >= before.statistics.last_inference_ms);
  CHECK(last_ms <= before.statistics.last_inference_ms + 1);
  rest->Open();
  CHECK(bench.sink.Wait(2));
  CHECK(Eventually([&] { return bench.version().batches().records.back().ended_ns != 0; }));
  const VersionMetrics after = bench.version().metrics({});
  // Values reported to Prometheus never decrease.
  for (size_t phase = 0; phase < kLatencyPhases; phase++) {
    uint64_t earlier = 0;
    uint64_t later = 0;
    for (size_t i = 0; i < LatencyHistogram::kClasses; i++) {
      earlier += before.latencies.phases[phase].counts()[i];
      later += after.latencies.phases[phase].counts()[i];
      CHECK(later >= earlier);
    }
    CHECK_EQ(later, 2u);
  }
  uint64_t infer = 0;
  for (const SeenResponse& seen : bench.sink.responses()) {
    infer += seen.timings.compute_end_ns - seen.timings.compute_start_ns;
  }
  CHECK_EQ(after.statistics.compute_infer.ns, infer);
}

TEST(version_counts_every_response_before_it_is_delivered) {
  class CountingSink final : public ResponseSink {
   public:
    void Deliver(std::span<const Response> responses) override {
      for (const Response& response : responses) {
        response.request->set_state(Request::State::kIdle);
      }
      delivered.fetch_add(static_cast<uint32_t>(responses.size()), std::memory_order_release);
    }
    std::atomic<uint32_t> delivered{0};
  };
  CountingSink sink;
  Requests requests(&sink);
  VersionBench bench(ScriptOf(std::make_shared<Runs>()), ConfigOf(FloatIo(), 1, Dynamic(4)));
  for (uint32_t sent = 1; sent <= 2000; sent++) {
    bench.Submit({requests.Floats({1})});
    while (sink.delivered.load(std::memory_order_acquire) < sent) std::this_thread::yield();
    CHECK_EQ(bench.version().statistics().success.count, sent);
  }
}

TEST(version_counts_a_cancellation_before_it_is_delivered) {
  class AskingSink final : public ResponseSink {
   public:
    void Deliver(std::span<const Response> responses) override {
      for (const Response& response : responses) {
        if (response.timings) continue;
        cancelled = version->statistics().cancelled;
      }
      for (const Response& response : responses) {
        response.request->set_state(Request::State::kIdle);
      }
    }
    std::atomic<uint64_t> cancelled{0};
    ModelVersion* version = nullptr;
  };
  AskingSink sink;
  Requests requests(&sink);
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo(), 1));
  sink.version = &bench.version();
  bench.Submit({requests.Floats({1})});
  CHECK(runs->Started(1));
  Request* waiting = requests.Floats({2});
  bench.Submit({waiting});
  bench.Cancel(waiting);
  CHECK_EQ(sink.cancelled.load(), 1u);
  runs->Open();
}

TEST(version_counts_batches_rows_and_requests) {
  BusyVersion bench(ConfigOf(FloatIo(), 1, Dynamic(8)));
  bench.Send({1, 2});
  bench.Send({3});
  bench.runs->Open();
  CHECK(bench.sink.Wait(3));
  CHECK(Eventually([&] { return bench.version().statistics().execution_count == 2; }));
  const Statistics statistics = bench.version().statistics();
  CHECK_EQ(statistics.inference_count, 4u);
  CHECK_EQ(statistics.success.count, 3u);
  CHECK_EQ(statistics.queue.count, 3u);
  CHECK_EQ(statistics.batches.at(1).compute_infer.count, 1u);
  CHECK_EQ(statistics.batches.at(3).compute_infer.count, 1u);
  CHECK(statistics.success.ns >= statistics.queue.ns);
}

TEST(response_counts_are_tritons) {
  using Kind = ResponseCounts::Kind;
  const auto counts = std::make_unique<ResponseCounts>();
  CHECK_EQ(counts->Read().size(), 0u);
  counts->Add(0, Kind::kSuccess, 10, 1);
  counts->Add(0, Kind::kSuccess, 20, 2);
  counts->Add(0, Kind::kFail, 100, 5);
  counts->Add(1, Kind::kEmpty, 40, 0);
  counts->Add(1, Kind::kCancel, 7, 0);
  counts->Add(ResponseCounts::kMost, Kind::kSuccess, 1, 1);  // has no counts
  const auto read = counts->Read();
  CHECK_EQ(read.size(), 2u);
  const auto is = [](const Duration& one, uint64_t count, uint64_t ns) {
    return one.count == count && one.ns == ns;
  };
  CHECK(is(read[0].success, 2, 33));
  CHECK(is(read[0].fail, 1, 105));
  CHECK(is(read[0].empty_response, 0, 0));
  CHECK(is(read[0].cancel, 0, 0));
  CHECK(is(read[0].compute_infer, 3, 130));
  CHECK(is(read[0].compute_output, 3, 8));
  CHECK(is(read[1].empty_response, 1, 40));
  CHECK(is(read[1].cancel, 1, 7));
  CHECK(is(read[1].compute_infer, 1, 40));  // without the cancelled ones
  CHECK(is(read[1].compute_output, 0, 0));
  for (uint32_t k = 0; k < ResponseCounts::kMost; k++) counts->Add(k, Kind::kSuccess, 1, 0);
  CHECK_EQ(counts->Read().size(), size_t{ResponseCounts::kMost});
}

}  // namespace tritonts::test
