// One batch under way on an instance on a GPU (gpu_instance.h).
#pragma once

#include <memory>

#include "gpu_instance.h"

namespace tritonts {

class GpuInstance::Lane final : public device::Gpu::Ticket {
 public:
  Lane(GpuInstance& instance, uint32_t number);
  // The device's context must be current.
  ~Lane();
  // Creates the events. The device's context must be current.
  Status Prepare();

  // Responds to the batch's requests.
  void Finish(const Status& status, uint64_t reached_ns) override;

  RunRef run;
  Batch batch;
  bool alone = false;                   // no other batch was under way when this batch was enqueued
  device::cuda::Stream down = nullptr;  // the stream for its copies back
  // The batch's progress on the device. The last three events record times.
  device::cuda::Event inputs_copied = nullptr;  // null with a single stream
  // kernels begin: inputs are there, earlier batches have ended
  device::cuda::Event begun = nullptr;
  device::cuda::Event computed = nullptr;
  device::cuda::Event end = nullptr;

 private:
  // Passes the computation's times to the run, measured by the device's clock.
  void Stamp(uint64_t reached_ns);
  Status GiveOutput(uint32_t index);
  // Gives each request the values of a shape tensor, with the request's own row count as the first
  // value.
  Status GiveShapeValues(uint32_t index);

  GpuInstance& instance_;
};

}  // namespace tritonts
