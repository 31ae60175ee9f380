// An instance that runs batches on a session, with tensors in host memory. Instances of a model on
// one device share the session. On a GPU, only models without Plan::gpu use it (see
// onnx_gpu_instance.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "../common/split_outputs.h"
#include "engine/backend.h"
#include "engine/batch/collector.h"
#include "model.h"
#include "output.h"
#include "session.h"

namespace tritonts::onnxruntime {

// A key of run options: which CUDA graph to capture or launch, and the value for none.
inline constexpr char kGraphId[] = "gpu_graph_id";
inline constexpr char kNoGraph[] = "-1";

// Whether a run failed because an output's shape differs from that of the bound memory.
bool IsShapeMismatch(const Status& status);

// Terminate is thread-safe; the rest is for the single thread that calls Execute. The vectors stay
// allocated between runs. So only the runtime, and outputs of unknown size, allocate during a run.
class OnnxInstance final : public Instance {
 public:
  OnnxInstance(std::shared_ptr<Session> session, std::shared_ptr<const Plan> plan);
  ~OnnxInstance() override;

  // Creates the options of its runs. Called once, before anything else.
  Status Prepare();

  void Execute(Run& run) override;
  void Terminate() override;
  const std::atomic<bool>* lost() const override;

 private:
  Status RunBatch(Run& run);
  Status GatherInputs(Run& run);
  Status GatherInput(Run& run, uint32_t index);
  // Selects the outputs that at least one request wants, and binds memory for them.
  Status ChooseOutputs(Run& run);
  Status RunSession();
  Status RunOnce();
  void ReleaseRun();

  const std::shared_ptr<Session> session_;
  const std::shared_ptr<const Plan> plan_;
  const Library& library_;
  const Table& table_;
  OrtRunOptions* run_options_ = nullptr;
  SplitOutputs split_;
  // Set before the runtime is interrupted. A run that fails afterwards was interrupted, whatever
  // its error says.
  std::atomic<bool> terminated_{false};

  // These belong to the current run.
  std::vector<Gathered> gathered_;         // by input
  std::vector<const char*> input_names_;   // of the inputs that are present
  std::vector<OrtValue*> input_values_;    // the same
  std::vector<RunOutput> outputs_;         // by output
  std::vector<uint32_t> wanted_;           // indexes of the outputs that at least one request wants
  std::vector<const char*> output_names_;  // of the wanted outputs
  std::vector<OrtValue*> output_values_;   // the same, while the runtime runs
};

}  // namespace tritonts::onnxruntime
