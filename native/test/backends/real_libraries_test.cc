// NVIDIA's and Microsoft's own libraries, as far as they work without a GPU: their messages, and
// that no function is called that would end the process. The command npm test -- real-libraries
// installs them, and sets the variables below.
//
//   TRITONTS_REAL_TENSORRT   libraries of TensorRT that can be used, separated by colons
//   TRITONTS_REAL_OLD_TENSORRT  one that is too old
//   TRITONTS_REAL_ORT_GPU    a GPU build of ONNX Runtime
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "backends/tensorrt/library.h"
#include "backends/tensorrt/table.h"
#include "device/cuda.h"
#include "onnxruntime_gpu_fixture.h"

namespace tritonts::test {

namespace {

std::string InVariable(const char* name) {
  const char* const text = std::getenv(name);
  return text ? text : "";
}

std::vector<std::string> RealTensorRts() {
  std::vector<std::string> files;
  std::istringstream stream(InVariable("TRITONTS_REAL_TENSORRT"));
  for (std::string file; std::getline(stream, file, ':');) files.push_back(file);
  return files;
}

// Their libraries call the driver when a runtime is created, so it is started first, as in a
// server. It is the fake, which they reject.
void StartDriver() {
  CHECK(!device::FindCudaDevices().devices.empty());
}

void Tell(const std::string& what, const std::string& said) {
  std::printf("  %s: %s\n", what.c_str(), said.c_str());
}

}  // namespace

TEST(real_libraries_of_tensorrt_tell_their_versions) {
  if (RealTensorRts().empty()) SKIP("TRITONTS_REAL_TENSORRT is not set");
  for (const std::string& file : RealTensorRts()) {
    auto opened = tensorrt::Library::Open(file);
    CHECK_EQ(opened.status().message(), "");
    if (!opened.ok()) continue;
    const tensorrt::Version& version = opened.value()->version();
    Tell(std::filesystem::path(file).filename().string(), version.text);
    CHECK_EQ(version.rtx, file.find("_rtx") != std::string::npos);
    CHECK_EQ(version.compatible_only, file.find("_lean") != std::string::npos ||
                                          file.find("_dispatch") != std::string::npos);
    // The file's name ends with the major version, except for RTX, whose own is 1.
    const std::string end = "." + std::to_string(version.major);
    if (!version.rtx) CHECK(file.ends_with(end));
  }
}

// Without a working driver, the real libraries return a small number that is not null. RTX creates
// a runtime, and rejects the bytes.
TEST(real_libraries_of_tensorrt_refuse_in_their_own_words_what_they_cannot_do) {
  if (RealTensorRts().empty()) SKIP("TRITONTS_REAL_TENSORRT is not set");
  StartDriver();
  for (const std::string& file : RealTensorRts()) {
    auto opened = tensorrt::Library::Open(file);
    if (!opened.ok()) continue;
    auto runtime = opened.value()->MakeRuntime();
    const std::string name = std::filesystem::path(file).filename().string();
    if (!opened.value()->version().rtx) {
      CHECK(!runtime.ok());
      CHECK_EQ(runtime.status().code(), Code::kUnavailable);
      CHECK(Contains(runtime.status(), "can't start"));
      // The text comes through our logger.
      CHECK(Contains(runtime.status(), "CUDA initialization failure"));
      Tell(name, runtime.status().message());
      continue;
    }
    CHECK_EQ(runtime.status().message(), "");
    if (runtime.ok()) tensorrt::Delete(runtime.value());
  }
}

// Like a server: the driver is found, but is not NVIDIA's.
TEST(real_libraries_of_tensorrt_refuse_bytes_that_are_no_plan) {
  if (RealTensorRts().empty()) SKIP("TRITONTS_REAL_TENSORRT is not set");
  for (const std::string& file : RealTensorRts()) {
    for (const bool compatible : {false, true}) {
      ModelSpec spec = PlanSpec(std::string(1000, 'x'));
      spec.settings["library"] = file;
      if (compatible) spec.settings["version_compatible"] = "1";
      const auto model = TensorRtBackend().Load(spec);
      CHECK(!model.ok());
      Tell(std::filesystem::path(file).filename().string(), model.status().message());
      CHECK(Contains(model.status(), "can't start") ||
            Contains(model.status(), "can't read the plan"));
    }
  }
}

TEST(real_libraries_of_tensorrt_8_are_refused_with_their_version) {
  const std::string file = InVariable("TRITONTS_REAL_OLD_TENSORRT");
  if (file.empty()) SKIP("TRITONTS_REAL_OLD_TENSORRT is not set");
  const auto opened = tensorrt::Library::Open(file);
  CHECK(!opened.ok());
  CHECK(Contains(opened.status(), "8.6"));
  Tell(std::filesystem::path(file).filename().string(), opened.status().message());
}

RUNTIME_TEST(real_libraries_of_onnxruntime_for_gpus_tell_what_their_provider_lacks) {
  const std::string file = InVariable("TRITONTS_REAL_ORT_GPU");
  if (file.empty()) SKIP("TRITONTS_REAL_ORT_GPU is not set");
  const std::string bytes = Identity(kOnnxFloat, 2).Model();
  for (const char* tensorrt : {"0", "1"}) {
    const auto model =
        LoadBytes(bytes, {{"library", file}, {"devices", "0"}, {"tensorrt", tensorrt}});
    CHECK_EQ(model.status().code(), Code::kUnavailable);
    Tell("onnxruntime-gpu", model.status().message());
    CHECK(Contains(model.status(), std::string("ONNX Runtime's ") +
                                       (tensorrt[0] == '1' ? "TensorRT" : "CUDA") +
                                       " provider can't be used on GPU 0: "));
    // The name of a library that the dynamic loader misses.
    CHECK(Contains(model.status(), ".so"));
  }
  // The model runs on the CPU.
  auto loaded = LoadBytes(bytes, {{"library", file}});
  CHECK_EQ(loaded.status().message(), "");
  const auto model = loaded.take();
  CHECK(model->Configure(IdentityIo(DataType::kFp32, 2), "{}").ok());
  auto instance = model->CreateInstance({"m_0", 0, MemoryKind::kHost, 0});
  CHECK_EQ(instance.status().message(), "");
  RecordingBatch batch;
  instance.value()->Execute(batch.Add().Floats({1, 2}, {1, 2}));
  CHECK_EQ(batch.status.message(), "");
  CHECK(Values<float>(batch.outputs[0].bytes) == std::vector<float>({1, 2}));
}

}  // namespace tritonts::test
