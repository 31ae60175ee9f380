// Provides the memory that a backend writes an output to (the sink's own, or a block), and declares
// outputs.
//
// Owned by a run. Any thread that holds the run may call it, without the run's lock.
#pragma once

#include <cstdint>
#include <span>

#include "engine/backend.h"
#include "engine/batch/output_memory.h"
#include "engine/batch/run_context.h"
#include "engine/batch/run_members.h"
#include "engine/batch/run_outputs.h"

namespace tritonts {

class OutputPlaces {
 public:
  OutputPlaces(RunMembers* members, RunOutputs* outputs, const OutputMemory* memory)
      : members_(members), outputs_(outputs), memory_(memory) {}

  // Called under the version's lock.
  void Assign(const RunContext* context) {
    context_ = context;
    // The status is nearly always the same; a copy would cost a reference count.
    if (!cancelled_.SameAs(context->cancelled)) cancelled_ = context->cancelled;
  }

  // See Run::Output.
  StatusOr<Buffer> Output(uint32_t request, uint32_t index, DataType datatype,
                          std::span<const int64_t> shape, MemoryKind preferred);
  // Declares an output for a request or for kAll. No effect if the request is done.
  void Declare(uint32_t request, const OutputTensor& tensor, std::span<const size_t> offsets = {});
  // Declares the parameters of a request's next response. No effect if the request is done.
  void SetParameters(uint32_t request, ResponseParameters parameters);
  // Drops the outputs and parameters declared for a request or for kAll. Does not allocate.
  void Drop(uint32_t request);

 private:
  StatusOr<Buffer> Place(uint32_t request, uint32_t index, DataType datatype,
                         std::span<const int64_t> shape, MemoryKind preferred);

  RunMembers* const members_;
  RunOutputs* const outputs_;
  const OutputMemory* const memory_;
  const RunContext* context_ = nullptr;
  Status cancelled_;  // for calls on done requests, when the version may be gone
};

}  // namespace tritonts
