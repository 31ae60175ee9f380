// One batch of an instance on a GPU under way (gpu_instance.h).
#pragma once

#include <memory>

#include "gpu_instance.h"

namespace tritonts {

class GpuInstance::Lane final : public device::Gpu::Ticket {
 public:
  Lane(GpuInstance& instance, uint32_t number);
  // Needs the context current.
  ~Lane();
  // Makes the events. Likewise.
  Status Prepare();

  // Answers the batch.
  void Finish(const Status& status, uint64_t reached_ns) override;

  RunRef run;
  Batch batch;
  bool alone = false;                   // no other batch was under way when this one was enqueued
  device::cuda::Stream down = nullptr;  // of its copies back
  // What the device has come to. The last three have times.
  device::cuda::Event inputs_copied = nullptr;  // if there are several streams
  device::cuda::Event begun = nullptr;          // kernels: inputs are there, other batches are over
  device::cuda::Event computed = nullptr;
  device::cuda::Event end = nullptr;

 private:
  // Tells the run when the device computed, by the device's own clock.
  void Stamp(uint64_t reached_ns);
  Status GiveOutput(uint32_t index);
  // Gives each request the values of a shape tensor, with its own rows as the first one.
  Status GiveShapeValues(uint32_t index);

  GpuInstance& instance_;
};

}  // namespace tritonts
