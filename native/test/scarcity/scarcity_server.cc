// The whole life of a server without memory or threads.
#include <atomic>
#include <new>
#include <optional>

#include "backends/identity/identity.h"
#include "scarce_calls.h"
#include "scarcity.h"
#include "server_fixture.h"

namespace tritonts::test {

namespace {

// Takes one response without allocating.
class OneResponse final : public ResponseSink {
 public:
  void Deliver(std::span<const Response> responses) override {
    for (const Response& response : responses) {
      response.request->set_state(Request::State::kIdle);
      code = response.status.code();
      count++;
    }
  }
  std::atomic<Code> code{Code::kOk};
  std::atomic<int> count{0};
};

// A value that is set once, by any thread.
template <typename T>
struct Told {
  std::function<void(T)> Callback() {
    return [this](T told) {
      const InTest test;
      count++;
      value = std::move(told);
      done.Set();
    };
  }
  Event done;
  T value{};
  std::atomic<int> count{0};
};

// Calls the engine. If that throws, calls it again with memory available.
template <typename Call>
void InsistOn(const Call& call) {
  for (bool done = false; !done;) {
    try {
      const InEngine engine;
      call();
      done = true;
    } catch (const std::bad_alloc&) {
      Disarm();
    }
  }
}

bool Fine(const Status& status) {
  if (!status.ok()) CHECK(status.code() == Code::kUnavailable);
  return status.ok();
}

// Loads a version and sends it a request. Returns its uid; 0 if it could not be opened.
uint32_t LoadAndRun(Server* server, Backend* backend, bool* served) {
  *served = false;
  Told<OpenResult> opened;
  ModelSpec spec{"a model with a name that is not short", 1, "", {}};
  auto on_open = opened.Callback();
  InsistOn([&] { server->Open(backend, spec, on_open); });
  CHECK(opened.done.Wait());
  CHECK_EQ(opened.count.load(), 1);
  const uint32_t uid = opened.value.uid;
  if (!Fine(opened.value.status)) return uid;
  Told<Status> started;
  VersionConfig config = ConfigOf(FloatIo(), 2, {8, {}, 1'000'000});
  const WarmupInput zeros{0, DataType::kFp32, {1, 1}, WarmupInput::Data::kZero, 4, nullptr};
  config.warmup = {{"a sample with a name that is not short", 2, 1, {zeros}}};
  auto on_start = started.Callback();
  InsistOn([&] { server->Start(uid, config, on_start); });
  CHECK(started.done.Wait());
  CHECK_EQ(started.count.load(), 1);
  if (!Fine(started.value)) return uid;
  OneResponse response;
  Requests requests(&response);
  Request* request = requests.Floats({1});
  const auto version = server->FindVersion(uid);
  request->header->executor = version.get();
  request->Prepare();
  Request* const one[] = {request};
  {
    const InEngine engine;
    version->Submit(one, NowNs());
  }
  CHECK(Eventually([&] { return response.count == 1 && version->statistics().queue.count < 6; }));
  const Code code = response.code;
  CHECK(code == Code::kOk || code == Code::kUnavailable);
  *served = code == Code::kOk;
  return uid;
}

}  // namespace

bool PlayServer(int number, const Scarcity& scarcity) {
  IdentityBackend identity;
  Arm(number, scarcity.for_good, scarcity.small);
  std::shared_ptr<Server> server;
  {
    const InEngine engine;
    server = Server::Create({2, uint64_t{1} << 30, 0});
  }
  if (!server) {
    Disarm();
    return true;
  }
  bool served = false;
  const uint32_t uid = LoadAndRun(server.get(), &identity, &served);
  InsistOn([&] { server->Publish({"", "m"}, "{}"); });
  Told<bool> retired;
  auto on_retired = retired.Callback();
  InsistOn([&] { server->Retire(uid, on_retired); });
  // Closing waits for memory, so memory must be available again.
  if (scarcity.for_good) Disarm();
  CHECK(retired.done.Wait());
  CHECK(!retired.value);
  const bool all = CallsCounted() < number;
  CHECK(!all || served);
  if (scarcity.for_good) {
    const uint32_t next = LoadAndRun(server.get(), &identity, &served);
    CHECK(next > 0 && served);
  }
  Told<std::vector<std::string>> closed;
  auto on_closed = closed.Callback();
  InsistOn([&] { server->Close(0, on_closed); });
  CHECK(closed.done.Wait());
  CHECK(closed.value.empty());
  Disarm();
  server->Join();
  const std::weak_ptr<Server> left = server;
  server.reset();
  CHECK(left.expired());
  return CallsCounted() >= number;
}

}  // namespace tritonts::test
