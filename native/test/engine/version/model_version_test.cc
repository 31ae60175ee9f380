// A serving version: its start, and which instance runs which request.
#include "engine/version/model_version.h"

#include <set>

#include "units.h"
#include "version_fixture.h"

namespace tritonts::test {

// --- Starting.

TEST(version_refuses_requests_before_it_starts_and_after_it_closed) {
  VersionBench bench((Script()));
  bench.Send({1});
  CHECK(bench.sink.Of(0).status.code() == Code::kUnavailable);
  CHECK(bench.version().Start(ConfigOf(FloatIo())).ok());
  bench.version().Close();
  bench.Send({1});
  CHECK(bench.sink.Of(1).status.code() == Code::kUnavailable);
  CHECK(!bench.sink.Of(1).ran);
  // The request was not accepted, so it is not counted.
  CHECK_EQ(bench.version().statistics().fail.count, 0u);
}

TEST(version_does_not_start_when_an_instance_cannot_be_made) {
  Script script;
  script.create = [](const InstanceSpec& spec) {
    return spec.index == 1 ? Status::Unavailable(Reason::kNotReady, "no " + spec.name)
                           : Status::Ok();
  };
  VersionBench bench(std::move(script));
  CHECK_EQ(bench.version().Start(ConfigOf(FloatIo(), 2)).message(), "no m_1");
  CHECK(!bench.version().started());
  CHECK(!bench.version().starting());
}

TEST(version_does_not_start_when_it_is_closed) {
  VersionBench bench((Script()));
  bench.version().Close();
  CHECK(bench.version().Start(ConfigOf(FloatIo())).code() == Code::kCancelled);
}

TEST(version_tells_of_its_runtime_as_long_as_it_has_one) {
  std::shared_ptr<ModelVersion> version;
  Timer timer;
  ScriptedBackend backend({});
  version =
      std::make_shared<ModelVersion>(1, "m", 1, &backend, backend.Load({}).take(), &timer, [] {});
  CHECK_EQ(version->Info().at("runtime"), "script");
  version->Close();
  version->Destroy();
  CHECK(version->Info().empty());
}

// --- Running.

TEST(version_responds_to_every_request_of_many_threads_once_with_its_own_rows) {
  VersionBench bench(std::make_unique<IdentityBackend>(), {"m", 1, "", {}});
  CHECK(bench.version().Start(ConfigOf(FloatIo(16), 3, Dynamic(16))).ok());
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kRequests = 100;
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Requests>> requests;
  for (uint32_t i = 0; i < kThreads; i++)
    requests.push_back(std::make_unique<Requests>(&bench.sink));
  for (uint32_t thread = 0; thread < kThreads; thread++) {
    threads.emplace_back([&, thread] {
      for (uint32_t i = 0; i < kRequests; i++) {
        const auto base = static_cast<float>(thread * 10'000 + i * 10);
        std::vector<float> values;
        for (uint32_t row = 0; row <= i % 3; row++)
          values.push_back(base + static_cast<float>(row));
        Request* request = requests[thread]->Floats(values);
        request->header->slot = thread * kRequests + i;
        bench.Submit({request});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(bench.sink.Wait(kThreads * kRequests));
  std::set<uint32_t> seen;
  for (const SeenResponse& response : bench.sink.responses()) {
    CHECK(response.status.ok());
    CHECK(seen.insert(response.slot).second);
    const uint32_t thread = response.slot / kRequests;
    const uint32_t i = response.slot % kRequests;
    std::vector<float> values;
    for (uint32_t row = 0; row <= i % 3; row++) {
      values.push_back(static_cast<float>(thread * 10'000 + i * 10 + row));
    }
    CHECK_EQ(response.outputs.at(0).bytes, BytesOf(values));
  }
  CHECK_EQ(seen.size(), kThreads * kRequests);
}

TEST(version_runs_batches_on_threads_of_its_own_one_an_instance) {
  auto runs = std::make_shared<Runs>();
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo(0), 2));
  for (int i = 0; i < 20; i++) bench.Send({1});
  CHECK(bench.sink.Wait(20));
  std::map<uint32_t, std::set<std::thread::id>> threads;
  for (const Runs::Batch& run : runs->runs()) {
    CHECK(run.thread != std::this_thread::get_id());
    threads[run.instance].insert(run.thread);
  }
  for (const auto& [instance, ids] : threads) CHECK_EQ(ids.size(), 1u);
}

TEST(version_gives_idle_instances_one_request_each_and_gathers_the_rest) {
  BusyVersion bench(ConfigOf(FloatIo(), 2, Dynamic(8)));
  bench.Send({1});
  CHECK(bench.runs->Started(2));
  for (const float value : {2.f, 3.f, 4.f}) bench.Send({value});
  bench.runs->Open();
  CHECK(bench.sink.Wait(5));
  CHECK_EQ(bench.runs->batches(), (Batches{{0}, {1}, {2, 3, 4}}));
  CHECK(bench.runs->runs()[0].instance != bench.runs->runs()[1].instance);
}

TEST(version_without_dynamic_batching_runs_every_request_alone_on_any_instance) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo(), 3));
  bench.Submit({bench.requests.Floats({1}), bench.requests.Floats({2}), bench.requests.Floats({3}),
                bench.requests.Floats({4})});
  CHECK(runs->Started(3));
  std::set<uint32_t> instances;
  for (const Runs::Batch& run : runs->runs()) {
    CHECK_EQ(run.slots.size(), 1u);
    instances.insert(run.instance);
  }
  CHECK_EQ(instances.size(), 3u);
  runs->Open();
  CHECK(bench.sink.Wait(4));
}

TEST(version_runs_a_backlog_in_preferred_sizes) {
  BusyVersion bench(ConfigOf(FloatIo(), 1, Dynamic(8, {4})));
  for (int i = 1; i < 7; i++) bench.Send({1});
  bench.runs->Open();
  CHECK(bench.sink.Wait(7));
  CHECK_EQ(bench.runs->batches(), (Batches{{0}, {1, 2, 3, 4}, {5, 6}}));
}

TEST(version_does_not_batch_requests_of_different_shapes) {
  ModelIo io = FloatIo();
  io.inputs[0].dims = {-1, -1};
  BusyVersion bench(ConfigOf(io, 1, Dynamic(8)));
  std::vector<Request*> chosen;
  for (const int64_t width : {1, 1, 2, 2}) {
    chosen.push_back(bench.requests.Add(1));
    bench.requests.Input(chosen.back(), 0, DataType::kFp32, {1, width},
                         BytesOf(std::vector<float>(static_cast<size_t>(width))));
  }
  bench.Submit(chosen);
  bench.runs->Open();
  CHECK(bench.sink.Wait(5));
  CHECK_EQ(bench.runs->batches(), (Batches{{0}, {1, 2}, {3, 4}}));
}

TEST(version_runs_what_waits_when_the_queue_delay_is_over) {
  auto runs = std::make_shared<Runs>();
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo(), 1, Dynamic(4, {}, 3 * kMs)));
  Request* request = bench.requests.Floats({1});
  bench.Submit({request, bench.requests.Floats({2})});
  CHECK(bench.sink.Wait(2));
  CHECK_EQ(runs->batches(), (Batches{{0, 1}}));
  CHECK(bench.sink.Of(0).timings.exec_start_ns - request->header->arrival_ns >= 3 * kMs);
}

TEST(version_runs_a_batch_that_is_full_without_waiting) {
  auto runs = std::make_shared<Runs>();
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo(), 1, Dynamic(4, {}, 3'600'000 * kMs)));
  for (int i = 0; i < 4; i++) bench.Send({1});
  CHECK(bench.sink.Wait(4));
  CHECK_EQ(runs->batches(), (Batches{{0, 1, 2, 3}}));
}

TEST(version_of_the_identity_backend_takes_its_time_by_instance) {
  VersionBench bench(std::make_unique<IdentityBackend>(), {"m", 1, "", {}});
  VersionConfig config = ConfigOf(FloatIo(), 3);
  config.json = R"({"parameters": {"execute_delay_ms": {"string_value": "5"},
                                   "instance_wise_delay_multiplier": {"string_value": "1"}}})";
  CHECK(bench.version().Start(std::move(config)).ok());
  std::vector<Request*> chosen;
  for (int i = 0; i < 3; i++) chosen.push_back(bench.requests.Floats({1}));
  bench.Submit(chosen);
  CHECK(bench.sink.Wait(3));
  // Instances take requests in order. Instance i takes max(1, i) times as long.
  for (const auto& [slot, least] : {std::pair{0u, 5 * kMs}, {1u, 5 * kMs}, {2u, 10 * kMs}}) {
    const BatchTimings times = bench.sink.Of(slot).timings;
    CHECK(times.compute_end_ns - times.compute_start_ns >= least);
  }
}

}  // namespace tritonts::test
