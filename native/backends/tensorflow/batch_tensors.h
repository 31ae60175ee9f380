// The tensors of a batch: what a session gets, and what it computed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../common/split_outputs.h"
#include "engine/backend.h"
#include "engine/batch/collector.h"
#include "plan.h"
#include "strings.h"

namespace tritonts::tensorflow {

// Belongs to an instance; only the thread that runs Execute may use it. Its vectors stay allocated
// between batches.
class BatchTensors {
 public:
  BatchTensors(const Library& library, std::shared_ptr<const Plan> plan);

  // Gathers the inputs of the batch. Throws std::bad_alloc.
  Status Bind(Run& run);
  // The inputs, in the order of the plan.
  TfTensor* const* inputs() const { return input_list_.data(); }
  // Where the session puts the outputs, in the order of the plan.
  TfTensor** outputs() { return output_list_.data(); }
  // After the batch was computed: declares the outputs. Throws std::bad_alloc.
  Status Declare(Run& run);
  // Responds to all requests.
  void Respond(Run& run, const Status& status) { split_.Respond(run, plan_->model, status); }
  // After the response: gives everything back.
  void Release();

 private:
  Status BindInput(Run& run, uint32_t index);
  // Makes a tensor over gathered bytes.
  StatusOr<TensorObject> Lend(Run& run, const TensorPlan& input, const Gathered& gathered,
                              std::span<const int64_t> shape);
  Status DeclareOutput(Run& run, uint32_t index);
  // Declares the parts of a tensor of this shape, which rows do not cut.
  Status Split(Run& run, uint32_t index, std::span<const int64_t> shape);
  Status DeclareStrings(Run& run, uint32_t index, std::span<const int64_t> tail);

  const Library& library_;
  const Table& table_;
  const std::shared_ptr<const Plan> plan_;
  SplitOutputs split_;
  std::vector<Gathered> gathered_;            // by input
  std::vector<TensorObject> inputs_;          // by input
  std::vector<TfTensor*> input_list_;         // the same
  std::vector<TfTensor*> output_list_;        // by output; owned
  std::vector<std::vector<int64_t>> shapes_;  // of the outputs; responses refer to them
  std::vector<SerialisedStrings> strings_;    // by output
};

}  // namespace tritonts::tensorflow
