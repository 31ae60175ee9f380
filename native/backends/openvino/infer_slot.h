// One of OpenVINO's infer requests with the tensors of a batch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/backend.h"
#include "engine/batch/collector.h"
#include "kept_tensors.h"
#include "plan.h"

namespace tritonts::openvino {

// Belongs to an instance. One thread at a time may use it, except Cancel. Its vectors stay
// allocated between batches.
class InferSlot {
 public:
  InferSlot(const Library& library, std::shared_ptr<const Plan> plan);

  // Creates the infer request. Called once, first. `compiled` must outlive the slot.
  Status Create(const OvCompiled* compiled);
  OvRequest* request() const { return request_.get(); }

  // Gathers the inputs of the batch and binds memory for the outputs. Throws std::bad_alloc.
  Status Bind(Run& run);
  // After the batch was computed: declares the outputs. Throws std::bad_alloc.
  Status Declare(Run& run);
  // After the response: gives the memory of the batch back.
  void Release();
  // Asks a batch under way to end. Any thread may call it.
  void Cancel();

 private:
  struct Output {
    bool wanted = false;
    BlockRef block;              // memory that the library writes to
    Buffer place;                // or memory that the run gave
    std::vector<int64_t> shape;  // of the response, which refers to it; for one that is not fixed
  };

  Status GatherInput(Run& run, uint32_t index);
  Status BindInput(Run& run, uint32_t index);
  Status BindOutput(Run& run, uint32_t index);
  Status DeclareOutput(Run& run, uint32_t index);
  // Declares an output of a small batch.
  Status DeclareKept(Run& run, uint32_t index);
  // Checks an output that the library wrote to memory of ours.
  Status DeclareBound(Run& run, uint32_t index, const Tensor& tensor);
  uint32_t Rows(const Run& run) const { return plan_->batching ? run.total_batch_size() : 1; }

  const Library& library_;
  const Table& table_;
  const std::shared_ptr<const Plan> plan_;
  InferRequest request_;
  std::vector<Gathered> gathered_;  // by input
  KeptTensors kept_;
  bool small_ = false;            // the batch has the kept tensors
  bool computed_ = false;         // the batch ended well
  std::vector<BlockRef> padded_;  // by input: copies with rows of zeros
  std::vector<Output> outputs_;
  std::vector<int64_t> shape_;
};

}  // namespace tritonts::openvino
