// Shared by tests of the openvino backend. TRITONTS_TEST_OPENVINO_LIBRARY has the path of
// libopenvino_c; without it, tests that need it are skipped.
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backends/openvino/model.h"
#include "onnxruntime_fixture.h"

#define OPENVINO_TEST(name)                              \
  static void OpenVino##name();                          \
  TEST(name) {                                           \
    if (!std::getenv("TRITONTS_TEST_OPENVINO_LIBRARY"))  \
      SKIP("TRITONTS_TEST_OPENVINO_LIBRARY is not set"); \
    OpenVino##name();                                    \
  }                                                      \
  static void OpenVino##name()

namespace tritonts::test {

inline std::map<std::string, std::string> OpenVinoSettings(
    std::map<std::string, std::string> more = {}) {
  const char* library = std::getenv("TRITONTS_TEST_OPENVINO_LIBRARY");
  std::map<std::string, std::string> settings{
      {"library", library ? library : ""},
      {"properties", "INFERENCE_PRECISION_HINT=f32\nPERFORMANCE_HINT=LATENCY"}};
  for (auto& [key, value] : more) settings[key] = value;
  return settings;
}

inline ModelSpec OpenVinoSpec(const std::string& bytes,
                              std::map<std::string, std::string> more = {}) {
  ModelSpec spec;
  spec.name = "m";
  spec.path = "model.onnx";
  spec.settings = OpenVinoSettings(std::move(more));
  spec.files["model.onnx"] = std::make_shared<const std::string>(bytes);
  return spec;
}

// A model that is loaded, configured and has an instance, or the status that says why not.
struct OpenVinoReady {
  OpenVinoReady(const OnnxModelWriter& writer, const ModelIo& io,
                std::map<std::string, std::string> more = {}) {
    auto loaded = openvino::OpenVinoModel::Load(OpenVinoSpec(writer.Model(), std::move(more)));
    status = loaded.status();
    if (!status.ok()) return;
    model = loaded.take();
    status = model->Configure(io, "{}");
    if (!status.ok()) return;
    auto made = model->CreateInstance({"m_0", 0, MemoryKind::kHost, 0});
    status = made.status();
    if (status.ok()) instance = made.take();
  }
  Status status;
  std::unique_ptr<Model> model;
  std::unique_ptr<Instance> instance;
};

}  // namespace tritonts::test
