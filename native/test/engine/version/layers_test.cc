// Layers around versions and ensembles: what they see, answer, keep and pass on.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "choosing_layer.h"
#include "ensemble_fixture.h"
#include "port_client.h"
#include "server_scripts.h"

namespace tritonts::test {

namespace {

// A version that adds 1, with layers around it.
class LayeredVersion {
 public:
  explicit LayeredVersion(size_t layers = 1, bool open = true, Script script = Adding(1))
      : bench_(std::move(script)) {
    for (size_t i = 0; i < layers; i++) {
      auto layer =
          std::make_unique<ChoosingLayer>(std::string(1, static_cast<char>('a' + i)), log, open);
      this->layers.push_back(layer.get());
      bench_.version().AddLayer(std::move(layer));
    }
    CHECK(bench_.version().Start(ConfigOf(FloatIo(), 1, Dynamic(8))).ok());
  }
  VersionBench& bench() { return bench_; }
  ModelVersion& version() { return bench_.version(); }
  RecordingSink& sink() { return bench_.sink; }
  // The header belongs to the sink again.
  bool Restored(const Request* request) { return request->header->sink == &bench_.sink; }

  std::shared_ptr<ChoosingLayer::Log> log = std::make_shared<ChoosingLayer::Log>();
  std::vector<ChoosingLayer*> layers;

 private:
  VersionBench bench_;
};

}  // namespace

TEST(layers_see_requests_from_outside_and_responses_from_inside) {
  LayeredVersion layered(2);
  Request* const request = layered.bench().Send({1, 2});
  CHECK(layered.sink().Wait(1));
  CHECK_EQ(FloatsOf(layered.sink().Of(0)), (Floats{2, 3}));
  CHECK_EQ(layered.log->all(), (Names{"a takes 0.0", "b takes 0.0", "b sees 0.0", "a sees 0.0"}));
  CHECK(layered.Restored(request));
  CHECK(Eventually([&] { return layered.version().drained() && !layered.version().used(); }));
}

TEST(layers_answer_a_request_at_once_and_layers_outside_see_it) {
  LayeredVersion layered(2);
  // The outer layer passes nothing of 100 and more, so the inner one never has it.
  Request* const request = layered.bench().Send({150});
  CHECK_EQ(FloatsOf(layered.sink().Of(0)), (Floats{300}));
  CHECK_EQ(layered.log->all(), (Names{"a takes 0.0"}));
  CHECK(layered.Restored(request));
  CHECK_EQ(layered.version().statistics().success.count, 0u);
}

TEST(layers_answer_later_and_pass_on_later_from_a_thread_of_theirs) {
  LayeredVersion layered(1, false);
  layered.bench().Send({200});
  layered.bench().Send({300});
  layered.bench().Send({5});
  CHECK(layered.sink().Wait(1));
  CHECK_EQ(FloatsOf(layered.sink().Of(2)), (Floats{6}));
  CHECK(layered.version().used());
  CHECK(!layered.version().drained());
  layered.layers[0]->Open();
  CHECK(layered.sink().Wait(3));
  CHECK_EQ(FloatsOf(layered.sink().Of(0)), (Floats{400}));
  CHECK_EQ(FloatsOf(layered.sink().Of(1)), (Floats{301}));
  CHECK(Eventually([&] { return layered.version().drained() && !layered.version().used(); }));
}

TEST(layers_divide_the_requests_of_one_header) {
  LayeredVersion layered(1);
  for (int round = 0; round < 50; round++) {
    RecordingSink sink;
    Group group(&sink, {1, 101, 201, 301, 2, 102, 202, 302});
    layered.bench().Submit(group.all());
    CHECK(sink.Wait(8));
    // With the last response the header is the sink's.
    CHECK(Eventually([&] { return layered.version().drained(); }));
    CHECK(group.header.sink == &sink);
    std::vector<float> values;
    for (const SeenResponse& seen : sink.responses()) {
      CHECK(seen.status.ok());
      values.push_back(FloatsOf(seen).front());
    }
    std::sort(values.begin(), values.end());
    CHECK_EQ(values, (Floats{2, 3, 202, 204, 302, 303, 402, 404}));
  }
}

TEST(layers_answer_what_they_keep_when_it_is_cancelled) {
  LayeredVersion layered(1, false);
  Request* const kept = layered.bench().Send({200});
  layered.bench().Cancel(kept);
  CHECK(layered.sink().Of(0).status.code() == Code::kCancelled);
  // What has ended may be among what is cancelled.
  layered.bench().Cancel(kept);
  CHECK_EQ(layered.sink().responses().size(), 1u);
}

TEST(layers_pass_on_what_was_cancelled_on_its_way) {
  const auto runs = std::make_shared<Runs>();
  runs->Shut();
  LayeredVersion layered(1, true, ScriptOf(runs));
  layered.bench().Send({1});
  CHECK(runs->Started(1));
  Request* const waiting = layered.bench().Send({2});
  layered.bench().Cancel(waiting);
  CHECK(layered.sink().Of(1).status.code() == Code::kCancelled);
  runs->Open();
  CHECK(layered.sink().Wait(2));
}

TEST(layers_answer_what_they_keep_when_the_version_is_aborted) {
  LayeredVersion layered(1, false);
  layered.bench().Send({200});
  layered.bench().Send({300});
  layered.version().Close();
  CHECK(!layered.version().drained());
  layered.version().Abort(Status::Unavailable(Reason::kClosed, "the limit is over"));
  for (uint32_t slot : {0u, 1u}) {
    CHECK_EQ(layered.sink().Of(slot).status.message(), "the limit is over");
  }
  CHECK(Eventually([&] { return layered.version().drained(); }));
  CHECK(layered.bench().drained >= 1);
}

TEST(layers_pass_on_to_a_closed_version_too_late_for_another_one) {
  LayeredVersion layered(1, false);
  layered.bench().Send({300});
  layered.version().Close();
  // On the submitting thread the sender hears that another version may serve it.
  layered.bench().Send({1});
  CHECK(layered.sink().Of(1).unserved);
  layered.layers[0]->Open();
  CHECK(layered.sink().Wait(2));
  const SeenResponse late = layered.sink().Of(0);
  CHECK(late.status.code() == Code::kUnavailable);
  CHECK(!late.unserved);
}

TEST(layers_stand_around_steps_and_around_the_ensemble) {
  EnsembleBench bench(ChainOf(2),
                      {{Adding(1), ConfigOf(FloatIo())}, {Adding(1), ConfigOf(FloatIo())}});
  const auto log = std::make_shared<ChoosingLayer::Log>();
  bench.ensemble().AddLayer(std::make_unique<ChoosingLayer>("e", log));
  bench.step(0).AddLayer(std::make_unique<ChoosingLayer>("s", log));
  bench.step(1).AddLayer(std::make_unique<ChoosingLayer>("t", log));
  for (const float value : {1.f, 98.f, 99.f, 199.f, 200.f, 300.f}) bench.Send({value});
  CHECK(bench.sink.Wait(6));
  CHECK_EQ(FloatsOf(bench.sink.Of(0)), (Floats{3}));
  CHECK_EQ(FloatsOf(bench.sink.Of(1)), (Floats{100}));
  // The second step's layer answers 100.
  CHECK_EQ(FloatsOf(bench.sink.Of(2)), (Floats{200}));
  CHECK_EQ(FloatsOf(bench.sink.Of(3)), (Floats{398}));
  CHECK_EQ(FloatsOf(bench.sink.Of(4)), (Floats{400}));
  // Kept and passed on around the ensemble, around its first step, and around its second one.
  CHECK_EQ(FloatsOf(bench.sink.Of(5)), (Floats{302}));
  CHECK(Eventually([&] { return !bench.ensemble().used(); }));
}

TEST(layers_around_an_ensemble_cancel_what_flies) {
  const auto runs = std::make_shared<Runs>();
  runs->Shut();
  EnsembleBench bench(ChainOf(1), {{ScriptOf(runs), ConfigOf(FloatIo())}});
  bench.ensemble().AddLayer(
      std::make_unique<ChoosingLayer>("e", std::make_shared<ChoosingLayer::Log>()));
  bench.Send({1});
  CHECK(runs->Started(1));
  Request* const waiting = bench.Send({2});
  bench.Cancel(waiting);
  CHECK(bench.sink.Wait(1));
  CHECK(bench.sink.Of(1).status.code() == Code::kCancelled);
  runs->Open();
  CHECK(bench.sink.Wait(2));
}

TEST(layers_keep_a_retired_version_until_what_they_keep_has_ended) {
  ServerBench bench;
  ScriptedBackend backend(Adding(1));
  PortClient client(bench.shared());
  auto opened = bench.Open(&backend);
  CHECK(opened.ok());
  const uint32_t uid = opened.value();
  auto layer = std::make_unique<ChoosingLayer>("a", std::make_shared<ChoosingLayer::Log>(), false);
  ChoosingLayer* const kept = layer.get();
  bench.server().FindServed(uid)->AddLayer(std::move(layer));
  CHECK(bench.Start(uid, ConfigOf(FloatIo())).ok());
  client.Write(uid, 1, {OneFloat(300)});
  CHECK(client.Flush().ok());
  CHECK_EQ(kept->kept(), 1u);
  Result<bool> retired;
  bench.server().Retire(uid, retired.Callback());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(!retired.came());
  kept->Open();
  CHECK(client.WaitForWake(kPatience));
  const auto responses = client.Take();
  CHECK_EQ(responses.size(), 1u);
  CHECK(!responses.empty() && responses[0].code == Code::kOk);
  CHECK(!retired.Value());
}

TEST(layers_of_a_server_that_closes_answer_what_they_keep) {
  ServerBench bench;
  ScriptedBackend backend(Adding(1));
  PortClient client(bench.shared());
  auto opened = bench.Open(&backend);
  const uint32_t uid = opened.value();
  bench.server().FindServed(uid)->AddLayer(
      std::make_unique<ChoosingLayer>("a", std::make_shared<ChoosingLayer::Log>(), false));
  CHECK(bench.Start(uid, ConfigOf(FloatIo())).ok());
  client.Write(uid, 1, {OneFloat(250)});
  CHECK(client.Flush().ok());
  CHECK_EQ(bench.Close(0), Names{});
  CHECK(client.WaitForWake(kPatience));
  const auto responses = client.Take();
  CHECK_EQ(responses.size(), 1u);
  CHECK(!responses.empty() && responses[0].code != Code::kOk);
}

namespace {

// Passes requests on from a thread of its own, and waits for the thread when it is freed.
class LateLayer final : public Layer {
 public:
  ~LateLayer() override {
    if (thread_.joinable()) thread_.join();
  }
  void Submit(std::span<Request* const> requests, uint64_t now_ns, InlineTime*) noexcept override {
    Request* const request = requests[0];
    thread_ = std::thread([this, request, now_ns] {
      Request* const one[] = {request};
      Pass(one, now_ns);
    });
  }

 private:
  std::thread thread_;
};

// Has no room for any request.
class FullScheduler final : public Scheduler {
 public:
  Status Enqueue(Request*, uint64_t) override {
    return Status::Unavailable(Reason::kQueueFull, "the queue is full, as this long text says");
  }
  void Expire(uint64_t, Expired*) override {}
  void Next(uint32_t, uint64_t, Batch*) override {}
  void Finished(uint32_t, uint64_t) override {}
  bool Cancel(Request*) override { return false; }
  void Drain(RequestChain*) override {}
  size_t waiting() const override { return 0; }
};

}  // namespace

// The version refuses the request in the call of Pass, so it is drained before the call returns.
TEST(a_version_is_freed_while_a_layer_is_still_in_a_call_of_it) {
  Timer timer;
  CHECK(timer.Start());
  ScriptedBackend backend{Script{}};
  auto model = backend.Load({});
  std::atomic<int> calls{0};
  Event in;
  auto version = std::make_shared<ModelVersion>(1, "m", 1, &backend, model.take(), &timer, [&] {
    // The first call says that the last user has gone, the second that the layers are empty.
    if (++calls != 2) return;
    in.Set();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  });
  version->AddLayer(std::make_unique<LateLayer>());
  VersionConfig config = ConfigOf(FloatIo());
  config.scheduler = [] { return std::make_unique<FullScheduler>(); };
  CHECK(version->Start(std::move(config)).ok());
  RecordingSink sink;
  Requests requests(&sink);
  Request* const request = requests.Floats({1});
  request->header->executor = version.get();
  version->SetQueueKeys(request->header);
  request->set_state(Request::State::kSubmitted);
  Request* const one[] = {request};
  version->Submit(one, NowNs());
  in.Wait();
  CHECK(Eventually([&] { return version->drained() && !version->used(); }));
  version->Close();
  version->Destroy();
  version.reset();
  CHECK(sink.Wait(1));
}

}  // namespace tritonts::test
