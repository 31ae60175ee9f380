// Warm-up: on every instance's own thread, before the version serves; counted and bounded.
#include "engine/version/warmup.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>

#include "no_threads.h"
#include "server_scripts.h"
#include "version_fixture.h"

namespace tritonts::test {

namespace {

WarmupInput WarmupFloats(WarmupInput::Data data, std::vector<int64_t> shape = {1, 1}) {
  size_t count = 1;
  for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
  return {0, DataType::kFp32, std::move(shape), data, count * sizeof(float), nullptr};
}

WarmupSample Sample(std::string name, uint32_t batch_size = 1, uint32_t count = 1) {
  return {std::move(name), batch_size, count, {WarmupFloats(WarmupInput::Data::kZero)}};
}

VersionConfig Warmed(VersionConfig config, std::vector<WarmupSample> samples) {
  config.warmup = std::move(samples);
  return config;
}

// The facts about a warm-up's runs, recorded by Script::execute.
struct SeenWarmups {
  struct One {
    uint32_t instance;
    std::thread::id thread;
    size_t requests;
    std::string bytes;  // of input 0 of the first request
  };
  void Note(uint32_t instance, Run& run) {
    const Request& first = *run.requests()[0];
    const InputTensor* input = first.input(0);
    std::string bytes;
    if (input) {
      const Buffer chunk = first.chunk(*input);
      bytes.assign(static_cast<const char*>(chunk.data), chunk.size);
    }
    std::lock_guard lock(mutex);
    all.push_back({instance, std::this_thread::get_id(), run.requests().size(), bytes});
  }
  std::mutex mutex;  // guards all
  std::vector<One> all;
};

Script Noting(SeenWarmups* seen) {
  Script script;
  script.execute = [seen](uint32_t instance, Run& run) {
    seen->Note(instance, run);
    run.RespondAll(Status::Ok());
  };
  return script;
}

}  // namespace

TEST(warmup_runs_each_sample_as_often_as_it_says_on_each_instances_own_thread) {
  SeenWarmups seen;
  VersionBench bench(Noting(&seen));
  CHECK(bench.version()
            .Start(Warmed(ConfigOf(FloatIo(), 2), {Sample("a", 3, 2), Sample("b", 1, 1)}))
            .ok());
  CHECK_EQ(seen.all.size(), 6u);
  std::map<uint32_t, std::set<std::thread::id>> threads;
  std::map<uint32_t, std::vector<size_t>> sizes;
  for (const SeenWarmups::One& one : seen.all) {
    threads[one.instance].insert(one.thread);
    sizes[one.instance].push_back(one.requests);
  }
  for (const uint32_t instance : {0u, 1u}) {
    CHECK_EQ(threads[instance].size(), 1u);
    CHECK(!threads[instance].contains(std::this_thread::get_id()));
    CHECK((sizes[instance] == std::vector<size_t>{3, 3, 1}));
  }
  CHECK(threads[0] != threads[1]);
  // The warmed thread serves.
  bench.Send({1});
  CHECK(bench.sink.Wait(1));
  CHECK(threads[seen.all.back().instance].contains(seen.all.back().thread));
}

TEST(warmup_is_over_before_the_version_is_started) {
  std::atomic<const ModelVersion*> version{nullptr};
  std::atomic<bool> early{false};
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    if (version.load()->started()) early = true;
    run.RespondAll(Status::Ok());
  };
  VersionBench bench(std::move(script));
  version = &bench.version();
  CHECK(!bench.version().started());
  CHECK(bench.version().Start(Warmed(ConfigOf(FloatIo()), {Sample("a")})).ok());
  CHECK(bench.version().started());
  CHECK(!bench.version().warming());
  CHECK(!early);
}

TEST(warmup_counts_as_requests_do) {
  SeenWarmups seen;
  VersionBench bench(Noting(&seen),
                     Warmed(ConfigOf(FloatIo()), {Sample("a", 4, 2), Sample("none", 0, 5)}));
  const Statistics statistics = bench.version().statistics();
  CHECK_EQ(statistics.success.count, 8u);
  CHECK_EQ(statistics.inference_count, 8u);
  CHECK_EQ(statistics.execution_count, 2u);
  CHECK_EQ(statistics.queue.count, 8u);
  CHECK_EQ(statistics.fail.count, 0u);
  CHECK_EQ(statistics.batches.at(4).compute_infer.count, 2u);
  CHECK(statistics.last_inference_ms > 0);
}

TEST(warmup_data_is_zero_random_or_what_was_given) {
  SeenWarmups seen;
  const std::string given = BytesOf<float>({1.5f, -2});
  WarmupSample zero{"zero", 1, 1, {WarmupFloats(WarmupInput::Data::kZero, {1, 2})}};
  WarmupSample random{"random", 2, 1, {WarmupFloats(WarmupInput::Data::kRandom, {1, 2})}};
  WarmupSample file{"file", 1, 1, {WarmupFloats(WarmupInput::Data::kGiven, {1, 2})}};
  file.inputs[0].given = std::make_shared<const std::string>(given);
  WarmupSample flags{
      "flags", 1, 1, {{0, DataType::kBool, {1, 64}, WarmupInput::Data::kRandom, 64, nullptr}}};
  WarmupSample strings{
      "strings", 1, 1, {{0, DataType::kBytes, {1, 3}, WarmupInput::Data::kRandom, 12, nullptr}}};
  VersionBench bench(Noting(&seen),
                     Warmed(ConfigOf(FloatIo()), {zero, random, random, file, flags, strings}));
  CHECK_EQ(seen.all.size(), 6u);
  CHECK_EQ(seen.all[0].bytes, std::string(8, '\0'));
  CHECK(seen.all[1].bytes != std::string(8, '\0'));
  // The same at every load.
  CHECK_EQ(seen.all[1].bytes, seen.all[2].bytes);
  CHECK_EQ(seen.all[3].bytes, given);
  std::set<char> values(seen.all[4].bytes.begin(), seen.all[4].bytes.end());
  CHECK((values == std::set<char>{0, 1}));
  CHECK_EQ(seen.all[5].bytes, std::string(12, '\0'));
}

TEST(warmup_that_fails_fails_the_start_and_names_the_sample) {
  Script script;
  std::atomic<int> runs{0};
  script.execute = [&](uint32_t, Run& run) {
    runs++;
    run.Respond(0, Status::Ok());
    if (run.requests().size() > 1) run.Respond(1, Status::Internal("model 'm': no such token"));
  };
  VersionBench bench(std::move(script));
  const Status status =
      bench.version().Start(Warmed(ConfigOf(FloatIo()), {Sample("one"), Sample("two", 2, 9)}));
  CHECK(status.code() == Code::kInternal);
  CHECK_EQ(status.message(), "failed to run warmup sample 'two': no such token");
  CHECK(!bench.version().started());
  CHECK_EQ(runs.load(), 2);
  CHECK_EQ(bench.version().statistics().fail.count, 1u);
}

TEST(warmup_fails_where_the_backend_throws_or_leaves_requests) {
  for (const bool throws : {true, false}) {
    Script script;
    script.execute = [throws](uint32_t, Run&) {
      if (throws) throw std::runtime_error("boom");
    };
    VersionBench bench(std::move(script));
    const Status status = bench.version().Start(Warmed(ConfigOf(FloatIo()), {Sample("s")}));
    CHECK(status.code() == Code::kInternal);
    CHECK(status.message().starts_with("failed to run warmup sample 's': "));
  }
}

TEST(warmup_of_an_asynchronous_instance_is_handed_over) {
  std::mutex mutex;
  std::vector<std::thread> threads;
  std::atomic<int> runs{0};
  Script script;
  script.asynchronous = true;
  script.execute = [&](uint32_t, Run& run) {
    runs++;
    std::lock_guard lock(mutex);
    // Free before the responses, so that both must be waited for.
    threads.emplace_back([held = RunRef(run)] {
      held->InstanceFree();
      held->RespondAll(Status::Ok());
    });
  };
  {
    VersionBench bench(std::move(script), Warmed(ConfigOf(FloatIo(), 2), {Sample("a", 2, 3)}));
    CHECK_EQ(runs.load(), 6);
    CHECK_EQ(bench.version().statistics().success.count, 12u);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(warmup_measures_what_may_run_inline) {
  auto runs = std::make_shared<Runs>();
  VersionConfig config = ConfigOf(FloatIo(), 1, {8, {}, 0});
  config.inline_budget_ns = 10'000'000'000;
  VersionBench bench(ScriptOf(runs), Warmed(std::move(config), {Sample("a")}));
  const auto ask = [&](std::vector<float> values) {
    InlineTime inline_time;
    bench.Submit({bench.requests.Floats(values)}, &inline_time);
    CHECK(Eventually([&] { return bench.version().drained(); }));
    return runs->runs().back().thread == std::this_thread::get_id();
  };
  CHECK(ask({1}));
  // This size was not warmed up.
  CHECK(!ask({1, 2}));
  CHECK(ask({1, 2}));
}

TEST(warmup_that_began_slowly_is_measured_by_its_last_run) {
  RunTimes times(50'000);
  times.Note(1, 90'000);
  times.NoteWarm(1, 10'000);
  CHECK(times.Fits(1, 40'000));
  times.NoteWarm(1, 90'000);
  CHECK(!times.Fits(1, 0));
}

TEST(warmup_ends_between_two_runs_when_it_is_cancelled_or_closed) {
  for (const bool closes : {true, false}) {
    std::atomic<int> runs{0};
    std::atomic<ModelVersion*> version{nullptr};
    Script script;
    script.execute = [&](uint32_t, Run& run) {
      if (++runs == 3 && closes) version.load()->Close();
      run.RespondAll(Status::Ok());
    };
    VersionBench bench(std::move(script));
    version = &bench.version();
    const Status status =
        bench.version().Start(Warmed(ConfigOf(FloatIo()), {Sample("long", 1, 1'000'000'000)}), 0,
                              [&] { return !closes && runs >= 3; });
    CHECK(status.code() == Code::kCancelled);
    CHECK_EQ(status.message(), "model 'm': loading was cancelled");
    CHECK_EQ(runs.load(), 3);
  }
}

TEST(warmup_without_a_thread_fails_as_unavailable) {
  if (kWatched) return;
  SeenWarmups seen;
  VersionBench bench(Noting(&seen));
  Status status;
  {
    const NoThreads none;
    status = bench.version().Start(Warmed(ConfigOf(FloatIo()), {Sample("a", 2)}));
  }
  CHECK(status.code() == Code::kUnavailable);
  CHECK(status.message().starts_with("failed to run warmup sample 'a': "));
  CHECK(seen.all.empty());
  CHECK(bench.version().drained());
}

TEST(warmup_may_not_be_queued_a_second_time) {
  Script script;
  script.execute = [](uint32_t, Run& run) { run.Reschedule(0); };
  VersionBench bench(std::move(script));
  const Status status = bench.version().Start(Warmed(ConfigOf(FloatIo()), {Sample("a")}));
  CHECK(status.code() == Code::kUnsupported);
}

// --- In a server.

TEST(warmup_is_on_a_loader_even_where_the_model_starts_at_once) {
  SeenWarmups seen;
  Script script = Noting(&seen);
  script.starts_at_once = true;
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  auto opened = bench.Open(&backend);
  CHECK(opened.ok());
  VersionConfig warmed = Warmed(ConfigOf(FloatIo()), {Sample("a")});
  CHECK(!bench.server().StartAtOnce(opened.value(), &warmed));
  CHECK_EQ(warmed.warmup.size(), 1u);
  CHECK(bench.Start(opened.value(), std::move(warmed)).ok());
  CHECK_EQ(seen.all.size(), 1u);
}

TEST(warmup_is_ended_by_cancelling_loads) {
  auto gate = std::make_shared<RunsGate>();
  Script script;
  script.execute = [gate](uint32_t, Run& run) {
    gate->Pass();
    run.RespondAll(Status::Ok());
  };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  auto opened = bench.Open(&backend);
  CHECK(opened.ok());
  Result<Status> started;
  bench.server().Start(opened.value(), Warmed(ConfigOf(FloatIo()), {Sample("a", 1, 1'000'000'000)}),
                       started.Callback());
  CHECK(gate->Entered(1));
  bench.server().CancelLoads();
  gate->Open();
  CHECK(started.Value().code() == Code::kCancelled);
}

TEST(warmup_that_ends_when_it_is_asked_to_does_not_hold_up_close) {
  auto gate = std::make_shared<RunsGate>();
  Script script;
  script.execute = [gate](uint32_t, Run& run) {
    gate->Pass();
    run.RespondAll(Status::Cancelled("it was asked to end"));
  };
  script.terminate = [gate](uint32_t) { gate->Open(); };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  auto opened = bench.Open(&backend);
  CHECK(opened.ok());
  Result<Status> started;
  bench.server().Start(opened.value(), Warmed(ConfigOf(FloatIo()), {Sample("a", 1, 5)}),
                       started.Callback());
  CHECK(gate->Entered(1));
  CHECK(bench.Close(0).empty());
  CHECK(started.Value().code() == Code::kCancelled);
  CHECK_EQ(gate->entered(), 1);
}

TEST(warmup_that_does_not_return_is_abandoned_with_its_version) {
  auto gate = std::make_shared<RunsGate>();
  auto returned = std::make_shared<Event>();
  {
    Script script;
    script.execute = [gate, returned](uint32_t, Run& run) {
      gate->Pass();
      run.RespondAll(Status::Ok());
      returned->Set();
    };
    // An abandoned version keeps the backend's objects.
    auto* const backend = new ScriptedBackend(std::move(script));
    static std::vector<ScriptedBackend*> kept;
    kept.push_back(backend);
    ServerBench bench;
    auto opened = bench.Open(backend);
    CHECK(opened.ok());
    Result<Status> started;
    bench.server().Start(opened.value(), Warmed(ConfigOf(FloatIo()), {Sample("a", 2, 5)}),
                         started.Callback());
    CHECK(gate->Entered(1));
    CHECK((bench.Close(0) == Names{"m"}));
    CHECK(started.Value().code() == Code::kInternal);
  }
  // The returning run must find all its objects alive.
  gate->Open();
  CHECK(returned->Wait());
  CHECK_EQ(gate->entered(), 1);
}

TEST(warmup_refuses_data_of_another_size) {
  for (const size_t size : {7, 9}) {
    VersionBench bench{Script()};
    WarmupSample file{"file", 1, 1, {WarmupFloats(WarmupInput::Data::kGiven, {1, 2})}};
    file.inputs[0].given = std::make_shared<const std::string>(size, 'x');
    const Status status = bench.version().Start(Warmed(ConfigOf(FloatIo(), 1), {std::move(file)}));
    CHECK(status.code() == Code::kInvalidArg);
    CHECK_EQ(status.message(),
             "failed to run warmup sample 'file': input 'x': expected 8 bytes but "
             "its data has " +
                 std::to_string(size));
  }
}

}  // namespace tritonts::test
