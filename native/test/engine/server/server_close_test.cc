// How a server ends: with accepted requests, with hanging calls, and at process exit.
#include <chrono>
#include <thread>

#include "engine/server/server.h"
#include "server_scripts.h"

namespace tritonts::test {

TEST(server_is_found_by_its_id_until_it_is_let_go) {
  ServerBench bench;
  const uint32_t id = bench.server().id();
  CHECK(Server::Find(id) == bench.shared());
  CHECK(Server::Find(id + 1000) == nullptr);
  bench.Close(0);
  const std::weak_ptr<Server> server = bench.Release();
  CHECK(server.expired());
  CHECK(Server::Find(id) == nullptr);
}

TEST(server_that_closes_serves_what_it_accepted_and_refuses_the_rest) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  ServerBench bench;
  ScriptedBackend backend(ScriptOf(runs));
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&backend, ConfigOf(FloatIo()));
  for (int i = 0; i < 2; i++) client.Write(uid, 1, {OneFloat()});
  CHECK(client.Flush().ok());
  CHECK(runs->Started(1));
  Result<Names> closed;
  bench.server().Close(3'600'000, closed.Callback());
  CHECK_EQ(client.HeaderWord(layout::kClosed), 1u);
  client.Take();
  CHECK(Eventually([&] {
    client.Write(uid, 1, {OneFloat()});
    return client.Flush().ok() && client.WaitForWake(std::chrono::milliseconds(10));
  }));
  const auto refused = client.Take();
  CHECK(!refused.empty());
  for (const PortResponse& response : refused) CHECK(response.code == Code::kUnavailable);
  CHECK(!closed.came());
  runs->Open();
  CHECK_EQ(closed.Value(), Names{});
  size_t served = 0;
  for (const PortResponse& response : client.Take()) served += response.code == Code::kOk ? 1 : 0;
  CHECK(served >= 2);
}

TEST(server_that_closes_cancels_what_waits_when_the_time_is_over) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  ServerBench bench;
  Script script = ScriptOf(runs);
  script.terminate = [runs](uint32_t) { runs->Open(); };
  ScriptedBackend backend(std::move(script));
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&backend, ConfigOf(FloatIo()));
  for (int i = 0; i < 3; i++) client.Write(uid, 1, {OneFloat()});
  CHECK(client.Flush().ok());
  CHECK(runs->Started(1));
  CHECK_EQ(bench.Close(0), Names{});
  int cancelled = 0;
  for (const PortResponse& response : client.Take(3)) {
    if (response.code == Code::kCancelled) cancelled++;
  }
  CHECK_EQ(cancelled, 2);
}

TEST(server_abandons_a_run_that_does_not_return_with_all_the_memory_it_may_use) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  auto intact = std::make_shared<std::atomic<bool>>(false);
  auto returned = std::make_shared<Event>();
  Script script;
  script.execute = [=](uint32_t instance, Run& run) {
    // The run is recorded and hangs.
    const InputTensor* input = run.requests()[0]->input(0);
    const Buffer bytes = run.requests()[0]->chunk(*input);
    const auto* chunk = static_cast<const char*>(bytes.data);
    const size_t size = bytes.size;
    runs->Execute(instance, run);
    *intact = std::all_of(chunk, chunk + size, [](char byte) { return byte == 1; }) &&
              run.requests()[0]->chunks(*run.requests()[0]->input(0)) == 1;
    returned->Set();
  };
  for (const size_t size : {size_t{64}, size_t{100'000}}) {
    runs->Shut();
    ServerBench bench;
    ScriptedBackend backend(script);
    ModelIo io = FloatIo(0);
    io.inputs[0].dims = io.outputs[0].dims = {-1};
    std::weak_ptr<Port> port;
    const uint32_t uid = bench.Serve(&backend, ConfigOf(io));
    {
      PortClient client(bench.shared());
      client.Write(uid, 0, {{0, {static_cast<int32_t>(size / 4)}, std::string(size, 1)}});
      CHECK(client.Flush().ok());
      CHECK(runs->Started(size == 64 ? 1 : 2));
      CHECK_EQ(bench.Close(0), Names{"m"});
      const auto responses = client.Take(1);
      CHECK(responses[0].code == Code::kInternal);
      CHECK(responses[0].message.find("did not return") != std::string::npos);
      port = client.Release();
    }
    CHECK_EQ(bench.server().in_flight_bytes(), 0u);
    bench.Release();
    CHECK(!port.expired());
    runs->Open();
    CHECK(runs->Returned(size == 64 ? 1 : 2));
    CHECK(Eventually([&] { return intact->load(); }));
    *intact = false;
  }
}

TEST(server_abandons_a_model_whose_destructor_does_not_return) {
  auto gate = std::make_shared<RunsGate>();
  auto destroyed = std::make_shared<Event>();
  Script script;
  script.destroyed = [gate, destroyed] {
    gate->Pass();
    destroyed->Set();
  };
  // The backend outlives the server, like a process's backends.
  auto slow = std::make_shared<ScriptedBackend>(std::move(script));
  IdentityBackend identity;
  ServerBench bench;
  const uint32_t uid = [&] {
    auto opened = bench.Open(slow.get(), {"slow", 1, "", {}});
    CHECK(bench.Start(opened.value(), ConfigOf(FloatIo())).ok());
    return opened.value();
  }();
  bench.Serve(&identity, ConfigOf(FloatIo()));
  Result<bool> retired;
  bench.server().Retire(uid, retired.Callback());
  CHECK(gate->Entered(1));
  const uint64_t begin = NowNs();
  CHECK_EQ(bench.Close(50), Names{"slow"});
  const uint64_t ns = NowNs() - begin;
  CHECK(ns >= 2'050'000'000);
  CHECK_EQ(retired.Value(), true);
  CHECK_EQ(bench.Close(0), Names{"slow"});
  // The abandoned call keeps the server alive.
  const std::weak_ptr<Server> server = bench.Release();
  CHECK(!server.expired());
  CHECK(!destroyed->set());
  gate->Open();
  CHECK(destroyed->Wait());
  CHECK(Eventually([&] { return server.expired(); }));
}

// If the reaper was late to abort a version, it abandons the version's start before the version
// itself. Only one of the two may end the version.
TEST(server_ends_a_version_once_whose_start_returns_as_soon_as_it_is_abandoned) {
  auto gate = std::make_shared<RunsGate>();
  auto destroyed = std::make_shared<std::atomic<int>>(0);
  Script script;
  script.create = [gate](const InstanceSpec&) {
    gate->Pass();
    return Status::Ok();
  };
  script.destroyed = [destroyed] { (*destroyed)++; };
  auto slow = std::make_shared<ScriptedBackend>(std::move(script));
  IdentityBackend identity;
  ServerBench bench;
  const uint32_t other = bench.Serve(&identity, ConfigOf(FloatIo()));
  const uint32_t uid = bench.Open(slow.get(), {"slow", 1, "", {}}).value();
  Result<Status> started;
  // Called on the reaper's thread, before it looks at the version again. The loader has this much
  // time for the mistake.
  const auto on_start = [gate, destroyed, done = started.Callback()](Status status) {
    gate->Open();
    const uint64_t end = NowNs() + 100'000'000;
    while (NowNs() < end && destroyed->load() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    done(std::move(status));
  };
  bench.server().Start(uid, ConfigOf(FloatIo()), on_start);
  CHECK(gate->Entered(1));
  Event busy;
  Event closing;
  // So much later than the start, the version itself is abandoned, which then is not destroyed.
  // Even a busy machine must look at it before.
  bench.server().Retire(other, [&](bool) {
    busy.Set();
    closing.Wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  });
  CHECK(busy.Wait());
  Result<Names> closed;
  bench.server().Close(0, closed.Callback());
  closing.Set();
  CHECK_EQ(closed.Value(), Names{"slow"});
  CHECK(started.Value().code() == Code::kInternal);
  CHECK(Eventually([&] { return destroyed->load() == 1; }));
}

TEST(server_that_is_closed_again_in_a_hurry_lets_runs_have_their_time_to_end) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  auto asked = std::make_shared<Event>();
  Script script = ScriptOf(runs);
  script.terminate = [asked](uint32_t) { asked->Set(); };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&backend, ConfigOf(FloatIo()));
  client.Write(uid, 1, {OneFloat()});
  CHECK(client.Flush().ok());
  CHECK(runs->Started(1));
  Result<Names> first;
  Result<Names> second;
  bench.server().Close(0, first.Callback());
  CHECK(asked->Wait());
  bench.server().Close(0, second.Callback());
  CHECK(!bench.server().WaitClosed(50));
  runs->Open();
  CHECK_EQ(first.Value(), Names{});
  CHECK_EQ(second.Value(), Names{});
  CHECK(client.Take(1)[0].code == Code::kOk);
}

TEST(server_closes_with_a_limit_that_is_almost_beyond_time) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  ScriptedBackend backend(ScriptOf(runs));
  ServerBench bench;
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&backend, ConfigOf(FloatIo()));
  client.Write(uid, 1, {OneFloat()});
  CHECK(client.Flush().ok());
  CHECK(runs->Started(1));
  Result<Names> results[4];
  size_t i = 0;
  for (const uint64_t limit : {UINT64_MAX, UINT64_MAX / 1'000'000 / 2, UINT64_MAX / 1'000'000 / 4,
                               uint64_t{9'007'199'254'740'991}}) {
    bench.server().Close(limit, results[i++].Callback());
  }
  CHECK(!bench.server().WaitClosed(10));
  runs->Open();
  for (auto& result : results) CHECK_EQ(result.Value(), Names{});
}

TEST(server_that_is_closed_refuses_loads_and_closes_again_at_once) {
  ServerBench bench;
  IdentityBackend identity;
  bench.Close(0);
  CHECK(bench.server().WaitClosed(0));
  CHECK(bench.Open(&identity).status().code() == Code::kCancelled);
  CHECK(bench.Start(1, ConfigOf(FloatIo())).code() == Code::kCancelled);
  CHECK_EQ(bench.Close(0), Names{});
  PortClient client(bench.shared());
  CHECK_EQ(client.HeaderWord(layout::kClosed), 1u);
}

TEST(server_that_closes_cancels_waiting_loads_and_waits_for_running_ones) {
  auto gate = std::make_shared<RunsGate>();
  auto destroyed = std::make_shared<std::atomic<int>>(0);
  Script script = LoadThrough(gate);
  script.destroyed = [destroyed] { ++*destroyed; };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  Result<OpenResult> opened[4];
  for (auto& result : opened) bench.server().Open(&backend, {"m", 1, "", {}}, result.Callback());
  CHECK(gate->Entered(2));
  Result<Names> closed;
  bench.server().Close(0, closed.Callback());
  CHECK(!bench.server().WaitClosed(10));
  gate->Open();
  CHECK_EQ(closed.Value(), Names{});
  int loaded = 0;
  for (auto& result : opened) {
    CHECK(result.came());
    if (result.Value().status.ok()) loaded++;
  }
  CHECK_EQ(loaded, 2);
  CHECK_EQ(destroyed->load(), 2);
}

TEST(server_closes_although_its_waiting_loads_are_cancelled_meanwhile) {
  IdentityBackend identity;
  for (int round = 0; round < 30; round++) {
    ServerBench bench;
    Result<OpenResult> opened[3];
    Result<Names> closed;
    for (auto& result : opened) {
      bench.server().Open(&identity, {"m", 1, "", {}}, result.Callback());
    }
    bench.server().Close(0, closed.Callback());
    bench.server().CancelLoads();
    CHECK(closed.Wait());
    for (auto& result : opened) CHECK(result.came());
  }
}

TEST(server_that_exits_with_the_process_asks_runs_to_end_fails_what_waits_and_starts_no_more) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  Script script = ScriptOf(runs);
  script.terminate = [runs](uint32_t) { runs->Open(); };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&backend, ConfigOf(FloatIo()));
  const uint32_t running = client.Write(uid, 1, {OneFloat()});
  client.Write(uid, 1, {OneFloat()});
  CHECK(client.Flush().ok());
  CHECK(runs->Started(1));
  Server::TerminateAll();
  for (const PortResponse& response : client.Take(2)) {
    CHECK(response.code == (response.slot == running ? Code::kOk : Code::kUnavailable));
    if (response.slot != running) CHECK_EQ(response.message, "model 'm': the process is exiting");
  }
  client.Write(uid, 1, {OneFloat()});
  const auto late = client.Take(1);
  CHECK(late[0].code == Code::kUnavailable);
  CHECK_EQ(late[0].message, "model 'm': the process is exiting");
  CHECK_EQ(runs->runs().size(), 1u);
  CHECK_EQ(bench.Close(0), Names{});
}

}  // namespace tritonts::test
