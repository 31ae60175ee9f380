// An instance of a model: runs a batch at a time with a session, which others may share.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "batch_tensors.h"
#include "engine/backend.h"
#include "plan.h"
#include "session.h"

namespace tritonts::tensorflow {

// Terminate is thread-safe.
class TensorFlowInstance final : public Instance {
 public:
  TensorFlowInstance(std::shared_ptr<Session> session, std::shared_ptr<const Plan> plan);
  ~TensorFlowInstance() override;
  // Called once, first.
  Status Prepare();

  void Execute(Run& run) override;
  void Terminate() override;

 private:
  Status RunBatch(Run& run);

  const std::shared_ptr<Session> session_;
  const std::shared_ptr<const Plan> plan_;
  const Table& table_;
  BatchTensors tensors_;
  StatusObject result_;
  BufferObject run_options_;  // null: none
  std::vector<TfOutput> inputs_;
  std::vector<TfOutput> outputs_;
  bool ran_ = false;
  std::atomic<bool> terminated_{false};
};

}  // namespace tritonts::tensorflow
