// Shared by tests of the pytorch backend. TRITONTS_TEST_PYTORCH has the path of a shim for
// libtorch; without it, tests that need it are skipped. The models are the fixtures of the Node
// tests; the tests run in the project's folder.
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backends/pytorch/model.h"
#include "onnxruntime_fixture.h"

#define PYTORCH_TEST(name)                                                               \
  static void PyTorch##name();                                                           \
  TEST(name) {                                                                           \
    if (!std::getenv("TRITONTS_TEST_PYTORCH")) SKIP("TRITONTS_TEST_PYTORCH is not set"); \
    PyTorch##name();                                                                     \
  }                                                                                      \
  static void PyTorch##name()

namespace tritonts::test {

inline std::map<std::string, std::string> PyTorchSettings(
    std::map<std::string, std::string> more = {}) {
  const char* shim = std::getenv("TRITONTS_TEST_PYTORCH");
  std::map<std::string, std::string> settings{
      {"library", "libtorch"}, {"shim", shim ? shim : ""}, {"cores", "2"}};
  for (auto& [key, value] : more) settings[key] = value;
  return settings;
}

inline ModelSpec PyTorchSpec(const std::string& model,
                             std::map<std::string, std::string> more = {}) {
  ModelSpec spec;
  spec.name = "m";
  spec.path = "test/backends/pytorch/fixtures/" + model + ".pt";
  spec.settings = PyTorchSettings(std::move(more));
  return spec;
}

// One FP32 input x and one output y of these dims.
inline ModelIo PyTorchIo(uint32_t max_batch_size, const std::vector<int64_t>& dims) {
  return {max_batch_size, {{"x", DataType::kFp32, dims}}, {{"y", DataType::kFp32, dims}}};
}

// A model that is loaded, configured and has instances, or the status that says why not.
struct PyTorchReady {
  PyTorchReady(const std::string& name, const ModelIo& io,
               std::map<std::string, std::string> more = {}, uint32_t instance_count = 1) {
    auto loaded = pytorch::TorchScriptModel::Load(PyTorchSpec(name, std::move(more)));
    status = loaded.status();
    if (status.ok()) model = loaded.take();
    if (status.ok()) status = model->Configure(io, "{}");
    for (uint32_t i = 0; status.ok() && i < instance_count; i++) {
      auto made = model->CreateInstance({"m_" + std::to_string(i), i, MemoryKind::kHost, 0});
      status = made.status();
      if (status.ok()) instances.push_back(made.take());
    }
  }
  Instance& instance(size_t index = 0) { return *instances[index]; }

  Status status;
  std::unique_ptr<Model> model;
  std::vector<std::unique_ptr<Instance>> instances;
};

}  // namespace tritonts::test
