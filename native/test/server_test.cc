// The life of a server: loading, publishing, retiring versions while ports look away, closing.
#include "server.h"

#include "port_client.h"
#include "server_fixture.h"

namespace tritonts::test {

namespace {

// Something that runs wait at, on any number of threads.
class Gate {
 public:
  void Pass() {
    entered_++;
    open_.Wait();
  }
  void Open() { open_.Set(); }
  bool Entered(int count) {
    return Eventually([&] { return entered_ >= count; });
  }
  int entered() const { return entered_; }

 private:
  std::atomic<int> entered_{0};
  Event open_;
};

Script LoadThrough(const std::shared_ptr<Gate>& gate) {
  Script script;
  script.load = [gate](const ModelSpec&) {
    gate->Pass();
    return Status::Ok();
  };
  return script;
}

// A callback's argument, or that it has not come.
template <typename T>
class Result {
 public:
  std::function<void(T)> Callback() {
    return [state = state_](T value) {
      {
        std::lock_guard lock(state->mutex);
        state->values.push_back(std::move(value));
      }
      state->came.Set();
    };
  }
  bool Wait() { return state_->came.Wait(); }
  bool came() { return state_->came.set(); }
  // The one value; fails the test where there are several.
  T Value() {
    CHECK(Wait());
    std::lock_guard lock(state_->mutex);
    CHECK_EQ(state_->values.size(), 1u);
    return state_->values.empty() ? T() : state_->values.front();
  }

 private:
  struct State {
    std::mutex mutex;  // guards values
    std::vector<T> values;
    Event came;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

using Names = std::vector<std::string>;

PortInput OneFloat() {
  return {0, {1, 1}, BytesOf<float>({1})};
}

}  // namespace

// --- Loading.

TEST(server_opens_starts_and_serves_a_version) {
  ServerBench bench;
  IdentityBackend identity;
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&identity, ConfigOf(FloatIo()));
  CHECK(uid > 0);
  CHECK(bench.server().Serves(uid));
  client.Write(uid, 1, {OneFloat()});
  CHECK(client.Take(1)[0].code == Code::kOk);
}

TEST(server_tells_why_a_model_did_not_load) {
  Script script;
  script.load = [](const ModelSpec& spec) { return Status::InvalidArg("bad " + spec.path); };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  auto opened = bench.Open(&backend, {"m", 1, "/file", {}});
  CHECK(opened.status().code() == Code::kInvalidArg);
  CHECK_EQ(opened.status().message(), "bad /file");
}

TEST(server_keeps_a_version_that_did_not_start_until_it_is_retired) {
  Script script;
  script.create = [](const InstanceSpec&) { return Status::Unavailable("no"); };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  const uint32_t uid = bench.Open(&backend).value();
  CHECK_EQ(bench.Start(uid, ConfigOf(FloatIo())).message(), "no");
  CHECK(bench.server().Serves(uid));
  Result<bool> retired;
  bench.server().Retire(uid, retired.Callback());
  CHECK_EQ(retired.Value(), false);
  CHECK(!bench.server().Serves(uid));
}

TEST(server_does_not_start_what_is_not_there) {
  ServerBench bench;
  CHECK(bench.Start(77, ConfigOf(FloatIo())).code() == Code::kCancelled);
}

TEST(server_loads_as_many_models_at_once_as_it_may) {
  auto gate = std::make_shared<Gate>();
  ScriptedBackend backend(LoadThrough(gate));
  ServerBench bench;  // two at once
  Result<OpenResult> opened[3];
  for (auto& result : opened) bench.server().Open(&backend, {"m", 1, "", {}}, result.Callback());
  CHECK(gate->Entered(2));
  CHECK_EQ(gate->entered(), 2);
  gate->Open();
  for (auto& result : opened) CHECK(result.Value().status.ok());
  CHECK_EQ(gate->entered(), 3);
}

TEST(server_cancels_loads_that_have_not_begun) {
  auto gate = std::make_shared<Gate>();
  ScriptedBackend backend(LoadThrough(gate));
  ServerBench bench;
  Result<OpenResult> opened[3];
  for (auto& result : opened) bench.server().Open(&backend, {"m", 1, "", {}}, result.Callback());
  CHECK(gate->Entered(2));
  Result<Status> started;
  bench.server().Start(1, ConfigOf(FloatIo()), started.Callback());
  bench.server().CancelLoads();
  CHECK(opened[2].Value().status.code() == Code::kCancelled);
  CHECK(started.Value().code() == Code::kCancelled);
  gate->Open();
  CHECK(opened[0].Value().status.ok());
  CHECK(opened[1].Value().status.ok());
}

// --- The table of models.

TEST(server_shows_what_is_published_by_revisions) {
  ServerBench bench;
  Server& server = bench.server();
  CHECK(!server.Read("m", 0).found);
  server.Publish("m", "one");
  Server::Snapshot snapshot = server.Read("m", 0);
  CHECK(snapshot.found && snapshot.changed);
  CHECK_EQ(snapshot.json, "one");
  const uint64_t revision = snapshot.revision;
  snapshot = server.Read("m", revision);
  CHECK(snapshot.found && !snapshot.changed);
  server.Publish("m", "two");
  snapshot = server.Read("m", revision);
  CHECK(snapshot.changed);
  CHECK_EQ(snapshot.json, "two");
  server.Publish("k", "three");
  CHECK_EQ(server.ModelNames(), (Names{"k", "m"}));
  server.Withdraw("m");
  CHECK(!server.Read("m", 0).found);
}

TEST(server_counts_epochs_for_every_port) {
  ServerBench bench;
  PortClient early(bench.shared());
  early.Take();
  const uint32_t epoch = early.HeaderWord(layout::kEpoch);
  bench.server().Publish("m", "{}");
  CHECK(!early.WaitForWake(std::chrono::nanoseconds(0)));  // nobody waits for it to look
  CHECK_EQ(early.HeaderWord(layout::kEpoch), epoch + 1);
  PortClient late(bench.shared());
  CHECK_EQ(late.HeaderWord(layout::kEpoch), epoch + 1);
  bench.server().Withdraw("m");
  bench.server().Withdraw("m");
  CHECK_EQ(early.HeaderWord(layout::kEpoch), epoch + 2);
  CHECK_EQ(late.HeaderWord(layout::kEpoch), epoch + 2);
}

// --- Retiring.

TEST(server_serves_a_retired_version_until_every_port_has_seen_it) {
  ServerBench bench;
  IdentityBackend identity;
  PortClient client(bench.shared());
  PortClient other(bench.shared());
  const uint32_t uid = bench.Serve(&identity, ConfigOf(FloatIo()));
  bench.server().Publish("m", "{}");
  Result<bool> retired;
  bench.server().Retire(uid, retired.Callback());
  // What a port submits before it has seen the change is served.
  client.Write(uid, 1, {OneFloat()});
  CHECK(client.Take(1)[0].code == Code::kOk);
  CHECK(!retired.came());
  CHECK(bench.server().Serves(uid));
  CHECK(client.port().acknowledged() != other.port().acknowledged());
  CHECK(other.WaitForWake(kPatience));
  other.Take();
  CHECK_EQ(other.port().acknowledged(), other.HeaderWord(layout::kEpoch));
  CHECK_EQ(retired.Value(), false);
  CHECK(!bench.server().Serves(uid));
}

TEST(server_does_not_wait_for_ports_that_left) {
  ServerBench bench;
  IdentityBackend identity;
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&identity, ConfigOf(FloatIo()));
  bench.server().Publish("m", "{}");
  Result<bool> retired;
  bench.server().Retire(uid, retired.Callback());
  client.Detach();
  CHECK_EQ(retired.Value(), false);
}

TEST(server_waits_for_a_port_that_does_not_answer_for_a_second_at_most) {
  ServerBench bench;
  IdentityBackend identity;
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&identity, ConfigOf(FloatIo()));
  bench.server().Publish("m", "{}");
  Result<bool> retired;
  const uint64_t begin = NowNs();
  bench.server().Retire(uid, retired.Callback());
  CHECK_EQ(retired.Value(), false);
  CHECK(NowNs() - begin >= 1'000'000'000);
}

TEST(server_retires_a_version_when_its_requests_have_ended) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  ServerBench bench;
  ScriptedBackend backend(ScriptOf(runs));
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&backend, ConfigOf(FloatIo()));
  for (int i = 0; i < 3; i++) client.Write(uid, 1, {OneFloat()});
  CHECK(client.Flush().ok());
  CHECK(runs->Started(1));
  client.Take();
  Result<bool> retired;
  bench.server().Retire(uid, retired.Callback());
  runs->Open();
  CHECK_EQ(retired.Value(), false);
  for (const PortAnswer& answer : client.Take(3)) CHECK(answer.code == Code::kOk);
}

TEST(server_answers_for_a_version_that_is_retired_twice_or_never_was) {
  ServerBench bench;
  IdentityBackend identity;
  const uint32_t uid = bench.Serve(&identity, ConfigOf(FloatIo()));
  Result<bool> results[3];
  bench.server().Retire(uid, results[0].Callback());
  bench.server().Retire(uid, results[1].Callback());
  bench.server().Retire(77, results[2].Callback());
  for (auto& result : results) CHECK_EQ(result.Value(), false);
}

TEST(server_does_not_retire_a_version_beneath_its_start) {
  auto gate = std::make_shared<Gate>();
  auto destroyed = std::make_shared<std::atomic<int>>(0);
  Script script;
  script.create = [gate](const InstanceSpec&) {
    gate->Pass();
    return Status::Ok();
  };
  script.destroyed = [destroyed] { ++*destroyed; };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  const uint32_t uid = bench.Open(&backend).value();
  Result<Status> started;
  bench.server().Start(uid, ConfigOf(FloatIo()), started.Callback());
  CHECK(gate->Entered(1));
  Result<bool> retired;
  Result<Names> closed;
  bench.server().Retire(uid, retired.Callback());
  bench.server().Close(0, closed.Callback());
  CHECK_EQ(destroyed->load(), 0);
  gate->Open();
  CHECK_EQ(retired.Value(), false);
  CHECK(closed.Value().empty());
  CHECK(started.came());
  CHECK_EQ(destroyed->load(), 1);
}

// --- Closing.

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
  for (const PortAnswer& answer : refused) CHECK(answer.code == Code::kUnavailable);
  CHECK(!closed.came());
  runs->Open();
  CHECK_EQ(closed.Value(), Names{});
  size_t served = 0;
  for (const PortAnswer& answer : client.Take()) served += answer.code == Code::kOk ? 1 : 0;
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
  for (const PortAnswer& answer : client.Take(3)) {
    if (answer.code == Code::kCancelled) cancelled++;
  }
  CHECK_EQ(cancelled, 2);
}

TEST(server_gives_up_a_run_that_does_not_return_with_all_the_memory_it_may_use) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  auto intact = std::make_shared<std::atomic<bool>>(false);
  auto returned = std::make_shared<Event>();
  Script script;
  script.execute = [=](uint32_t instance, Batch& batch) {
    // Notes the run, and hangs.
    const InputTensor* input = batch.requests()[0]->input(0);
    const auto* chunk = static_cast<const char*>(input->chunks[0].data);
    const size_t size = input->chunks[0].size;
    runs->Execute(instance, batch);
    *intact = std::all_of(chunk, chunk + size, [](char byte) { return byte == 1; }) &&
              batch.requests()[0]->input(0)->chunks.size() == 1;
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
      const auto answers = client.Take(1);
      CHECK(answers[0].code == Code::kInternal);
      CHECK(answers[0].message.find("did not return") != std::string::npos);
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
  auto gate = std::make_shared<Gate>();
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

TEST(server_that_exits_with_the_process_asks_runs_to_end_and_starts_no_more) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  Script script = ScriptOf(runs);
  script.terminate = [runs](uint32_t) { runs->Open(); };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&backend, ConfigOf(FloatIo()));
  for (int i = 0; i < 2; i++) client.Write(uid, 1, {OneFloat()});
  CHECK(client.Flush().ok());
  CHECK(runs->Started(1));
  Server::TerminateAll();
  CHECK(client.Take(1)[0].code == Code::kOk);
  CHECK_EQ(runs->runs().size(), 1u);
  bench.Close(0);
  CHECK(client.Take(1)[0].code == Code::kCancelled);
}

// --- Several environments.

TEST(server_keeps_the_requests_of_its_ports_apart) {
  ServerBench bench;
  IdentityBackend identity;
  const uint32_t uid = bench.Serve(&identity, ConfigOf(FloatIo(64), 1, {64, {}, 0}));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; thread++) {
    threads.emplace_back([&, thread] {
      PortClient client(bench.shared());
      for (int round = 0; round < 20; round++) {
        std::map<uint32_t, std::string> expected;
        for (int i = 0; i < 10; i++) {
          const auto value = static_cast<float>(thread * 1000 + round * 10 + i);
          const std::string bytes = BytesOf<float>({value});
          expected[client.Write(uid, 1, {{0, {1, 1}, bytes}})] = bytes;
        }
        for (const PortAnswer& answer : client.Take(10)) {
          CHECK(answer.code == Code::kOk);
          CHECK(answer.outputs[0].bytes == expected[answer.slot]);
          expected.erase(answer.slot);
        }
        CHECK(expected.empty());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tritonts::test
