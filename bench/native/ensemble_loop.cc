// Compares an ensemble of three steps with the same three versions in sequence, both from C++.
//
//   ensemble_loop <library> <model.onnx> <together>
//
// The model takes x and gives y, FP32 [N, 16]; y is x + 1. There are 64 requests at a time, of
// which `together` share a header, as those of one tick do. Each line of standard input,
// "<ensemble|apart> <milliseconds>", is answered with a line of JSON:
// {"requests":12800,"batches":600,"seconds":0.2}.
//
// Apart: the thread that delivers a step's last answer submits all 64 requests to the next step.
// The inputs refer to the memory of the answers. So all batches are full, no thread is woken that
// an ensemble would not wake, and only the necessary work of a request is done.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "backends/onnxruntime/onnxruntime.h"
#include "engine/base/clock.h"
#include "engine/base/timer.h"
#include "engine/ensemble/ensemble.h"
#include "engine/version/model_version.h"

namespace tritonts {

namespace {

constexpr uint32_t kRequests = 64;
constexpr uint32_t kWidth = 16;
constexpr uint32_t kSteps = 3;
constexpr size_t kBytes = kWidth * sizeof(float);

[[noreturn]] void Fail(const std::string& why) {
  std::cerr << why << '\n';
  std::exit(1);
}

ModelIo Io() {
  return {kRequests,
          {{"x", DataType::kFp32, {-1, kWidth}, false}},
          {{"y", DataType::kFp32, {-1, kWidth}, false}}};
}

// A loaded version of the model with one instance.
std::shared_ptr<ModelVersion> Load(const std::string& library, const std::string& path,
                                   uint32_t number, Timer* timer) {
  Backend* const backend = onnxruntime::MakeBackend();
  const std::string name(1, static_cast<char>('a' + number));
  auto model = backend->Load(
      {name, 1, path, {{"library", library}, {"intra_op_threads", "1"}, {"allow_spinning", "0"}}});
  if (!model.ok()) Fail(model.status().message());
  auto version =
      std::make_shared<ModelVersion>(number + 1, name, 1, backend, model.take(), timer, [] {});
  VersionConfig config;
  config.io = Io();
  config.policy = {kRequests, {}, 0};
  config.instances.push_back({name + "_0", 0, MemoryKind::kHost, 0});
  const Status status = version->Start(std::move(config), 0, [] { return false; });
  if (!status.ok()) Fail(status.message());
  return version;
}

// The 64 requests of one executor, and the places of their answers.
class Stage final : public ResponseSink {
 public:
  Stage(Served* executor, uint32_t together, std::function<void(Stage*)> done)
      : executor_(executor), together_(together), done_(std::move(done)), requests_(kRequests) {
    for (uint32_t first = 0; first < kRequests; first += together) {
      RequestHeader& header = *headers_.emplace_back(std::make_unique<RequestHeader>());
      header.sink = this;
      header.executor = executor;
      header.requests = together;
      InputTensor& input = header.AddInput();
      input.datatype = DataType::kFp32;
      input.shape = std::vector<int64_t>{1, kWidth};
      for (uint32_t i = 0; i < together; i++) {
        Request& request = requests_[first + i];
        request.header = &header;
        request.position = i;
        all_.push_back(&request);
      }
    }
    results_.resize(headers_.size());
    for (uint32_t i = 0; i < headers_.size(); i++) headers_[i]->slot = i;
  }

  // The place of the bytes of a header's requests, which are contiguous.
  struct Bytes {
    const char* data = nullptr;
    BlockRef block;
  };

  void Submit(const std::vector<Bytes>& inputs) {
    const uint64_t now = NowNs();
    for (size_t i = 0; i < headers_.size(); i++) {
      RequestHeader& header = *headers_[i];
      header.arrival_ns = now;
      auto& chunks = header.inputs()[0].first_chunks;
      chunks.clear();
      chunks.push_back({const_cast<char*>(inputs[i].data), kBytes, MemoryKind::kHost, 0, {}});
      executor_->SetQueueKeys(&header);
    }
    for (Request* request : all_) request->Prepare();
    executor_->Submit(all_, now);
  }

  const std::vector<Bytes>& results() const { return results_; }

  void DeliverAlike(const AlikeResponses& alike) override {
    const OutputTensor& output = alike.outputs[0];
    if (output.size != kBytes) Fail("an answer of another size");
    for (size_t i = 0; i < alike.requests.size(); i++) {
      Request* const request = alike.requests[i];
      if (request->position == 0) {
        results_[request->header->slot] = {static_cast<const char*>(output.data) + i * kBytes,
                                           BlockRef::Share(output.block)};
      }
      request->set_state(Request::State::kIdle);
    }
    Note(alike.requests.size());
  }

  void Deliver(std::span<const Response> responses) override {
    for (const Response& response : responses) {
      if (!response.status.ok()) Fail(response.status.message());
      if (together_ > 1) Fail("requests of one header were answered apart");
      const OutputTensor& output = response.outputs[0];
      results_[response.request->header->slot] = {static_cast<const char*>(output.data),
                                                  BlockRef::Share(output.block)};
      response.request->set_state(Request::State::kIdle);
    }
    Note(responses.size());
  }

 private:
  void Note(size_t count) {
    const auto some = static_cast<uint32_t>(count);
    if (answered_.fetch_add(some, std::memory_order_acq_rel) + some < kRequests) return;
    answered_.store(0, std::memory_order_relaxed);
    done_(this);
  }

  Served* const executor_;
  const uint32_t together_;
  const std::function<void(Stage*)> done_;
  std::vector<std::unique_ptr<RequestHeader>> headers_;
  std::vector<Request> requests_;
  std::vector<Request*> all_;
  std::vector<Bytes> results_;  // by header
  std::atomic<uint32_t> answered_{0};
};

class Loop {
 public:
  Loop(const std::string& library, const std::string& path, uint32_t together)
      : together_(together), values_(kRequests * kWidth) {
    if (!timer_.Start()) Fail("no thread for the timer");
    for (uint32_t i = 0; i < values_.size(); i++) values_[i] = static_cast<float>(i % 1000);
    EnsemblePlan plan;
    plan.io = Io();
    plan.tensors = kSteps + 1;
    plan.outputs = {kSteps};
    for (uint32_t i = 0; i < kSteps; i++) {
      versions_.push_back(Load(library, path, i, &timer_));
      plan.steps.push_back({versions_[i]->name(), {{"x", i}}, {{"y", i + 1}}});
    }
    ensemble_ = std::make_shared<Ensemble>(kSteps + 1, "e", std::move(plan), [] {});
    const Status bound = ensemble_->Bind({versions_.begin(), versions_.end()});
    if (!bound.ok()) Fail(bound.message());
    whole_ =
        std::make_unique<Stage>(ensemble_.get(), together, [this](Stage*) { answered_.release(); });
    for (uint32_t i = kSteps; i-- > 0;) {
      Stage* const next = i + 1 < kSteps ? stages_.front().get() : nullptr;
      stages_.insert(stages_.begin(), std::make_unique<Stage>(versions_[i].get(), together,
                                                              [this, next](Stage* stage) {
                                                                if (next) {
                                                                  next->Submit(stage->results());
                                                                } else {
                                                                  answered_.release();
                                                                }
                                                              }));
    }
    for (uint32_t i = 0; i < kRequests; i += together) {
      inputs_.push_back({reinterpret_cast<const char*>(values_.data() + i * kWidth), {}});
    }
  }

  ~Loop() {
    ensemble_->Close();
    ensemble_->Destroy();
    for (const auto& version : versions_) {
      version->Close();
      while (!version->drained()) continue;
      version->Destroy();
    }
  }

  void Measure(bool ensemble, std::chrono::milliseconds time) {
    Stage& first = ensemble ? *whole_ : *stages_.front();
    const Stage& last = ensemble ? *whole_ : *stages_.back();
    const auto batches = [this] {
      uint64_t sum = 0;
      for (const auto& version : versions_) sum += version->statistics().execution_count;
      return sum;
    };
    const uint64_t before = batches();
    uint64_t requests = 0;
    const auto start = std::chrono::steady_clock::now();
    auto now = start;
    while (now - start < time) {
      first.Submit(inputs_);
      answered_.acquire();
      requests += kRequests;
      now = std::chrono::steady_clock::now();
    }
    Check(last);
    const double seconds = std::chrono::duration<double>(now - start).count();
    std::printf("{\"requests\":%llu,\"batches\":%llu,\"seconds\":%.6f}\n",
                static_cast<unsigned long long>(requests),
                static_cast<unsigned long long>(batches() - before), seconds);
    std::fflush(stdout);
  }

 private:
  // The answers are those of x + 1, three times.
  void Check(const Stage& last) const {
    for (size_t i = 0; i < last.results().size(); i++) {
      const auto* const got = reinterpret_cast<const float*>(last.results()[i].data);
      const float* const sent = values_.data() + i * together_ * kWidth;
      for (size_t k = 0; k < together_ * kWidth; k++) {
        if (got[k] != sent[k] + kSteps) Fail("a wrong answer");
      }
    }
  }

  const uint32_t together_;
  std::vector<float> values_;
  std::vector<Stage::Bytes> inputs_;
  Timer timer_;
  std::vector<std::shared_ptr<ModelVersion>> versions_;
  std::shared_ptr<Ensemble> ensemble_;
  std::unique_ptr<Stage> whole_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::binary_semaphore answered_{0};
};

void Main(char** arguments) {
  const int together = std::atoi(arguments[3]);
  if (together < 1 || kRequests % static_cast<uint32_t>(together) != 0) {
    Fail("<together> must divide " + std::to_string(kRequests));
  }
  Loop loop(arguments[1], arguments[2], static_cast<uint32_t>(together));
  std::string side;
  int64_t milliseconds = 0;
  while (std::cin >> side >> milliseconds) {
    if (side != "ensemble" && side != "apart") Fail("expected ensemble or apart, got " + side);
    loop.Measure(side == "ensemble", std::chrono::milliseconds(milliseconds));
  }
}

}  // namespace

}  // namespace tritonts

int main(int count, char** arguments) {
  if (count != 4) {
    std::cerr << "usage: ensemble_loop <library> <model.onnx> <together>\n";
    return 2;
  }
  tritonts::Main(arguments);
  return 0;
}
