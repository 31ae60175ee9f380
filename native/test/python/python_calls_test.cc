// Calls of Python models: the threads on which their batches run.
#if defined(__linux__)

#include <pthread.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "engine/base/clock.h"
#include "ensemble_fixture.h"
#include "python/python_call.h"
#include "python_fixture.h"
#include "units.h"

namespace tritonts::test {

namespace {

// A model on a server with a channel, and calls of the model. Records the names of the threads on
// which it runs.
class CallBench {
 public:
  CallBench(uint64_t guest_budget_ns, uint64_t inline_budget_ns) {
    Script script;
    script.execute = [this](uint32_t, Run& run) {
      char name[16] = {};
      pthread_getname_np(pthread_self(), name, sizeof(name));
      {
        const std::lock_guard lock(mutex_);
        names_.emplace_back(name);
      }
      AddTo(run, 1);
    };
    called_ = std::make_unique<ScriptedBackend>(std::move(script));
    bench_ = std::make_unique<ChannelBench>();
    auto opened = bench_->bench.server.Open(called_.get(), {"called", 1, "", {}});
    CHECK(opened.ok());
    uid_ = opened.value();
    VersionConfig config = ConfigOf(FloatIo());
    config.guest_budget_ns = guest_budget_ns;
    config.inline_budget_ns = inline_budget_ns;
    CHECK(bench_->bench.server.Start(uid_, std::move(config)).ok());
    server().Publish({"", "called"}, "{}");
    stub_ = bench_->Begin();
  }
  // Makes a call, and lets `wait` wait for the answer.
  void Call(float x, const std::function<void(const std::function<bool()>&)>& wait) {
    const uint64_t place = stub_->page().heap_up + 4096;
    const uint64_t word = stub_->page().heap_up + (size_t{512} << 10);
    auto* const reply = reinterpret_cast<python::Reply*>(stub_->base() + word);
    std::memcpy(stub_->base() + place, &x, sizeof(x));
    reply->state.store(0);
    const auto revision = static_cast<int64_t>(server().Read({"", "called"}, 0).revision);
    stub_->Send(stub_->Body(
        Kind::kCall, 0,
        {0, -1, uid_, revision, 0, 0, 0, 0, 0, 0, 1, 0, static_cast<int64_t>(DataType::kFp32), 2, 1,
         1, 4, static_cast<int64_t>(place)},
        word));
    wait([&] { return reply->state.load() != 0; });
    CHECK_EQ(reply->state.load(), python::PythonCall::kAnswered);
    const int64_t* const answer = stub_->words(reply->offset);
    CHECK_EQ(answer[0], 0);
    float y = 0;
    std::memcpy(&y, stub_->base() + answer[8 + 4 + answer[8 + 2]], sizeof(y));
    CHECK_EQ(y, x + 1);
    CHECK(Eventually([&] { return server().FindVersion(uid_)->drained(); }));
  }
  Server& server() { return bench_->bench.server.server(); }
  Channel& channel() { return *bench_->channel; }
  std::vector<std::string> names() {
    const std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> names_;
  std::unique_ptr<ScriptedBackend> called_;
  std::unique_ptr<ChannelBench> bench_;
  FakeStub* stub_ = nullptr;
  uint32_t uid_ = 0;
};

}  // namespace

TEST(python_calls_whose_batches_are_short_run_on_the_thread_of_the_channel) {
  for (const uint64_t budget_ns : {3600 * kSecond, uint64_t{0}}) {
    CallBench bench(budget_ns, 0);
    for (int i = 0; i < 5; i++) {
      bench.Call(static_cast<float>(i), [](const auto& answered) { CHECK(Eventually(answered)); });
    }
    // The first batch is measured on its own thread.
    CHECK_EQ(bench.names().front(), "tritonts-model");
    CHECK_EQ(bench.names().back(), budget_ns > 0 ? "tritonts python" : "tritonts-model");
  }
}

TEST(python_calls_run_on_a_thread_that_polls_only_where_the_model_may_run_inline) {
  char own[16] = {};
  pthread_getname_np(pthread_self(), own, sizeof(own));
  for (const uint64_t budget_ns : {3600 * kSecond, uint64_t{0}}) {
    CallBench bench(0, budget_ns);
    bench.channel().StartPolling();
    const auto poll = [&](const std::function<bool()>& answered) {
      CHECK(Eventually([&] {
        bench.channel().Poll();
        return answered();
      }));
    };
    size_t here = 0;
    // The channel's thread may be faster.
    for (int i = 0; i < 200 && (here == 0 || budget_ns == 0); i++) {
      bench.Call(static_cast<float>(i), poll);
      const auto names = bench.names();
      here = static_cast<size_t>(std::count(names.begin(), names.end(), own));
    }
    bench.channel().StopPolling();
    CHECK_EQ(here > 0, budget_ns > 0);
  }
}

TEST(python_call_that_loses_a_response_ends_after_the_earlier_ones_and_cancels_its_request) {
  constexpr int64_t kFloats = 12 << 20;  // more than the heap "down" has room for
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    static const std::vector<float> values(kFloats, 3);
    const auto respond = [&](const std::vector<int64_t>& shape) {
      const size_t bytes = static_cast<size_t>(shape[1]) * sizeof(float);
      run.SetRequestOutput(0, 0, DataType::kFp32, shape, values.data(), bytes, nullptr);
      run.Respond(0, Status::Ok(), false);
    };
    respond({1, 1});
    respond({1, kFloats});
    respond({1, 1});
    const uint64_t end_ns = NowNs() + 10'000'000'000;
    while (run.UnreadOf(0, 1) && NowNs() < end_ns) std::this_thread::yield();
    CHECK(NowNs() < end_ns);
    run.EndResponses(0);
  };
  ScriptedBackend backend(std::move(script));
  ChannelBench bench;
  auto opened = bench.bench.server.Open(&backend, {"called", 1, "", {}});
  CHECK(opened.ok());
  ModelIo io = FloatIo();
  io.inputs[0].dims = io.outputs[0].dims = {-1, -1};
  VersionConfig config = ConfigOf(io);
  config.decoupled = true;
  CHECK(bench.bench.server.Start(opened.value(), std::move(config)).ok());
  Server& server = bench.bench.server.server();
  server.Publish({"", "called"}, "{}");
  ChannelOptions options;
  options.most_bytes = 1;  // as little as a channel can have
  FakeStub* const stub = bench.Begin(options);
  const uint64_t place = stub->page().heap_up + 4096;
  const uint64_t word = stub->page().heap_up + (size_t{512} << 10);
  auto* const reply = reinterpret_cast<python::Reply*>(stub->base() + word);
  reply->state.store(0);
  const auto revision = static_cast<int64_t>(server.Read({"", "called"}, 0).revision);
  stub->Send(
      stub->Body(Kind::kCall, 0,
                 {0, -1, opened.value(), revision, 1, 0, 0, 0, 0, 0, 1, 0,
                  static_cast<int64_t>(DataType::kFp32), 2, 1, 1, 4, static_cast<int64_t>(place)},
                 word));
  CHECK(Eventually([&] { return reply->state.load() != 0; }));
  CHECK_EQ(reply->state.load(), python::PythonCall::kAnswered);
  // The run ends although the stub does not ask for the next response.
  CHECK(Eventually([&] { return server.FindVersion(opened.value())->drained(); }));
  reply->state.store(0);
  stub->Send(stub->Body(Kind::kNext, 0, {}, word));
  CHECK(Eventually([&] { return reply->state.load() != 0; }));
  CHECK_EQ(reply->state.load(), python::PythonCall::kNoMemory);
}

}  // namespace tritonts::test

#endif
