// The memory that a run's outputs lie in: where it comes from, and how it gets to where a sink
// takes it.
//
// A run owns it. Any thread that holds the run calls it, without the run's lock.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/backend.h"
#include "engine/batch/run_context.h"

namespace tritonts {

struct InstanceRunner;

class OutputMemory {
 public:
  // With the version's lock.
  void Assign(const RunContext* context, InstanceRunner* runner) {
    context_ = context;
    runner_ = runner;
  }

  BlockPool& pool() const;
  MemoryCopier* copier() const;

  // A block of this kind if possible, else of host memory.
  StatusOr<Buffer> Allocate(size_t size, MemoryKind preferred) const;
  // Copies an output of a request to host memory, unless its sink takes it where it is. The copy
  // goes to `copies`. An error names model and output.
  Status Fetch(const Request& request, OutputTensor* output, std::vector<BlockRef>* copies) const;
  // Copies an output of `size` bytes that has no block of its own. False: that was not possible.
  // Throws std::bad_alloc.
  bool Hold(OutputTensor* output, size_t size, std::vector<BlockRef>* copies) const;

 private:
  const RunContext* context_ = nullptr;
  InstanceRunner* runner_ = nullptr;
};

}  // namespace tritonts
