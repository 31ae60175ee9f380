// Shared by tests of the tensorflow backend. TRITONTS_TEST_TENSORFLOW_LIBRARY has the path of
// libtensorflow_cc; without it, tests that need it are skipped.
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backends/tensorflow/model.h"
#include "onnxruntime_fixture.h"
#include "tensorflow_bytes.h"

#define TENSORFLOW_TEST(name)                              \
  static void TensorFlow##name();                          \
  TEST(name) {                                             \
    if (!std::getenv("TRITONTS_TEST_TENSORFLOW_LIBRARY"))  \
      SKIP("TRITONTS_TEST_TENSORFLOW_LIBRARY is not set"); \
    TensorFlow##name();                                    \
  }                                                        \
  static void TensorFlow##name()

namespace tritonts::test {

inline std::map<std::string, std::string> TensorFlowSettings(
    std::map<std::string, std::string> more = {}) {
  const char* library = std::getenv("TRITONTS_TEST_TENSORFLOW_LIBRARY");
  std::map<std::string, std::string> settings{{"library", library ? library : ""},
                                              {"format", "graphdef"}};
  for (auto& [key, value] : more) settings[key] = value;
  return settings;
}

inline ModelSpec TensorFlowSpec(const std::string& graph,
                                std::map<std::string, std::string> more = {}) {
  ModelSpec spec;
  spec.name = "m";
  spec.path = "model.graphdef";
  spec.settings = TensorFlowSettings(std::move(more));
  spec.files["model.graphdef"] = std::make_shared<const std::string>(graph);
  return spec;
}

// A model that is loaded, configured and has an instance, or the status that says why not.
struct TensorFlowReady {
  TensorFlowReady(const TfGraphWriter& writer, const ModelIo& io,
                  std::map<std::string, std::string> more = {}) {
    auto loaded =
        tensorflow::TensorFlowModel::Load(TensorFlowSpec(writer.Graph(), std::move(more)));
    status = loaded.status();
    if (!status.ok()) return;
    model = loaded.take();
    status = model->Configure(io, "{}");
    if (!status.ok()) return;
    AddInstance();
  }
  void AddInstance() {
    auto made = model->CreateInstance({"m_0", 0, MemoryKind::kHost, 0});
    status = made.status();
    if (status.ok()) instances.push_back(made.take());
  }
  // The floats of output 0 after a batch.
  std::vector<float> Run(const std::vector<int64_t>& shape, const std::vector<float>& values,
                         size_t instance = 0) {
    RecordingBatch batch;
    batch.Add().Floats(shape, values);
    instances[instance]->Execute(batch);
    status = batch.status;
    return status.ok() ? Values<float>(batch.outputs[0].bytes) : std::vector<float>();
  }
  Status status;
  std::unique_ptr<Model> model;
  std::vector<std::unique_ptr<Instance>> instances;
};

}  // namespace tritonts::test
