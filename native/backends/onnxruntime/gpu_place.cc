#include "gpu_place.h"

#include <string>

#include "../../device/cuda.h"

namespace tritonts::onnxruntime {

StatusOr<std::unique_ptr<GpuPlace>> GpuPlace::Make(int device, device::Gpu::Priority priority) {
  auto opened = device::Gpu::Open(device::FindCudaDevices().driver, device);
  if (!opened.ok()) return opened.status();
  const device::Gpu& gpu = *opened.value();
  if (Status fault = gpu.fault(); !fault.ok()) return fault;
  std::unique_ptr<GpuPlace> place(new GpuPlace(opened.take()));
  const device::Gpu::Current current(gpu);
  if (!current.status().ok()) return current.status();
  auto stream = gpu.MakeStream(priority);
  if (!stream.ok()) return stream.status();
  place->stream_ = stream.value();
  if (!place->submission_.Start(gpu)) {
    return Status::Unavailable(Reason::kNoMemory,
                               "GPU " + std::to_string(device) + ": no thread for the model");
  }
  return place;
}

Status GpuPlace::WhyFailed(const Status& status) {
  const device::Gpu::Current current(*gpu_);
  gpu_->Drain(stream_);
  const Status fault = gpu_->fault();
  return fault.ok() ? status : fault;
}

GpuPlace::~GpuPlace() {
  submission_.End();
  if (!stream_) return;
  const device::Gpu::Current current(*gpu_);
  // Calls on a lost device fail and free nothing. The process goes on without the device.
  (void)gpu_->call().StreamDestroy(stream_);
}

}  // namespace tritonts::onnxruntime
