// Abandoning: runs and calls that do not return, and their requests.
#include <cstdlib>
#include <stdexcept>

#if defined(__linux__)
#include <unistd.h>
#endif

#include "engine/base/exit.h"
#include "port_fixture.h"
#include "server_scripts.h"

namespace tritonts::test {

TEST(server_keeps_its_limit_though_a_backend_that_is_asked_to_end_a_run_hangs) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  auto gate = std::make_shared<RunsGate>();
  Script script = ScriptOf(runs);
  script.terminate = [gate](uint32_t) { gate->Pass(); };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&backend, ConfigOf(FloatIo()));
  const uint32_t running = client.Write(uid, 1, {FloatsInput({1})});
  CHECK(client.Flush().ok());
  CHECK(runs->Started(1));
  const uint32_t waiting = client.Write(uid, 1, {FloatsInput({2})});
  CHECK(client.Flush().ok());
  Result<Names> closed;
  bench.server().Close(0, closed.Callback());
  CHECK(gate->Entered(1));
  // The waiting request gets its response although the run hangs.
  CHECK(ResponseOf(waiting, client.Take(1)).code == Code::kCancelled);
  CHECK_EQ(closed.Value(), Names{"m"});
  CHECK(ResponseOf(running, client.Take(1)).code == Code::kInternal);
  gate->Open();
  runs->Open();
  CHECK(runs->Returned(1));
}

TEST(server_exits_with_the_process_though_a_backend_that_is_asked_to_end_a_run_hangs) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  auto gate = std::make_shared<RunsGate>();
  Script script = ScriptOf(runs);
  script.terminate = [gate](uint32_t) { gate->Pass(); };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&backend, ConfigOf(FloatIo()));
  client.Write(uid, 1, {FloatsInput({1})});
  CHECK(client.Flush().ok());
  CHECK(runs->Started(1));
  client.Write(uid, 1, {FloatsInput({2})});
  CHECK(client.Flush().ok());
  Event returned;
  std::thread exits([&] {
    Server::TerminateAll();
    returned.Set();
  });
  CHECK(gate->Entered(1));
  CHECK(returned.Wait());
  CHECK(client.Take(1)[0].code == Code::kUnavailable);
  gate->Open();
  exits.join();
  runs->Open();
  client.Take(1);
}

TEST(version_is_destroyed_though_its_runtime_throws_when_it_is_asked_something) {
  Script script;
  script.info = [] { throw std::runtime_error("no"); };
  script.terminate = [](uint32_t) { throw 1; };
  VersionBench bench(std::move(script), ConfigOf(FloatIo()));
  CHECK(bench.version().Info().empty());
  bench.version().Terminate();
}

TEST(version_counts_as_rejected_only_what_expired) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  VersionBench bench(ScriptOf(runs), ConfigOf(FloatIo()));
  bench.Submit({bench.requests.Floats({1})});
  CHECK(runs->Started(1));
  bench.Submit({bench.requests.Floats({2})});
  bench.version().Abort(Status::Unavailable(Reason::kClosed, "the process is exiting"));
  CHECK(bench.sink.Wait(1));
  const Statistics statistics = bench.version().statistics();
  CHECK_EQ(statistics.fail.count, 1u);
  CHECK_EQ(statistics.cancelled, 0u);
  CHECK_EQ(statistics.rejected, 0u);
  runs->Open();
}

TEST(port_takes_a_slot_again_whose_request_was_abandoned) {
  for (const bool group : {false, true}) {
    PortBench bench;
    bench.runs->Shut();
    bench.ServeRuns(ConfigOf(FloatIo(), 1, {2, {}, 0}));
    if (group) bench.client.WriteGroups();
    const uint32_t slot = bench.Write({1}) % PortClient::kPosition;
    // The last request of its group waits, and is cancelled.
    for (int i = 0; group && i < 2; i++) bench.Write({1});
    CHECK(bench.client.Flush().ok());
    CHECK(bench.runs->Started(1));
    CHECK_EQ(bench.server.Close(0), Names{"m"});
    for (const PortResponse& response : bench.client.Take(group ? 3 : 1)) {
      const bool waited = response.slot / PortClient::kPosition == 2;
      CHECK(response.code == (waited ? Code::kCancelled : Code::kInternal));
    }
    // Its memory is kept, but no longer counts as in flight.
    CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
    for (int i = 0; i < 3; i++) {
      CHECK_EQ(bench.Write({2}), slot);
      CHECK(bench.client.Flush().ok());
      const auto responses = bench.client.Take(1);
      CHECK(responses[0].code == Code::kUnavailable);
      CHECK(responses[0].unserved);
    }
    // A run that returns finds its requests unchanged.
    bench.runs->Open();
    CHECK(bench.runs->Returned(1));
  }
}

TEST(process_that_exits_refuses_requests_and_loads) {
#if defined(__linux__)
  // A child process exits, so that this one continues.
  constexpr const char* kName = "TRITONTS_TEST_EXITS";
  if (!std::getenv(kName)) {
    const std::string command =
        std::string(kName) + "=1 /proc/" + std::to_string(getpid()) + "/exe process_that_exits";
    CHECK_EQ(std::system(command.c_str()), 0);
    return;
  }
  PortBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo()));
  bench.Write({1});
  CHECK(bench.client.Take(1)[0].code == Code::kOk);
  PrepareExit(0);
  CHECK(Exiting());
  bench.Write({2});
  const auto responses = bench.client.Take(1);
  CHECK(responses[0].code == Code::kUnavailable);
  CHECK(responses[0].reason == Reason::kClosed);
  CHECK_EQ(responses[0].message, "model 'm': the process is exiting");
  CHECK(bench.server.Open(&bench.identity).status().code() == Code::kCancelled);
#else
  SKIP("another process of this program is started in Linux's way");
#endif
}

}  // namespace tritonts::test
