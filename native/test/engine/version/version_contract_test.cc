// How a version keeps the contract with backends: instances that are free early, rescheduled
// requests, schedulers' decisions, and calls without the version's lock.
#include <future>

#include "engine/version/model_version.h"
#include "handed_runs.h"
#include "table_scheduler.h"

namespace tritonts::test {

// --- Blocking instances.

TEST(version_gives_a_blocking_instance_its_next_batch_when_it_says_so) {
  Event go;
  Script script;
  std::atomic<int> runs{0};
  std::atomic<bool> freed{false};
  script.execute = [&](uint32_t, Run& run) {
    if (runs++ == 0) {
      run.InstanceFree();
      freed = true;
      CHECK(go.Wait());
    }
    run.RespondAll(Status::Ok());
  };
  VersionBench bench(std::move(script), ConfigOf(FloatIo(), 1, {8, {}, 0}));
  bench.Send({1});
  CHECK(Eventually([&] { return freed.load(); }));
  // The instance takes this request at once, so the next one forms another batch.
  bench.Send({2});
  bench.Send({3});
  go.Set();
  CHECK(bench.sink.Wait(3));
  CHECK(Eventually([&] { return bench.version().statistics().execution_count == 3; }));
}

TEST(version_takes_responses_of_a_thread_that_outlasts_execute) {
  // A blocking instance leaves a request unanswered, which gets an error. The late response from
  // another thread is ignored.
  std::vector<std::thread> late;
  Event go;
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    late.emplace_back([&go, held = RunRef(run)] {
      CHECK(go.Wait());
      held->RespondAll(Status::Ok());
    });
  };
  VersionBench bench(std::move(script), ConfigOf(FloatIo()));
  bench.Send({1});
  CHECK(bench.sink.Wait(1));
  go.Set();
  for (std::thread& thread : late) thread.join();
  CHECK(bench.sink.Of(0).status.code() == Code::kInternal);
}

// --- Rescheduled requests.

TEST(version_runs_a_request_again_as_often_as_its_backend_asks_for_that) {
  Batches batches;
  Script script;
  script.asynchronous = true;
  script.execute = [&](uint32_t, Run& run) {
    std::vector<uint32_t> slots;
    for (const Request* request : run.requests()) slots.push_back(request->header->slot);
    batches.push_back(slots);
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      auto* left =
          static_cast<float*>(run.requests()[i]->chunk(run.requests()[i]->inputs()[0]).data);
      if (--*left > 0) {
        run.Reschedule(i);
      } else {
        run.Respond(i, Status::Ok());
      }
    }
    run.InstanceFree();
  };
  VersionBench bench(std::move(script), ConfigOf(FloatIo(), 1, {8, {}, 0}));
  bench.Submit(
      {bench.requests.Floats({3}), bench.requests.Floats({1}), bench.requests.Floats({2})});
  CHECK_EQ(batches, (Batches{{0, 1, 2}, {0, 2}, {0}}));
  for (uint32_t slot = 0; slot < 3; slot++) CHECK(bench.sink.Of(slot).status.ok());
  CHECK(bench.version().drained());
  const Statistics statistics = bench.version().statistics();
  CHECK_EQ(statistics.success.count, 3u);
  CHECK_EQ(statistics.execution_count, 3u);
}

TEST(version_ends_a_rescheduled_request_that_was_cancelled_or_comes_too_late) {
  Handed handed;
  VersionBench bench(handed.Of(true), ConfigOf(FloatIo()));
  Request* cancelled = bench.Send({1});
  bench.Send({2});
  bench.Cancel(cancelled);
  handed.run(0).Reschedule(0);
  CHECK(bench.sink.Of(0).status.code() == Code::kCancelled);
  bench.version().Close();
  bench.version().Abort(Status::Cancelled("closed"));
  handed.run(1).Reschedule(0);
  CHECK_EQ(bench.sink.Of(1).status.message(), "closed");
  CHECK(bench.version().drained());
}

// --- Schedulers.

TEST(version_ends_what_expires_while_its_instance_is_busy) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  VersionConfig config = ConfigOf(FloatIo());
  config.scheduler = [] {
    auto scheduler = std::make_unique<TableScheduler>();
    scheduler->lifetime_ns = 20'000'000;
    return scheduler;
  };
  VersionBench bench(ScriptOf(runs), std::move(config));
  bench.Send({1});
  CHECK(runs->Started(1));
  bench.Send({2});
  CHECK(bench.sink.Wait(1));
  CHECK(bench.sink.Of(1).status.code() == Code::kUnavailable);
  CHECK_EQ(bench.version().statistics().rejected, 1u);
  runs->Open();
}

TEST(version_refuses_single_requests_each_with_its_own_reason) {
  VersionConfig config = ConfigOf(FloatIo());
  config.scheduler = [] {
    auto scheduler = std::make_unique<TableScheduler>();
    scheduler->refused_rows = 2;
    return scheduler;
  };
  VersionBench bench(ScriptOf(std::make_shared<Runs>()), std::move(config));
  bench.Submit({bench.requests.Floats({1}), bench.requests.Floats({1, 2})});
  CHECK(bench.sink.Wait(2));
  CHECK(bench.sink.Of(0).status.ok());
  CHECK_EQ(bench.sink.Of(1).status.message(), "no room for 2 rows");
  CHECK(!bench.sink.Of(1).unserved);
}

TEST(version_asks_an_instance_again_when_another_one_took_what_was_in_its_way) {
  auto runs = std::make_shared<Runs>();
  constexpr uint64_t kHourNs = uint64_t{3600} * 1'000'000'000;
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo(), 2, {8, {2, 8}, kHourNs}));
  Request* bound = bench.requests.Floats({1});
  bound->bound = 1;
  // Three rows are not a preferred size for instance 0. When instance 1 has taken two, two are
  // left.
  runs->Shut();
  bench.Submit({bench.requests.Floats({1}), bound, bench.requests.Floats({1, 2})});
  // This happens before an instance is free again, which would ask the scheduler.
  CHECK(runs->Started(2));
  runs->Open();
  CHECK(bench.sink.Wait(3));
}

// --- Cancelling and refusing.

TEST(version_cancels_many_requests_together) {
  class Counting final : public ResponseSink {
   public:
    void Deliver(std::span<const Response> responses) override {
      calls++;
      for (const Response& response : responses) {
        response.request->set_state(Request::State::kIdle);
        count++;
      }
    }
    std::atomic<int> calls{0};
    std::atomic<int> count{0};
  };
  Counting sink;
  Requests requests(&sink);
  BusyVersion bench(ConfigOf(FloatIo()));
  std::vector<Request*> chosen;
  for (int i = 0; i < 50; i++) chosen.push_back(requests.Floats({1}));
  bench.Submit(chosen);
  bench.version().Cancel(chosen);
  CHECK_EQ(sink.calls.load(), 1);
  CHECK_EQ(sink.count.load(), 50);
  bench.runs->Open();
}

TEST(version_looks_for_a_batch_when_a_request_that_stood_between_is_cancelled) {
  auto runs = std::make_shared<Runs>();
  constexpr uint64_t kHourNs = uint64_t{3600} * 1'000'000'000;
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo(), 1, {8, {3, 8}, kHourNs}));
  bench.Send({1});
  Request* between = bench.Send({1});
  bench.Send({1, 2});
  CHECK_EQ(bench.sink.responses().size(), 0u);
  bench.Cancel(between);
  CHECK(bench.sink.Wait(3));
  CHECK_EQ(runs->batches(), (Batches{{0, 2}}));
}

TEST(version_that_closes_says_that_it_never_took_a_request) {
  VersionBench bench(ScriptOf(std::make_shared<Runs>()), ConfigOf(FloatIo()));
  bench.version().Close();
  bench.Send({1});
  CHECK(bench.sink.Of(0).unserved);
  CHECK(bench.sink.Of(0).status.code() == Code::kUnavailable);
}

TEST(version_that_was_aborted_ends_what_comes_later_as_what_waited) {
  VersionBench bench(ScriptOf(std::make_shared<Runs>()), ConfigOf(FloatIo()));
  bench.version().Close();
  bench.version().Abort(Status::Cancelled("closed"));
  bench.Send({1});
  CHECK(bench.sink.Of(0).unserved);
  CHECK_EQ(bench.sink.Of(0).status.message(), "closed");
  CHECK(bench.sink.Of(0).status.code() == Code::kCancelled);
}

TEST(version_that_is_closed_to_be_aborted_ends_what_comes_before_that_no_differently) {
  VersionBench bench(ScriptOf(std::make_shared<Runs>()), ConfigOf(FloatIo()));
  bench.version().Close(Status::Cancelled("cut off"));
  bench.Send({1});
  CHECK(bench.sink.Of(0).unserved);
  CHECK_EQ(bench.sink.Of(0).status.message(), "cut off");
  bench.version().Abort(Status::Cancelled("aborted"));
  bench.Send({1});
  CHECK_EQ(bench.sink.Of(1).status.message(), "aborted");
}

// --- Calls without the lock.

TEST(version_asks_its_backend_for_anything_without_its_own_lock) {
  ModelVersion* version = nullptr;
  std::atomic<int> asked{0};
  auto runs = std::make_shared<Runs>();
  Script script = ScriptOf(runs);
  const auto ask = [&] {
    if (!version) return;
    // This runs on another thread, because the lock is not recursive.
    std::async(std::launch::async, [&] { return version->statistics(); }).get();
    asked++;
  };
  script.terminate = [&](uint32_t) { ask(); };
  script.info = ask;
  VersionBench bench(std::move(script), ConfigOf(FloatIo(), 2));
  version = &bench.version();
  CHECK_EQ(version->Info().at("runtime"), "script");
  version->Terminate();
  CHECK_EQ(asked.load(), 3);
}

TEST(version_counts_while_a_sink_takes_its_time) {
  class Slow final : public ResponseSink {
   public:
    void Deliver(std::span<const Response> responses) override {
      entered.Set();
      CHECK(go.Wait());
      for (const Response& response : responses) {
        response.request->set_state(Request::State::kIdle);
      }
    }
    Event entered;
    Event go;
  };
  Slow sink;
  Requests requests(&sink);
  VersionBench bench(ScriptOf(std::make_shared<Runs>()), ConfigOf(FloatIo()));
  bench.Submit({requests.Floats({1})});
  CHECK(sink.entered.Wait());
  CHECK_EQ(bench.version().statistics().success.count, 1u);
  CHECK_EQ(bench.version().statistics().execution_count, 1u);
  sink.go.Set();
}

// --- Sizes.

TEST(version_knows_output_bytes_up_to_all_memory_and_no_further) {
  ModelIo io = FloatIo();
  io.outputs[0].dims = {-1, 3};
  io.outputs.push_back({"z", DataType::kFp64, {-1, -1}, false});
  VersionBench bench({}, ConfigOf(io));
  CHECK_EQ(bench.version().KnownOutputBytes(5), 60u);
  io.outputs.push_back({"w", DataType::kFp64, {-1, INT32_MAX, INT32_MAX, INT32_MAX}, false});
  VersionBench huge({}, ConfigOf(io));
  CHECK_EQ(huge.version().KnownOutputBytes(1), ModelVersion::kMostBytes);
  CHECK_EQ(huge.version().KnownOutputBytes(UINT32_MAX), ModelVersion::kMostBytes);
}

}  // namespace tritonts::test
