// A batch that fails as a whole runs again in halves.
#include <random>
#include <set>

#include "engine/version/model_version.h"
#include "version_fixture.h"

namespace tritonts::test {

namespace {

// Fails a batch with a negative value as a whole, and returns input 0 of any other. The first batch
// waits until the test opens the gate, so that the next requests form one batch.
struct Faulty {
  Batches batches;  // used only on the instance's thread
  std::atomic<int> runs{0};
  std::atomic<bool> terminated{false};
  Event go;
  std::function<void(Run&)> before = [](Run&) {};  // for each run except the first
  Status failure = Status::Internal("an injected failure");

  static float ValueOf(const Request& request) {
    float value = 0;
    std::memcpy(&value, request.chunk(*request.input(0)).data, sizeof(value));
    return value;
  }

  void Execute(Run& run) {
    if (runs++ == 0) {
      CHECK(go.Wait());
      return run.RespondAll(Status::Ok());
    }
    std::vector<uint32_t> slots;
    bool bad = false;
    for (const Request* request : run.requests()) {
      slots.push_back(request->header->slot);
      bad = bad || ValueOf(*request) < 0;
    }
    batches.push_back(slots);
    before(run);
    if (terminated) return run.RespondAll(Status::Cancelled("asked to end"));
    const size_t size = run.total_batch_size() * sizeof(float);
    const Dims one = {1};
    auto place = run.Output(Run::kAll, 0, DataType::kFp32, one);
    if (!place.ok()) return run.RespondAll(place.status());
    if (bad) return run.RespondAll(failure);
    CHECK_EQ(place.value().size, size);
    auto* to = static_cast<float*>(place.value().data);
    for (const Request* request : run.requests()) *to++ = ValueOf(*request);
    run.RespondAll(Status::Ok());
  }
  Script script(bool may_run_again = true) {
    Script script;
    script.execute = [this](uint32_t, Run& run) { Execute(run); };
    script.terminate = [this](uint32_t) { terminated = true; };
    script.may_run_again = may_run_again;
    return script;
  }
  using Dims = std::vector<int64_t>;
};

VersionConfig Halving(uint32_t most = 64) {
  VersionConfig config = ConfigOf(FloatIo(most), 1, Dynamic(most));
  config.rerun_in_halves = true;
  return config;
}

// A version whose instance is in its first run, of slot 0.
struct HalvesBench : Faulty {
  explicit HalvesBench(VersionConfig config = Halving(), bool may_run_again = true)
      : version(script(may_run_again), std::move(config)) {
    version.Send({0});
    CHECK(Eventually([this] { return runs == 1; }));
  }
  ~HalvesBench() { go.Set(); }
  // Sends the values, which form one batch when the gate opens.
  void Send(const std::vector<float>& values) {
    std::vector<Request*> all;
    for (const float value : values) all.push_back(version.requests.Floats({value}));
    requests = all;
    sent = values;
    version.Submit(all);
  }
  // Opens the gate, waits for all, and checks the result of each.
  Statistics Run() {
    go.Set();
    CHECK(version.sink.Wait(sent.size() + 1));
    CHECK(Eventually([this] { return version.version().drained(); }));
    for (uint32_t i = 0; i < sent.size(); i++) {
      const SeenResponse response = version.sink.Of(i + 1);
      if (sent[i] < 0) {
        CHECK_EQ(response.status.message(), failure.message());
      } else {
        CHECK(response.status.ok());
        CHECK_EQ(response.outputs.at(0).bytes, BytesOf<float>({sent[i]}));
      }
    }
    return version.version().statistics();
  }

  std::vector<Request*> requests;
  std::vector<float> sent;
  VersionBench version;
};

}  // namespace

TEST(halves_leave_a_bad_request_alone_with_its_error) {
  HalvesBench bench;
  bench.Send({1, 2, -1, 4});
  const Statistics statistics = bench.Run();
  CHECK_EQ(bench.batches, (Batches{{1, 2, 3, 4}, {1, 2}, {3, 4}, {3}, {4}}));
  CHECK_EQ(statistics.execution_count, 6u);
  CHECK_EQ(statistics.reruns, 4u);
  CHECK_EQ(statistics.success.count, 4u);
  CHECK_EQ(statistics.fail.count, 1u);
  CHECK_EQ(statistics.backend_failed, 1u);
  CHECK_EQ(statistics.inference_count, 4u);
  // The failed runs answered no request: the sizes are those of the others.
  CHECK_EQ(statistics.batches.at(1).compute_infer.count, 2u);
  CHECK_EQ(statistics.batches.at(2).compute_infer.count, 1u);
  CHECK_EQ(statistics.batches.count(4), 0u);
  // Each request has the timings of the run that answered it.
  CHECK_EQ(bench.version.sink.Of(1).timings.batch_size, 2u);
  CHECK_EQ(bench.version.sink.Of(4).timings.batch_size, 1u);
}

TEST(halves_take_at_most_two_runs_a_request_when_all_are_bad) {
  for (const size_t count : {2u, 3u, 7u, 32u, 33u}) {
    HalvesBench bench;
    bench.Send(std::vector<float>(count, -1));
    const Statistics statistics = bench.Run();
    CHECK_EQ(bench.batches.size(), 2 * count - 1);
    CHECK_EQ(statistics.reruns, 2 * count - 2);
    CHECK_EQ(statistics.fail.count, count);
  }
}

TEST(halves_are_not_made_of_one_request_nor_where_it_is_off_nor_of_a_model_with_effects) {
  {
    HalvesBench bench;
    bench.Send({-1});
    CHECK_EQ(bench.Run().reruns, 0u);
    CHECK_EQ(bench.batches.size(), 1u);
  }
  for (const bool switched : {false, true}) {
    VersionConfig config = Halving();
    config.rerun_in_halves = switched;
    HalvesBench bench(std::move(config), !switched);
    bench.Send({-1, -1, -1});
    CHECK_EQ(bench.Run().reruns, 0u);
    CHECK_EQ(bench.batches.size(), 1u);
  }
}

TEST(halves_are_not_made_for_want_of_memory_nor_where_something_was_said_before) {
  const auto ask = [](Status failure, std::function<void(Run&)> before) {
    HalvesBench bench;
    bench.failure = std::move(failure);
    bench.before = std::move(before);
    bench.Send({-1, -1});
    CHECK_EQ(bench.Run().reruns, 0u);
    CHECK_EQ(bench.batches.size(), 1u);
  };
  const auto nothing = [](Run&) {};
  ask(Status::Unavailable(Reason::kNoMemory, "no memory"), nothing);
  ask(Status::Cancelled("asked to end"), nothing);
  const Status failure = Status::Internal("an injected failure");
  ask(failure, [failure](Run& run) { run.Respond(1, failure); });
  ask(failure, [](Run& run) { run.Release(1); });
  ask(failure, [](Run& run) { run.InstanceFree(); });
}

TEST(halves_ignore_what_the_backend_says_after_the_error) {
  HalvesBench bench;
  bench.before = [](Run& run) {
    if (run.requests().size() < 2) return;
    run.RespondAll(Status::Internal("first"));
    run.Respond(0, Status::Ok());
    run.Release(Run::kAll);
    run.Reschedule(1);
  };
  bench.Send({1, 2, 3});
  bench.Run();
  CHECK_EQ(bench.batches, (Batches{{1, 2, 3}, {1, 2}, {1}, {2}, {3}}));
}

TEST(halves_leave_out_what_was_cancelled_meanwhile) {
  HalvesBench bench;
  bench.before = [&](Run& run) {
    if (run.requests().size() == 4) bench.version.Cancel(bench.requests[1]);
  };
  bench.Send({1, 2, -1, 4});
  bench.go.Set();
  CHECK(bench.version.sink.Wait(5));
  CHECK(bench.version.sink.Of(2).status.code() == Code::kCancelled);
  CHECK(bench.version.sink.Of(1).status.ok());
  CHECK(bench.version.sink.Of(4).status.ok());
  CHECK(Eventually([&] { return bench.version.version().drained(); }));
  CHECK_EQ(bench.batches, (Batches{{1, 2, 3, 4}, {1, 3}, {1}, {3}, {4}}));
  const Statistics statistics = bench.version.version().statistics();
  CHECK_EQ(statistics.cancelled, 1u);
  CHECK_EQ(statistics.success.count + statistics.fail.count, 5u);
}

TEST(halves_of_a_version_with_an_order_keep_it) {
  for (const std::vector<float>& values :
       {std::vector<float>{-1, 2, 3, 4, 5}, {1, 2, -1, 4}, {-1, -1, -1}, {1, 2, 3, 4, 5, 6, -1}}) {
    VersionConfig config = Halving();
    config.preserve_ordering = true;
    HalvesBench bench(std::move(config));
    bench.Send(values);
    bench.Run();
    const std::vector<SeenResponse> responses = bench.version.sink.responses();
    for (uint32_t i = 0; i < responses.size(); i++) CHECK_EQ(responses[i].slot, i);
  }
}

TEST(halves_are_asked_to_end_with_their_version) {
  HalvesBench bench;
  bench.before = [&](Run& run) {
    if (run.requests().size() == 2) bench.version.version().Terminate();
  };
  bench.Send({1, -1, 3, 4});
  bench.go.Set();
  CHECK(bench.version.sink.Wait(5));
  for (uint32_t slot = 1; slot <= 4; slot++) {
    CHECK(bench.version.sink.Of(slot).status.code() == Code::kCancelled);
  }
  CHECK_EQ(bench.batches.size(), 3u);
}

TEST(halves_that_wait_for_a_run_that_does_not_return_are_abandoned_with_it) {
  // The backend and its instance outlive the test.
  struct Stuck {
    Event began;
    Event go;
    std::atomic<int> runs{0};
  };
  const auto stuck = std::make_shared<Stuck>();
  Script script;
  script.may_run_again = true;
  script.execute = [stuck](uint32_t, Run& run) {
    if (stuck->runs++ == 0) return run.RespondAll(Status::Internal("an injected failure"));
    stuck->began.Set();
    stuck->go.Wait();
    run.RespondAll(Status::Ok());
  };
  auto bench = std::make_shared<VersionBench>(std::move(script), Halving());
  std::vector<Request*> all;
  for (const float value : {1.f, 2.f, 3.f, 4.f}) all.push_back(bench->requests.Floats({value}));
  bench->Submit(all);
  CHECK(stuck->began.Wait());
  bench->version().Close();
  bench->Abandon();
  CHECK(bench->sink.Wait(4));
  for (uint32_t slot = 0; slot < 4; slot++) {
    CHECK(bench->sink.Of(slot).status.code() == Code::kInternal);
    CHECK(bench->sink.Of(slot).abandoned);
  }
  tritonts::Abandon(bench);
  stuck->go.Set();
}

namespace {

// The number of failing batches that ran on the submitting thread.
int HalvesOnTheSubmittingThread() {
  VersionConfig config = Halving(8);
  config.inline_budget_ns = 1'000'000'000;
  Faulty faulty;
  faulty.go.Set();
  VersionBench bench(faulty.script(), std::move(config));
  std::atomic<int> failed_here{0};
  faulty.before = [&, thread = std::this_thread::get_id()](Run& run) {
    const bool bad = std::any_of(run.requests().begin(), run.requests().end(),
                                 [](const Request* one) { return Faulty::ValueOf(*one) < 0; });
    if (bad && std::this_thread::get_id() == thread && run.requests().size() > 1) failed_here++;
  };
  for (uint32_t round = 0; round < 40; round++) {
    InlineTime inline_time;
    std::vector<Request*> all;
    // Failed runs do not show their time, so half of the batches succeed.
    const float second = round % 2 == 0 ? 2.f : -1.f;
    for (const float value : {1.f, second, 3.f}) all.push_back(bench.requests.Floats({value}));
    bench.Submit(all, &inline_time);
    CHECK(bench.sink.Wait((round + 1) * 3));
    CHECK(Eventually([&] {
      const Statistics statistics = bench.version().statistics();
      return statistics.success.count + statistics.fail.count == (round + 1) * 3;
    }));
  }
  CHECK(Eventually([&] { return bench.version().drained(); }));
  const Statistics statistics = bench.version().statistics();
  CHECK_EQ(statistics.success.count + statistics.fail.count, 120u);
  CHECK_EQ(statistics.fail.count, 20u);
  return failed_here;
}

}  // namespace

TEST(halves_of_a_batch_on_the_submitting_thread_stay_in_its_budget_or_go_to_the_instance) {
  // On a busy machine a version may stop running inline.
  CHECK(Eventually([] { return HalvesOnTheSubmittingThread() > 0; }));
}

TEST(halves_answer_each_request_once_whatever_comes_between) {
  for (uint32_t seed = 0; seed < 60; seed++) {
    std::mt19937 dice(seed);
    VersionConfig config = Halving(1 + dice() % 16);
    config.preserve_ordering = seed % 2 == 1;
    config.instances.push_back({"m_1", 1, MemoryKind::kHost, 0});
    std::atomic<bool> terminated{false};
    Script script;
    script.may_run_again = true;
    script.terminate = [&](uint32_t) { terminated = true; };
    script.execute = [&](uint32_t, Run& run) {
      if (terminated) return run.RespondAll(Status::Cancelled("asked to end"));
      bool bad = false;
      float sum = 0;
      for (const Request* request : run.requests()) {
        const float value = Faulty::ValueOf(*request);
        bad = bad || value < 0;
        sum += value;
      }
      if (static_cast<int>(sum) % 5 == 1) run.InstanceFree();
      run.RespondAll(bad ? Status::Internal("an injected failure") : Status::Ok());
    };
    VersionBench bench(std::move(script), std::move(config));
    std::vector<Request*> all;
    std::vector<float> values;
    constexpr uint32_t kCount = 200;
    std::set<uint32_t> cancelled;
    while (all.size() < kCount) {
      std::vector<Request*> some;
      for (uint32_t i = dice() % 20; i > 0 && all.size() < kCount; i--) {
        values.push_back(dice() % 6 == 0 ? -1.f : static_cast<float>(all.size()));
        some.push_back(bench.requests.Floats({values.back()}));
        all.push_back(some.back());
      }
      if (!some.empty()) bench.Submit(some);
      if (!all.empty() && dice() % 3 == 0) {
        const uint32_t slot = dice() % all.size();
        cancelled.insert(slot);
        bench.Cancel(all[slot]);
      }
      if (dice() % 60 == 0) bench.version().Terminate();
      if (dice() % 4 == 0) std::this_thread::yield();
    }
    bench.version().Close();
    if (seed % 3 == 0 || terminated)
      bench.version().Abort(Status::Unavailable(Reason::kNotReady, "closed"));
    CHECK(bench.sink.Wait(kCount));
    CHECK(Eventually([&] { return bench.version().drained(); }));
    for (uint32_t slot = 0; slot < kCount; slot++) {
      const SeenResponse response = bench.sink.Of(slot);
      if (response.status.ok()) CHECK(values[slot] >= 0);
      if (response.status.code() == Code::kCancelled) CHECK(terminated || cancelled.contains(slot));
    }
    const Statistics statistics = bench.version().statistics();
    CHECK_EQ(statistics.success.count + statistics.fail.count + statistics.refused, kCount);
  }
}

}  // namespace tritonts::test
