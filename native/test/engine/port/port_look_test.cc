// A port's JS thread while it waits: whether it looks for responses, and that none is lost between
// looking and sleeping.
#include <chrono>
#include <functional>

#include "engine/base/exit.h"
#include "port_client.h"
#include "server_fixture.h"

namespace tritonts::test {

namespace {

// A server with a version whose runs can be held, and a port.
class LookBench {
 public:
  explicit LookBench(uint32_t spin_cores = 8)
      : runs(std::make_shared<Runs>()),
        backend(ScriptOf(runs)),
        server(uint64_t{1} << 30, spin_cores),
        uid(server.Serve(&backend, ConfigOf(FloatIo()))),
        client(server.shared()) {}
  ~LookBench() { runs->Open(); }

  void Ask() {
    client.Write(uid, 1, {{0, {1, 1}, BytesOf(std::vector<float>{1})}});
    CHECK(client.Flush().ok());
  }
  Looked Look() { return client.port().Look(); }

  // Submits requests until waits were short enough that the port looks for a response, which has
  // not come yet. `prepare` is called before each request.
  bool BeginLooking(const std::function<void()>& prepare = [] {}) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
      prepare();
      Ask();
      if (Look() == Looked::kNothing && !client.WasWoken()) return true;
      runs->Open();
      client.Take(1);
    }
    return false;
  }

  const std::shared_ptr<Runs> runs;
  ScriptedBackend backend;
  ServerBench server;
  const uint32_t uid;
  PortClient client;
};

// Whether a JS thread spins on its core.
bool JsCoreTaken() {
  CHECK(Eventually([] { return RunsUnderWay() == 1; }));
  return !SpinCore(Spinner::kJs, 1).taken();
}

}  // namespace

TEST(look_is_not_worth_it_before_waits_were_seen) {
  LookBench bench;
  bench.Ask();
  CHECK(bench.Look() == Looked::kAsleep);
  CHECK(bench.client.WaitForWake(kPatience));
  bench.client.Take(1);
}

TEST(look_is_never_worth_it_without_cores_for_it) {
  LookBench bench(0);
  for (int i = 0; i < 30; i++) {
    bench.Ask();
    CHECK(bench.Look() == Looked::kAsleep);
    bench.client.Take(1);
  }
}

TEST(look_finds_responses_that_wake_nobody) {
  LookBench bench;
  bool found = false;
  // A busy machine may delay a response, but not always.
  for (int i = 0; i < 1000 && !found; i++) {
    CHECK(bench.BeginLooking());
    Looked looked = Looked::kNothing;
    while (looked == Looked::kNothing) looked = bench.Look();
    found = looked == Looked::kSomething;
    if (found) CHECK(!bench.client.WasWoken());
    bench.client.LookForResponses();
    if (found) {
      CHECK_EQ(bench.client.Take().size(), 1u);
      CHECK(bench.Look() == Looked::kAsleep);  // no request is in flight
    } else {
      bench.client.Take(1);
    }
  }
  CHECK(found);
}

TEST(look_ends_with_a_wake_up_where_the_response_takes_long) {
  LookBench bench;
  CHECK(bench.BeginLooking([&] { bench.runs->Shut(); }));
  CHECK(JsCoreTaken());
  while (bench.Look() == Looked::kNothing) {
  }
  CHECK(!JsCoreTaken());
  CHECK(!bench.client.WasWoken());
  bench.runs->Open();
  CHECK(bench.client.WaitForWake(kPatience));
  CHECK_EQ(bench.client.Take().size(), 1u);
}

TEST(look_is_decided_once_a_wait) {
  LookBench bench;
  CHECK(bench.BeginLooking([&] { bench.runs->Shut(); }));
  while (bench.Look() == Looked::kNothing) {
  }
  // Another request in the same wait.
  bench.Ask();
  CHECK(bench.Look() == Looked::kAsleep);
  bench.runs->Open();
  bench.client.Take(2);
}

TEST(look_ends_when_the_environment_does) {
  LookBench bench;
  CHECK(bench.BeginLooking([&] { bench.runs->Shut(); }));
  CHECK(JsCoreTaken());
  bench.client.Detach();
  CHECK(!JsCoreTaken());
  bench.runs->Open();
}

}  // namespace tritonts::test
