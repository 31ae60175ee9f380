// Shared by tests of plans. Driver, GPUs and TensorRT are the fakes of test/fakes.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/tensorrt/tensorrt.h"
#include "fakes/fakes.h"
#include "onnxruntime_fixture.h"
#include "platform/dynamic_library.h"
#include "version_fixture.h"

namespace tritonts::test {

template <typename Function>
Function* Of(const std::string& library, const char* name) {
  return reinterpret_cast<Function*>(platform::DynamicLibrary::Open(library).value().Symbol(name));
}
template <typename Function>
Function* OfDriver(const char* name) {
  return Of<Function>(FakeCudaDriver(), name);
}

inline void FailOnce(const char* function, int result, int after = 0) {
  OfDriver<void(const char*, int, int)>("fakeCudaFail")(function, result, after);
}
inline void LoseGpu(int id) {
  OfDriver<void(int)>("fakeCudaLose")(id);
}

// The numbers of live objects: contexts, device memory, pinned memory, streams and events of the
// driver, and TensorRT's objects of all versions.
inline std::array<int, 6> Objects() {
  std::array<int, 6> counts{};
  OfDriver<void(int*)>("fakeCudaCount")(counts.data());
  counts[5] = 0;
  for (const char* which : {"10", "10.16", "11", "lean", "dispatch", "rtx"})
    counts[5] += Of<int()>(FakeTensorRt(which), "fakeInferLive")();
  return counts;
}
inline constexpr std::array<int, 6> kNone{};

// y = x + 1, with 1 to 8 rows of 4.
inline std::string PlanText(const std::string& op = "add", const std::string& input = "0 0 0 -1 4",
                            const std::string& major = "10") {
  return "fake-plan " + major + "\nop " + op + "\ninput x " + input +
         "\noutput y 0 0 0 -1 4\nprofile x 1 4 4 4 8 4\n";
}

// The major version of a version: "10" of "10.16".
inline std::string Major(const std::string& which) {
  return which.substr(0, 2);
}

inline ModelIo Io(uint32_t most = 8, DataType type = DataType::kFp32) {
  return {most, {{"x", type, {-1, 4}}}, {{"y", DataType::kFp32, {-1, 4}}}};
}

// The spec of a plan for a version of TensorRT, on these devices, with additional settings.
inline ModelSpec PlanSpec(const std::string& plan, const std::string& devices = "0",
                          const std::string& which = "10",
                          const std::map<std::string, std::string>& settings = {}) {
  ModelSpec spec{"m", 1, "model.plan", {{"library", FakeTensorRt(which)}, {"devices", devices}}};
  spec.settings.insert(settings.begin(), settings.end());
  spec.files["model.plan"] = std::make_shared<const std::string>(plan);
  return spec;
}

inline VersionConfig OnGpus(const std::vector<int>& devices, const ModelIo& io = Io()) {
  VersionConfig config = ConfigOf(io, 0, Dynamic(std::max(1u, io.max_batch_size)));
  for (const int device : devices) {
    const auto index = static_cast<uint32_t>(config.instances.size());
    config.instances.push_back({"m_" + std::to_string(index), index, MemoryKind::kDevice, device});
  }
  return config;
}

inline std::vector<float> Row(float first) {
  return {first, first + 1, first + 2, first + 3};
}
// A request whose input has a row that begins with each of these numbers.
inline Request* MakeRows(Requests* requests, const std::vector<float>& firsts) {
  std::vector<float> values;
  for (const float first : firsts)
    for (const float value : Row(first)) values.push_back(value);
  Request* const request = requests->Add(static_cast<uint32_t>(firsts.size()));
  requests->Input(request, 0, DataType::kFp32, {static_cast<int64_t>(firsts.size()), 4},
                  BytesOf(values));
  return request;
}

// A version that serves a plan with the inputs and outputs of Io().
class PlanBench : public VersionBench {
 public:
  explicit PlanBench(const std::string& plan = PlanText(), const std::vector<int>& devices = {0},
                     const std::string& listed = "0")
      : PlanBench(PlanSpec(plan, listed), devices) {}
  explicit PlanBench(const ModelSpec& spec, const std::vector<int>& devices = {0},
                     const ModelIo& io = Io())
      : VersionBench(std::make_unique<TensorRtBackend>(), spec) {
    const Status status = version().Start(OnGpus(devices, io));
    CHECK_EQ(status.message(), "");
  }
  // Submits rows that begin with these numbers.
  void Ask(const std::vector<float>& firsts) { Submit({MakeRows(&requests, firsts)}); }
  Status StatusOf(uint32_t slot) { return sink.Of(slot).status; }
  bool Answered(uint32_t slot, float first) {
    return sink.Of(slot).outputs[0].bytes == tritonts::test::BytesOf(Row(first + 1));
  }
};

}  // namespace tritonts::test
