#include "test/stress/controller.h"

#include <thread>

#include "backends/find_backend.h"

namespace tritonts::test {

void Controller::Run(uint64_t until_ns) {
  while (NowNs() < until_ns && !failed) {
    if (served_.size() < 4) Serve();
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + random_.Up(40)));
    if (random_.Once(10)) bench_->server().CancelLoads();
    if (served_.size() > 2 || random_.Once(3)) RetireOne();
    if (random_.Once(20)) bench_->server().Withdraw({"", "m"});
    if (random_.Once(60)) Gpus::LoseOne(&random_);
  }
}

void Controller::Finish() {
  if (retired_ != retiring_) Complain("a retirement did not come back");
}

void Controller::Serve() {
  const auto kind = static_cast<Kind>(
      random_.Up(static_cast<uint32_t>(onnx_path_.empty() ? Kind::kOnnx : Kind::kCount) - 1));
  const uint32_t most = kind == Kind::kLarge ? 0 : 1 + random_.Up(15);
  ModelSpec spec{"m", 1, "", {}};
  std::string delay = "0";  // of the identity backend
  if (IsOnGpus(kind)) {
    spec = gpus_.SpecOf(kind, most, &random_);
  } else if (kind == Kind::kOnnx) {
    spec.path = onnx_path_;
    spec.settings = {{"library", LibraryPath()}, {"intra_op_threads", "1"}};
  } else if (kind == Kind::kFault) {
    spec.settings["delay_ms"] = "2";
    if (random_.Once(10)) spec.settings["load_fault"] = random_.Once(2) ? "throws" : "fails";
  } else if (kind == Kind::kContract) {
    spec.settings["asynchronous"] = std::to_string(random_.Up(1));
  } else if (random_.Once(10)) {
    delay = "no number";
  } else if (random_.Once(3)) {
    delay = std::to_string(random_.Up(3));
  }
  const bool fails = spec.settings.contains("load_fault");
  const char* backend = kind == Kind::kOnnx || kind == Kind::kOnnxOnGpus ? "onnxruntime"
                        : kind == Kind::kPlan                            ? "tensorrt"
                        : kind == Kind::kFault                           ? "fault"
                                                                         : "identity";
  auto opened = bench_->Open(kind == Kind::kContract ? &contract_ : FindBackend(backend), spec);
  // Opening may fail if a GPU is lost, until all versions have left it.
  const auto is_lost = [&](const Status& status) {
    return IsOnGpus(kind) && Contains(status, "CUDA_ERROR_LAUNCH_FAILED");
  };
  if (opened.ok() == fails && !is_lost(opened.status()))
    Complain("a load went otherwise: " + opened.status().message());
  if (!opened.ok()) {
    counts.failed_loads++;
    return;
  }
  DynamicPolicy policy;
  if (most > 0 && !random_.Once(4)) {
    policy.max_batch_size = most;
    for (uint32_t size = 1; size <= most; size++) {
      if (random_.Once(4)) policy.preferred_batch_sizes.push_back(size);
    }
    if (random_.Once(2)) policy.max_queue_delay_ns = random_.Up(500'000);
  }
  VersionConfig config = ConfigOf(IoOf(kind, most), 1 + random_.Up(2), std::move(policy));
  config.decoupled = kind == Kind::kContract;
  if (!random_.Once(3)) config.inline_budget_ns = random_.Up(200'000);
  if (IsOnGpus(kind)) Gpus::Place(&config, &random_);
  config.json = R"({"parameters": {"execute_delay_ms": {"string_value": ")" + delay + R"("}}})";
  const Status status = bench_->Start(opened.value(), std::move(config));
  if (is_lost(status) || (delay == "no number" && !status.ok())) {
    counts.failed_loads++;
    return Retire(opened.value());
  }
  if (!status.ok()) Complain("a start failed: " + status.message());
  served_.push_back({opened.value(), kind, most});
  counts.versions++;
  Publish();
}

void Controller::Publish() {
  std::string text;
  for (const Target& target : served_) {
    text += std::to_string(target.uid) + " " + std::to_string(static_cast<uint32_t>(target.kind)) +
            " " + std::to_string(target.max_batch_size) + " ";
  }
  bench_->server().Publish({"", "m"}, text);
}

void Controller::RetireOne() {
  if (served_.empty()) return;
  const auto which = served_.begin() +
                     static_cast<ptrdiff_t>(random_.Up(static_cast<uint32_t>(served_.size() - 1)));
  const uint32_t uid = which->uid;
  served_.erase(which);
  // Usually it publishes first, as it should. Sometimes the version is retired while environments
  // still use it.
  if (!random_.Once(5)) Publish();
  Retire(uid);
}

void Controller::Retire(uint32_t uid) {
  const std::shared_ptr<ModelVersion> version = bench_->server().FindVersion(uid);
  retiring_++;
  bench_->server().Retire(uid, [this, version](bool abandoned) {
    if (abandoned) Complain("a version was abandoned");
    const Statistics statistics = version->statistics();
    counts.batches += statistics.execution_count;
    counts.rows += statistics.inference_count;
    retired_++;
  });
}

}  // namespace tritonts::test
