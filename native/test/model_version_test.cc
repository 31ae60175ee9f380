// A served model version: who runs what, and every request ending once.
#include "engine/running/model_version.h"

#include <set>

#include "version_fixture.h"

namespace tritonts::test {

namespace {

using Batches = std::vector<std::vector<uint32_t>>;

constexpr uint64_t kMs = 1'000'000;

DynamicPolicy Dynamic(uint32_t most, std::vector<uint32_t> preferred = {}, uint64_t delay_ns = 0) {
  return {most, std::move(preferred), delay_ns};
}

}  // namespace

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
  // Not accepted, so not counted.
  CHECK_EQ(bench.version().statistics().fail.count, 0u);
}

TEST(version_does_not_start_when_an_instance_cannot_be_made) {
  Script script;
  script.create = [](const InstanceSpec& spec) {
    return spec.index == 1 ? Status::Unavailable("no " + spec.name) : Status::Ok();
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

TEST(version_answers_every_request_of_many_threads_once_with_its_own_rows) {
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
  for (const Answer& answer : bench.sink.answers()) {
    CHECK(answer.status.ok());
    CHECK(seen.insert(answer.slot).second);
    const uint32_t thread = answer.slot / kRequests;
    const uint32_t i = answer.slot % kRequests;
    std::vector<float> values;
    for (uint32_t row = 0; row <= i % 3; row++) {
      values.push_back(static_cast<float>(thread * 10'000 + i * 10 + row));
    }
    CHECK_EQ(answer.outputs.at(0).bytes, BytesOf(values));
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
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo(), 2, Dynamic(8)));
  bench.Send({0});
  CHECK(runs->Started(1));
  bench.Send({1});
  CHECK(runs->Started(2));
  for (const float value : {2.f, 3.f, 4.f}) bench.Send({value});
  runs->Open();
  CHECK(bench.sink.Wait(5));
  CHECK_EQ(runs->batches(), (Batches{{0}, {1}, {2, 3, 4}}));
  CHECK(runs->runs()[0].instance != runs->runs()[1].instance);
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
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo(), 1, Dynamic(8, {4})));
  bench.Send({0});
  CHECK(runs->Started(1));
  for (int i = 1; i < 7; i++) bench.Send({1});
  runs->Open();
  CHECK(bench.sink.Wait(7));
  CHECK_EQ(runs->batches(), (Batches{{0}, {1, 2, 3, 4}, {5, 6}}));
}

TEST(version_does_not_batch_requests_of_different_shapes) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  ModelIo io = FloatIo();
  io.inputs[0].dims = {-1, -1};
  VersionBench bench(ScriptOf(runs), ConfigOf(io, 1, Dynamic(8)));
  bench.Send({0});
  CHECK(runs->Started(1));
  std::vector<Request*> chosen;
  for (const int64_t width : {1, 1, 2, 2}) {
    chosen.push_back(bench.requests.Add(1));
    bench.requests.Input(chosen.back(), 0, DataType::kFp32, {1, width},
                         BytesOf(std::vector<float>(static_cast<size_t>(width))));
  }
  bench.Submit(chosen);
  runs->Open();
  CHECK(bench.sink.Wait(5));
  CHECK_EQ(runs->batches(), (Batches{{0}, {1, 2}, {3, 4}}));
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
  VersionBench bench(
      std::make_unique<IdentityBackend>(),
      {"m", 1, "", {{"execute_delay_ms", "5"}, {"instance_wise_delay_multiplier", "1"}}});
  CHECK(bench.version().Start(ConfigOf(FloatIo(), 3)).ok());
  std::vector<Request*> chosen;
  for (int i = 0; i < 3; i++) chosen.push_back(bench.requests.Floats({1}));
  bench.Submit(chosen);
  CHECK(bench.sink.Wait(3));
  // Instances take requests in their order; each runs max(1, its number) times as long.
  for (const auto& [slot, least] : {std::pair{0u, 5 * kMs}, {1u, 5 * kMs}, {2u, 10 * kMs}}) {
    const BatchTimings times = bench.sink.Of(slot).timings;
    CHECK(times.compute_end_ns - times.compute_start_ns >= least);
  }
}

// --- Shape keys.

TEST(version_compares_nothing_where_all_dims_are_fixed) {
  VersionBench bench({}, ConfigOf(FloatIo()));
  Request* request = bench.requests.Floats({1, 2});
  bench.version().SetShapeKey(request->header);
  CHECK(request->header->shape_key.empty());
}

TEST(version_compares_the_dims_of_variable_inputs_without_the_batch) {
  ModelIo io = FloatIo();
  io.inputs.push_back({"z", DataType::kFp32, {-1, 2, -1}, false});
  VersionBench bench({}, ConfigOf(io));
  Request* request = bench.requests.Add(4);
  bench.requests.Input(request, 0, DataType::kFp32, {4, 1}, "");
  bench.requests.Input(request, 1, DataType::kFp32, {4, 2, 5}, "");
  bench.version().SetShapeKey(request->header);
  CHECK_EQ(request->header->shape_key, (std::vector<int64_t>{2, 5}));
}

TEST(version_compares_all_dims_where_there_is_no_batch_dimension) {
  VersionBench bench({}, ConfigOf(FloatIo(0)));
  Request* request = bench.requests.Floats({1, 2});
  bench.version().SetShapeKey(request->header);
  CHECK_EQ(request->header->shape_key, (std::vector<int64_t>{2, 1}));
}

TEST(version_compares_which_inputs_are_there_where_some_are_optional) {
  ModelIo io = FloatIo();
  io.inputs[0].dims = {-1, 1};
  io.inputs.push_back({"z", DataType::kFp32, {-1, 1}, true});
  VersionBench bench({}, ConfigOf(io));
  Request* one = bench.requests.Floats({1});
  Request* two = bench.requests.Floats({1});
  bench.requests.Input(two, 1, DataType::kFp32, {1, 1}, "");
  bench.version().SetShapeKey(one->header);
  bench.version().SetShapeKey(two->header);
  CHECK(one->header->shape_key != two->header->shape_key);
}

// --- Cancelling.

TEST(version_ends_a_waiting_request_at_once_when_it_is_cancelled) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo(), 1, Dynamic(8)));
  bench.Send({0});
  CHECK(runs->Started(1));
  bench.Send({1});
  Request* cancelled = bench.Send({2});
  bench.Send({3});
  bench.Cancel(cancelled);
  CHECK_EQ(bench.sink.answers().size(), 1u);
  CHECK(bench.sink.Of(2).status.code() == Code::kCancelled);
  CHECK(!bench.sink.Of(2).ran);
  runs->Open();
  CHECK(bench.sink.Wait(4));
  CHECK_EQ(runs->batches(), (Batches{{0}, {1, 3}}));
  const Statistics statistics = bench.version().statistics();
  CHECK_EQ(statistics.fail.count, 1u);
  CHECK_EQ(statistics.cancelled, 1u);
  CHECK_EQ(statistics.rejected, 0u);
}

TEST(version_drops_the_rows_of_a_running_request_when_it_is_cancelled) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo(), 1, Dynamic(8)));
  Request* request = bench.Send({0});
  CHECK(runs->Started(1));
  bench.Cancel(request);
  CHECK(bench.sink.answers().empty());
  runs->Open();
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
  CHECK_EQ(bench.sink.answers().size(), 1u);
  CHECK(bench.sink.Of(0).status.ok());
}

TEST(version_answers_once_when_cancellation_and_run_race) {
  VersionBench bench(ScriptOf(std::make_shared<Runs>()), ConfigOf(FloatIo(), 2, Dynamic(4)));
  for (uint32_t i = 0; i < 200; i++) {
    Request* request = bench.Send({static_cast<float>(i)});
    if (i % 2 == 0) bench.Cancel(request);
  }
  CHECK(bench.sink.Wait(200));
  for (uint32_t i = 0; i < 200; i++) {
    const Answer answer = bench.sink.Of(i);
    CHECK(answer.status.ok() || (i % 2 == 0 && answer.status.code() == Code::kCancelled));
  }
}

// --- Ending.

TEST(version_finishes_what_it_accepted_after_it_closed) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo(), 1, Dynamic(8)));
  bench.Send({0});
  CHECK(runs->Started(1));
  bench.Send({1});
  bench.version().Close();
  CHECK(!bench.version().drained());
  CHECK_EQ(bench.drained.load(), 0);
  runs->Open();
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
  // What a submission touches after it let go of the lock; ThreadSanitizer needs no bad luck to see
  // it.
  for (int i = 0; i < 100; i++) {
    VersionBench bench(ScriptOf(std::make_shared<Runs>()), ConfigOf(FloatIo()));
    std::thread caller([&] { bench.Send({1}); });
    CHECK(bench.sink.Wait(1));
    bench.version().Close();
    CHECK(Eventually([&] { return bench.version().drained(); }));
    bench.version().Destroy();
    caller.join();
  }
}

TEST(version_that_is_abandoned_answers_its_hanging_runs_and_stays_silent_when_they_return) {
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
    CHECK_EQ(bench.sink.answers().size(), 1u);
    CHECK(bench.sink.Of(0).status.code() == Code::kInternal);
    CHECK(bench.sink.Of(0).abandoned);
    runs->Open();
    CHECK(runs->Returned(1));
    CHECK_EQ(bench.sink.answers().size(), 1u);
  }
  CHECK_EQ(destroyed->load(), 0);
}

TEST(version_that_is_abandoned_tells_nothing_of_its_runtime) {
  VersionBench bench({}, ConfigOf(FloatIo()));
  bench.version().Close();
  bench.Abandon();
  CHECK(bench.version().Info().empty());
}

// --- Statistics.

TEST(version_counts_what_is_answered_while_its_run_goes_on) {
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

TEST(version_counts_every_answer_before_it_is_delivered) {
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
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo(), 1, Dynamic(8)));
  bench.Send({0});
  CHECK(runs->Started(1));
  bench.Send({1, 2});
  bench.Send({3});
  runs->Open();
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

}  // namespace tritonts::test
