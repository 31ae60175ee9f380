// The result of forward, as outputs of a batch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../common/split_outputs.h"
#include "engine/backend.h"
#include "library.h"
#include "plan.h"

namespace tritonts::pytorch {

// Belongs to an instance, and is used by one thread at a time. Its vectors stay allocated between
// batches.
class BatchOutputs {
 public:
  BatchOutputs(const Library& library, std::shared_ptr<const Plan> plan);

  // Where the library puts the result of a run.
  TorchResult** result() { return result_.out(); }
  // Declares the outputs that requests want. Throws std::bad_alloc.
  Status Declare(Run& run);
  // Responds to all requests.
  void Respond(Run& run, const Status& status) { split_.Respond(run, plan_->model, status); }
  // After the response: frees the result.
  void Release();

 private:
  // The place of an output among the values of the result.
  StatusOr<uint32_t> PlaceOf(const OutputPlan& output) const;
  Status DeclareOne(Run& run, uint32_t index, uint32_t place);
  Status DeclareTensor(Run& run, uint32_t index, const TorchValue& value);
  // Declares the parts of a tensor that rows do not cut. `block`: the tensor's memory, if it has
  // its own.
  Status Split(Run& run, uint32_t index, const TorchValue& value, BlockRef block);
  Status DeclareTexts(Run& run, uint32_t index, uint32_t place, uint64_t count);

  const Library& library_;
  const TorchApi& api_;
  const std::shared_ptr<const Plan> plan_;
  Result result_;
  SplitOutputs split_;
  std::vector<uint32_t> places_;           // by output
  std::vector<BlockRef> texts_;            // by output
  std::vector<std::vector<size_t>> rows_;  // by output: where each row of texts begins
  std::vector<int64_t> counts_;            // by output: the shape of texts without batches
};

}  // namespace tritonts::pytorch
