// The life of a server: publishing models, and retiring versions while ports are idle.
#include "engine/server/server.h"

#include <thread>

#include "no_threads.h"
#include "server_scripts.h"

namespace tritonts::test {

// --- Published models.

TEST(server_shows_what_is_published_by_revisions) {
  ServerBench bench;
  Server& server = bench.server();
  CHECK(!server.Read({"", "m"}, 0).found);
  server.Publish({"", "m"}, "one");
  Server::Snapshot snapshot = server.Read({"", "m"}, 0);
  CHECK(snapshot.found && snapshot.changed);
  CHECK_EQ(snapshot.json, "one");
  const uint64_t revision = snapshot.revision;
  snapshot = server.Read({"", "m"}, revision);
  CHECK(snapshot.found && !snapshot.changed);
  server.Publish({"", "m"}, "two");
  snapshot = server.Read({"", "m"}, revision);
  CHECK(snapshot.changed);
  CHECK_EQ(snapshot.json, "two");
  server.Publish({"", "k"}, "three");
  CHECK(server.ModelKeys() == (Keys{{"", "k"}, {"", "m"}}));
  server.Withdraw({"", "m"});
  CHECK(!server.Read({"", "m"}, 0).found);
}

TEST(server_counts_epochs_for_every_port) {
  ServerBench bench;
  PortClient early(bench.shared());
  early.Take();
  const uint32_t epoch = early.HeaderWord(layout::kEpoch);
  bench.server().Publish({"", "m"}, "{}");
  CHECK(!early.WaitForWake(std::chrono::nanoseconds(0)));  // no wake-up for the epoch was requested
  CHECK_EQ(early.HeaderWord(layout::kEpoch), epoch + 1);
  PortClient late(bench.shared());
  CHECK_EQ(late.HeaderWord(layout::kEpoch), epoch + 1);
  bench.server().Withdraw({"", "m"});
  bench.server().Withdraw({"", "m"});
  CHECK_EQ(early.HeaderWord(layout::kEpoch), epoch + 2);
  CHECK_EQ(late.HeaderWord(layout::kEpoch), epoch + 2);
}

TEST(server_holds_no_lock_while_it_wakes_ports) {
  ServerBench bench;
  IdentityBackend identity;
  std::atomic<int> woken{0};
  const uint32_t uid = bench.Serve(&identity, ConfigOf(FloatIo()));
  const auto port = bench.server().Attach([&] {
    // If a lock were held, one of these would deadlock.
    Server& server = bench.server();
    server.ModelKeys();
    server.Serves(uid);
    server.WakeReaper();
    CHECK(server.Attach([] {}) != nullptr);
    woken++;
  });
  bench.server().Publish({"", "m"}, "{}");
  Result<bool> retired;
  bench.server().Retire(uid, retired.Callback());
  CHECK(Eventually([&] { return woken > 0; }));
  port->Detach();
  CHECK_EQ(retired.Value(), false);
}

TEST(server_is_not_made_where_the_system_has_no_thread_for_it) {
  if (kWatched) SKIP("a sanitizer needs memory at any time");
  NoThreads none;
  CHECK(Server::Create({}) == nullptr);
}

// --- Retiring.

TEST(server_serves_a_retired_version_until_every_port_has_seen_it) {
  ServerBench bench;
  IdentityBackend identity;
  PortClient client(bench.shared());
  PortClient other(bench.shared());
  const uint32_t uid = bench.Serve(&identity, ConfigOf(FloatIo()));
  bench.server().Publish({"", "m"}, "{}");
  Result<bool> retired;
  bench.server().Retire(uid, retired.Callback());
  // A request that a port submits before it has seen the change is served.
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
  bench.server().Publish({"", "m"}, "{}");
  Result<bool> retired;
  bench.server().Retire(uid, retired.Callback());
  client.Detach();
  CHECK_EQ(retired.Value(), false);
}

TEST(server_waits_for_a_port_that_does_not_respond_for_a_second_at_most) {
  ServerBench bench;
  IdentityBackend identity;
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&identity, ConfigOf(FloatIo()));
  bench.server().Publish({"", "m"}, "{}");
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
  for (const PortResponse& response : client.Take(3)) CHECK(response.code == Code::kOk);
}

TEST(server_responds_for_a_version_that_is_retired_twice_or_never_was) {
  ServerBench bench;
  IdentityBackend identity;
  const uint32_t uid = bench.Serve(&identity, ConfigOf(FloatIo()));
  Result<bool> results[3];
  bench.server().Retire(uid, results[0].Callback());
  bench.server().Retire(uid, results[1].Callback());
  bench.server().Retire(77, results[2].Callback());
  for (auto& result : results) CHECK_EQ(result.Value(), false);
}

TEST(server_retires_others_while_a_model_is_slow_to_destroy) {
  auto gate = std::make_shared<RunsGate>();
  Script script;
  script.destroyed = [gate] { gate->Pass(); };
  ScriptedBackend slow(std::move(script));
  IdentityBackend identity;
  ServerBench bench;
  const uint32_t first = bench.Serve(&slow, ConfigOf(FloatIo()));
  const uint32_t second = bench.Serve(&slow, ConfigOf(FloatIo()));
  const uint32_t other = bench.Serve(&identity, ConfigOf(FloatIo()));
  Result<bool> results[3];
  bench.server().Retire(first, results[0].Callback());
  bench.server().Retire(second, results[1].Callback());
  CHECK(gate->Entered(2));
  bench.server().Retire(other, results[2].Callback());
  CHECK_EQ(results[2].Value(), false);
  CHECK(!results[0].came());
  CHECK(bench.server().Serves(first));
  gate->Open();
  CHECK_EQ(results[0].Value(), false);
  CHECK_EQ(results[1].Value(), false);
  CHECK(!bench.server().Serves(first));
}

static void RetiresBeneathAStart(bool at_once) {
  auto gate = std::make_shared<RunsGate>();
  auto destroyed = std::make_shared<std::atomic<int>>(0);
  Script script;
  script.create = [gate](const InstanceSpec&) {
    gate->Pass();
    return Status::Ok();
  };
  script.destroyed = [destroyed] { ++*destroyed; };
  script.starts_at_once = at_once;
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  const uint32_t uid = bench.Open(&backend).value();
  Result<Status> started;
  std::thread starter;
  if (at_once) {
    starter = std::thread([&bench, uid, tell = started.Callback()] {
      VersionConfig config = ConfigOf(FloatIo());
      tell(bench.server().StartAtOnce(uid, &config).value());
    });
  } else {
    bench.server().Start(uid, ConfigOf(FloatIo()), started.Callback());
  }
  CHECK(gate->Entered(1));
  Result<bool> retired;
  Result<Names> closed;
  bench.server().Retire(uid, retired.Callback());
  bench.server().Close(0, closed.Callback());
  CHECK_EQ(destroyed->load(), 0);
  gate->Open();
  CHECK_EQ(retired.Value(), false);
  CHECK(closed.Value().empty());
  if (at_once) starter.join();
  CHECK(started.came());
  CHECK_EQ(destroyed->load(), 1);
}

TEST(server_does_not_retire_a_version_beneath_its_start) {
  RetiresBeneathAStart(false);
}

TEST(server_does_not_retire_a_version_beneath_its_start_at_once) {
  RetiresBeneathAStart(true);
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
        for (const PortResponse& response : client.Take(10)) {
          CHECK(response.code == Code::kOk);
          CHECK(response.outputs[0].bytes == expected[response.slot]);
          expected.erase(response.slot);
        }
        CHECK(expected.empty());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tritonts::test
