// Runs batches on a session.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/backend.h"
#include "engine/running/collector.h"
#include "model.h"
#include "output.h"
#include "session.h"

namespace tritonts::onnxruntime {

// Everything here is the instance thread's, but for Terminate. The vectors are kept from run to
// run, so that a run allocates nothing but what the runtime does and what outputs of unknown size
// need.
class OnnxInstance final : public Instance {
 public:
  OnnxInstance(std::shared_ptr<Session> session, std::shared_ptr<const Plan> plan);
  ~OnnxInstance() override;

  // Makes the options of its runs; called once, before all else.
  Status Prepare();

  void Execute(Run& run) override;
  void Terminate() override;

 private:
  Status RunBatch(Run& run);
  Status GatherInputs(Run& run);
  Status GatherInput(Run& run, uint32_t index);
  // Finds the outputs that some request wants, and memory for them.
  Status ChooseOutputs(Run& run);
  Status RunSession();
  Status RunOnce();
  void ReleaseRun();

  const std::shared_ptr<Session> session_;
  const std::shared_ptr<const Plan> plan_;
  const Library& library_;
  const Table& table_;
  OrtRunOptions* run_options_ = nullptr;
  // Set before the runtime is told: a run that fails then was interrupted, whatever it says.
  std::atomic<bool> terminated_{false};

  // Of the current run.
  std::vector<Gathered> gathered_;         // by input
  std::vector<const char*> input_names_;   // of the present ones
  std::vector<OrtValue*> input_values_;    // likewise
  std::vector<RunOutput> outputs_;         // by output
  std::vector<uint32_t> wanted_;           // the outputs that some request wants
  std::vector<const char*> output_names_;  // of the wanted ones
  std::vector<OrtValue*> output_values_;   // likewise, while the runtime runs
};

}  // namespace tritonts::onnxruntime
