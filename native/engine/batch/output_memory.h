// Allocates memory for a run's outputs, and copies outputs to memory that the sink takes.
//
// Owned by a run. Any thread that holds the run may call it, without the run's lock.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/backend.h"
#include "engine/batch/run_context.h"

namespace tritonts {

struct InstanceRunner;

class OutputMemory {
 public:
  // Called under the version's lock.
  void Assign(const RunContext* context, InstanceRunner* runner) {
    context_ = context;
    runner_ = runner;
  }

  BlockPool& pool() const;
  MemoryCopier* copier() const;

  // Allocates a block of this kind if possible, otherwise of host memory.
  StatusOr<Buffer> Allocate(size_t size, MemoryKind preferred) const;
  // Copies an output of a request to host memory, unless its sink takes it where it is. `copies`
  // gets the block of the copy. An error names the model and the output.
  Status Fetch(const Request& request, OutputTensor* output, std::vector<BlockRef>* copies) const;
  // Copies an output of `size` bytes that has no block of its own. False: out of memory, or the
  // copy failed. Throws std::bad_alloc.
  bool Hold(OutputTensor* output, size_t size, std::vector<BlockRef>* copies) const;

 private:
  const RunContext* context_ = nullptr;
  InstanceRunner* runner_ = nullptr;
};

}  // namespace tritonts
