// Inline runs: batches that run on the thread that submitted them.
#include <set>
#include <stdexcept>

#include "platform/thread.h"
#include "port_client.h"
#include "server_fixture.h"
#include "units.h"
#include "version_fixture.h"

namespace tritonts::test {

namespace {

// Longer than any run of these tests, even on a busy machine.
constexpr uint64_t kGenerousNs = 10'000 * kMs;

VersionConfig Inline(VersionConfig config, uint64_t budget_ns = kGenerousNs) {
  config.inline_budget_ns = budget_ns;
  return config;
}

VersionConfig Batching(uint32_t most, uint32_t instances = 1) {
  return Inline(ConfigOf(FloatIo(most), instances, {most, {}, 0}));
}

class InlineBench {
 public:
  explicit InlineBench(VersionConfig config)
      : runs(std::make_shared<Runs>()), version(ScriptOf(runs), std::move(config)) {}

  // Submits requests with these rows in one tick, and waits for their responses.
  void Ask(const std::vector<uint32_t>& rows) {
    std::vector<Request*> chosen;
    for (const uint32_t count : rows) {
      chosen.push_back(version.requests.Floats(std::vector<float>(count, 1)));
    }
    InlineTime inline_time;
    version.Submit(chosen, &inline_time);
    sent += rows.size();
    CHECK(version.sink.Wait(sent));
    CHECK(Eventually([&] { return version.version().drained(); }));
  }
  // By run: whether it was on this thread.
  std::vector<bool> here() {
    std::vector<bool> here;
    for (const Runs::Batch& run : runs->runs())
      here.push_back(run.thread == std::this_thread::get_id());
    return here;
  }

  const std::shared_ptr<Runs> runs;
  VersionBench version;
  size_t sent = 0;
};

}  // namespace

TEST(inline_runs_here_what_is_known_to_be_short) {
  InlineBench bench(Batching(8));
  bench.Ask({1});
  bench.Ask({1});
  bench.Ask({2});
  bench.Ask({2});
  bench.Ask({1, 1});
  CHECK((bench.here() == std::vector<bool>{false, true, false, true, true}));
}

TEST(inline_tells_long_ragged_batches_from_short_ones) {
  VersionConfig config = Batching(8);
  config.io.inputs[0].dims = {-1, -1};
  config.io.inputs[0].ragged = true;
  InlineBench bench(std::move(config));
  for (const int64_t length : {2, 2, 4000, 4000}) {
    Request* const request = bench.version.requests.Add(1);
    bench.version.requests.Input(request, 0, DataType::kFp32, {1, length},
                                 std::string(static_cast<size_t>(4 * length), 'x'));
    InlineTime inline_time;
    bench.version.Submit({request}, &inline_time);
    CHECK(bench.version.sink.Wait(++bench.sent));
    CHECK(Eventually([&] { return bench.version.version().drained(); }));
  }
  // What is not known yet runs on the instance's thread.
  CHECK(bench.here() == (std::vector<bool>{false, true, false, true}));
}

TEST(inline_responds_before_submit_returns) {
  InlineBench bench(Batching(8));
  bench.Ask({1});
  InlineTime inline_time;
  bench.version.Submit({bench.version.requests.Floats({7})}, &inline_time);
  CHECK_EQ(bench.version.sink.responses().size(), 2u);
  CHECK_EQ(bench.version.sink.Of(1).outputs.at(0).bytes, BytesOf<float>({7}));
  CHECK(inline_time.spent_ns > 0);
}

TEST(inline_is_off_without_an_inline_time_or_a_budget) {
  InlineBench off(Inline(ConfigOf(FloatIo()), 0));
  for (int i = 0; i < 3; i++) off.Ask({1});
  CHECK((off.here() == std::vector<bool>{false, false, false}));
  InlineBench bench(Batching(8));
  bench.Ask({1});
  bench.version.Send({1});
  CHECK(bench.version.sink.Wait(2));
  CHECK((bench.here() == std::vector<bool>{false, false}));
}

TEST(inline_leaves_an_instance_alone_whose_thread_is_in_execute_still) {
  std::atomic<bool> holds{false};
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  Event entered;
  Event go;
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    most = std::max(most.load(), ++inside);
    if (holds.exchange(false)) {
      run.InstanceFree();
      entered.Set();
      CHECK(go.Wait());
    }
    inside--;
    run.RespondAll(Status::Ok());
  };
  VersionBench bench(std::move(script), Batching(8));
  bench.Send({1});  // measured on the instance's thread
  CHECK(bench.sink.Wait(1));
  CHECK(Eventually([&] { return bench.version().drained(); }));
  holds = true;
  bench.Send({1});
  CHECK(entered.Wait());
  InlineTime inline_time;
  bench.Submit({bench.requests.Floats({1})}, &inline_time);
  CHECK_EQ(bench.sink.responses().size(), 1u);
  go.Set();
  CHECK(bench.sink.Wait(3));
  CHECK_EQ(most.load(), 1);
}

TEST(inline_leaves_what_is_slow_to_the_thread) {
  Script script;
  std::atomic<bool> here{false};
  script.execute = [&here, thread = std::this_thread::get_id()](uint32_t, Run& run) {
    if (std::this_thread::get_id() == thread) here = true;
    const uint64_t end = NowNs() + 3 * kMs;
    while (NowNs() < end) std::this_thread::yield();
    run.RespondAll(Status::Ok());
  };
  VersionBench bench(std::move(script), Inline(ConfigOf(FloatIo()), 2 * kMs));
  for (size_t i = 0; i < 4; i++) {
    InlineTime inline_time;
    bench.Submit({bench.requests.Floats({1})}, &inline_time);
    CHECK(bench.sink.Wait(i + 1));
  }
  CHECK(!here);
}

TEST(inline_does_not_learn_from_what_fails_early_how_long_others_take) {
  Script script;
  std::atomic<bool> here{false};
  script.execute = [&here, thread = std::this_thread::get_id()](uint32_t, Run& run) {
    float value = 0;
    std::memcpy(&value, run.requests()[0]->chunk(*run.requests()[0]->input(0)).data, sizeof(value));
    if (value < 0) return run.RespondAll(Status::Internal("out of range"));
    if (std::this_thread::get_id() == thread) here = true;
    const uint64_t end = NowNs() + 3 * kMs;
    while (NowNs() < end) std::this_thread::yield();
    run.RespondAll(Status::Ok());
  };
  VersionBench bench(std::move(script), Inline(ConfigOf(FloatIo()), 2 * kMs));
  size_t sent = 0;
  const auto send = [&](float value) {
    InlineTime inline_time;
    bench.Submit({bench.requests.Floats({value})}, &inline_time);
    CHECK(bench.sink.Wait(++sent));
    CHECK(Eventually([&] { return bench.version().statistics().execution_count == sent; }));
  };
  send(-1);
  send(1);
  // A class known to be slow stays so, however many runs fail.
  for (int i = 0; i < 40; i++) send(-1);
  send(1);
  CHECK(!here);
}

TEST(inline_leaves_models_whose_time_depends_on_data_to_their_threads) {
  std::atomic<bool> here{false};
  Script script;
  script.time_depends_on_data = true;
  script.execute = [&here, thread = std::this_thread::get_id()](uint32_t, Run& run) {
    if (std::this_thread::get_id() == thread) here = true;
    run.RespondAll(Status::Ok());
  };
  VersionBench bench(std::move(script), Batching(8));
  for (size_t i = 0; i < 4; i++) {
    InlineTime inline_time;
    bench.Submit({bench.requests.Floats({1})}, &inline_time);
    CHECK(bench.sink.Wait(i + 1));
    CHECK(Eventually([&] { return bench.version().drained(); }));
  }
  CHECK(!here);
}

// All requests have one shape. The first one that runs here is far too slow.
TEST(inline_ends_for_good_with_a_run_that_takes_far_too_long) {
  std::atomic<bool> slow{false};
  std::atomic<int> here{0};
  Script script;
  script.execute = [&, thread = std::this_thread::get_id()](uint32_t, Run& run) {
    if (std::this_thread::get_id() == thread) {
      here++;
      const uint64_t had = platform::ThreadTimeNs();
      while (slow && platform::ThreadTimeNs() - had < 30 * kMs) continue;
    }
    run.RespondAll(Status::Ok());
  };
  if (platform::ThreadTimeNs() == 0) SKIP("the time of a thread is not told here");
  VersionBench bench(std::move(script), Inline(ConfigOf(FloatIo()), kMs));
  size_t sent = 0;
  const auto ask = [&] {
    InlineTime inline_time;
    bench.Submit({bench.requests.Floats({1})}, &inline_time);
    CHECK(bench.sink.Wait(++sent));
    CHECK(Eventually([&] { return bench.version().drained(); }));
  };
  while (here == 0 && sent < 1000) ask();
  CHECK(here > 0);
  slow = true;
  const int before = here;
  while (here == before && sent < 2000) ask();
  CHECK_EQ(here.load(), before + 1);
  slow = false;
  for (int i = 0; i < 100; i++) ask();
  CHECK_EQ(here.load(), before + 1);
}

TEST(inline_leaves_gpu_instances_to_their_threads) {
  VersionConfig config = Batching(8);
  config.instances[0].memory = MemoryKind::kDevice;
  InlineBench bench(std::move(config));
  for (int i = 0; i < 3; i++) bench.Ask({1});
  CHECK((bench.here() == std::vector<bool>{false, false, false}));
}

TEST(inline_waits_for_nobody_who_runs) {
  InlineBench bench(Batching(1));
  bench.Ask({1});
  bench.runs->Shut();
  bench.version.Send({1});
  CHECK(bench.runs->Started(2));
  // The instance is busy, so this request must queue without blocking.
  InlineTime inline_time;
  bench.version.Submit({bench.version.requests.Floats({1})}, &inline_time);
  CHECK_EQ(bench.version.sink.responses().size(), 1u);
  bench.runs->Open();
  CHECK(bench.version.sink.Wait(3));
  CHECK((bench.here() == std::vector<bool>{false, false, false}));
}

TEST(inline_runs_a_whole_tick_batch_after_batch) {
  InlineBench bench(Batching(2));
  bench.Ask({2});
  bench.Ask({2, 2, 2});
  CHECK((bench.here() == std::vector<bool>{false, true, true, true}));
  CHECK((bench.runs->batches() == std::vector<std::vector<uint32_t>>{{0}, {1}, {2}, {3}}));
}

TEST(inline_gives_the_rest_of_a_tick_to_the_thread_where_it_does_not_fit) {
  InlineBench bench(Batching(2));
  bench.Ask({2});
  InlineTime inline_time;
  inline_time.spent_ns = kGenerousNs;
  bench.version.Submit({bench.version.requests.Floats({1, 2})}, &inline_time);
  CHECK(bench.version.sink.Wait(2));
  CHECK(Eventually([&] { return bench.version.version().drained(); }));
  CHECK((bench.here() == std::vector<bool>{false, false}));
  // A batch of a known size runs here, then one of a new size does not.
  bench.Ask({2, 1});
  CHECK((bench.here() == std::vector<bool>{false, false, true, false}));
}

TEST(inline_shares_a_tick_with_the_other_instances) {
  InlineBench bench(Batching(2, 2));
  bench.Ask({2});
  bench.Ask({2, 2});
  const std::vector<Runs::Batch> runs = bench.runs->runs();
  CHECK_EQ(runs.size(), 3u);
  std::set<bool> here;
  for (size_t i = 1; i < runs.size(); i++) {
    here.insert(runs[i].thread == std::this_thread::get_id());
  }
  CHECK((here == std::set<bool>{false, true}));
}

TEST(inline_counts_its_runs_as_any_other) {
  InlineBench bench(Batching(8));
  for (int i = 0; i < 5; i++) bench.Ask({2});
  const Statistics statistics = bench.version.version().statistics();
  CHECK_EQ(statistics.execution_count, 5u);
  CHECK_EQ(statistics.inference_count, 10u);
  CHECK_EQ(statistics.success.count, 5u);
}

TEST(inline_fails_a_backend_that_throws_and_goes_on) {
  Script script;
  script.execute = [](uint32_t, Run& run) {
    if (run.requests()[0]->header->batch_size == 2) throw std::runtime_error("thrown");
    run.RespondAll(Status::Ok());
  };
  VersionBench bench(std::move(script), Batching(2));
  for (size_t i = 0; i < 6; i++) {
    InlineTime inline_time;
    bench.Submit({bench.requests.Floats(std::vector<float>(1 + i % 2, 1))}, &inline_time);
    CHECK(bench.sink.Wait(i + 1));
    CHECK(bench.sink.Of(static_cast<uint32_t>(i)).status.ok() == (i % 2 == 0));
    CHECK(Eventually([&] { return bench.version().drained(); }));
  }
}

TEST(inline_responses_of_a_port_come_without_a_signal) {
  ServerBench server;
  IdentityBackend identity;
  const uint32_t uid = server.Serve(&identity, Batching(8));
  std::atomic<int> wakes{0};
  const auto port = server.server().Attach([&] { wakes++; });
  TakePages(*port);
  bool answered = false;
  const auto submit = [&](int32_t generation) {
    const std::vector<int32_t> words = {static_cast<int32_t>(uid), 0, generation, 1, 0, 0, 1};
    CHECK(port->Submit(words.data(), words.size(), nullptr, true, &answered).ok());
  };
  submit(1);
  CHECK(!answered);
  CHECK(Eventually([&] { return server.server().FindVersion(uid)->drained(); }));
  const int before = wakes;
  TakePages(*port);
  submit(2);
  CHECK(answered);
  CHECK_EQ(wakes.load(), before);
  const auto pages = TakePages(*port);
  CHECK_EQ(pages.size(), 1u);
  CHECK(port->Recycle(pages[0]));
  // These responses were not taken, and the next ones must not be lost, either.
  submit(3);
  CHECK(answered);
  CHECK_EQ(TakePages(*port).size(), 1u);
  port->Detach();
}

TEST(inline_pages_beyond_those_that_are_taken_are_signalled) {
  ServerBench server;
  IdentityBackend identity;
  const uint32_t uid = server.Serve(&identity, Batching(8));
  std::atomic<int> wakes{0};
  const auto port = server.server().Attach([&] { wakes++; });
  TakePages(*port);
  bool answered = false;
  const std::vector<int32_t> words = {static_cast<int32_t>(uid), 0, 1, 1, 0, 0, 1};
  CHECK(port->Submit(words.data(), words.size(), nullptr, true, &answered).ok());
  CHECK(Eventually([&] { return server.server().FindVersion(uid)->drained(); }));
  const int before = wakes;
  CHECK_EQ(TakePages(*port, 0).size(), 0u);
  CHECK_EQ(wakes.load(), before + 1);
  CHECK_EQ(TakePages(*port).size(), 1u);
  port->Detach();
}

}  // namespace tritonts::test
