#include "gpu.h"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace tritonts::device {

namespace {

// A device, and its open Gpu. Each has its own lock, held while the driver opens the device: that
// may take seconds, and must not delay other devices.
struct OpenGpu {
  std::mutex mutex;  // guards both
  std::weak_ptr<Gpu> gpu;
  // The number of Gpus not yet destroyed. A device gets a new context only after all of them have
  // released the old one.
  int living = 0;
  std::condition_variable changed;
};
// How long destroying a Gpu may take before another one is opened.
constexpr auto kEndTime = std::chrono::seconds(30);

// Never destroyed, because threads may outlive static destructors.
OpenGpu& DeviceOf(int id) {
  static auto* const mutex = new std::mutex();  // guards the other one
  static auto* const all = new std::map<int, OpenGpu>();
  const std::lock_guard lock(*mutex);
  return (*all)[id];
}

}  // namespace

StatusOr<std::shared_ptr<Gpu>> Gpu::Open(std::shared_ptr<const Driver> driver, int id) {
  OpenGpu& open = DeviceOf(id);
  const auto end = std::chrono::steady_clock::now() + kEndTime;
  // Both outlive the lock, which their destructor takes, also when there is no memory.
  std::unique_ptr<Gpu> made;
  std::shared_ptr<Gpu> gpu;
  std::unique_lock lock(open.mutex);
  while (true) {
    gpu = open.gpu.lock();
    if (gpu) return gpu;
    if (open.living == 0) break;
    if (open.changed.wait_until(lock, end) == std::cv_status::timeout) {
      return Status::Unavailable(
          Reason::kMissing,
          "GPU " + std::to_string(id) +
              ": the driver does not release its context; its last model was unloaded " +
              std::to_string(kEndTime.count()) + " s ago or longer");
    }
  }
  made.reset(new Gpu(std::move(driver), id));
  open.living++;
  gpu = std::move(made);
  if (Status status = gpu->Start(); !status.ok()) return status;
  open.gpu = gpu;
  return gpu;
}

void Gpu::NoteEnd(int id) {
  OpenGpu& open = DeviceOf(id);
  const std::lock_guard lock(open.mutex);
  open.living--;
  open.changed.notify_all();
}

Status Gpu::Start() {
  tickets_->id = id_;
  Status status = Check(call().DeviceGet(&device_, id_), "cuDeviceGet");
  if (!status.ok()) return status;
  status = Check(call().DevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  if (!status.ok()) {
    context_ = nullptr;
    return status;
  }
  int pools = 0;
  status = Check(call().DeviceGetAttribute(&pools, cuda::kMemoryPoolsSupported, device_),
                 "cuDeviceGetAttribute");
  if (!status.ok()) return status;
  memory_ = std::make_unique<DevicePool>(*this, pools != 0);
  if (!submission_.Start(*this) || !finishing_.Start([this] { RunFinishing(); })) {
    return Status::Unavailable(Reason::kNoMemory,
                               "GPU " + std::to_string(id_) + ": the system has no threads for it");
  }
  return status;
}

Gpu::~Gpu() {
  AwaitTensors();
  submission_.End();
  {
    const std::lock_guard lock(tickets_->mutex);
    tickets_->end = true;
  }
  tickets_->changed.notify_all();
  if (finishing_.joinable()) finishing_.Join();
  if (context_) {
    {
      const Current current(*this);
      if (memory_) memory_->End();
      FreePool();
    }
    (void)call().DevicePrimaryCtxRelease(device_);
  }
  ForgetLost(*tickets_);
  NoteEnd(id_);
}

Status Gpu::Check(cuda::Result result, const char* function) const {
  const Status status = driver_->Check(result, function);
  if (status.ok()) return status;
  return MakeStatus(
      [&] { return status.With("GPU " + std::to_string(id_) + ": " + status.message()); });
}

Gpu::Current::Current(const Gpu& gpu)
    : gpu_(gpu), status_(gpu.Check(gpu.call().CtxPushCurrent(gpu.context_), "cuCtxPushCurrent")) {
  if (status_.ok()) (void)gpu.call().ThreadExchangeStreamCaptureMode(&capture_mode_);
}

Gpu::Current::~Current() {
  cuda::Context popped = nullptr;
  if (!status_.ok()) return;
  (void)gpu_.call().ThreadExchangeStreamCaptureMode(&capture_mode_);
  (void)gpu_.call().CtxPopCurrent(&popped);
}

StatusOr<cuda::Stream> Gpu::MakeStream(Priority priority) const {
  int least = 0;
  int greatest = 0;
  Status status =
      Check(call().CtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
  if (!status.ok()) return status;
  // 0 is the driver's default.
  const int number =
      priority == Priority::kMost ? greatest : (priority == Priority::kLeast ? least : 0);
  cuda::Stream stream = nullptr;
  status = Check(call().StreamCreateWithPriority(&stream, cuda::kNonBlocking, number),
                 "cuStreamCreateWithPriority");
  if (!status.ok()) return status;
  return stream;
}

void Gpu::Drain(cuda::Stream stream) {
  const Status status = Check(call().StreamSynchronize(stream), "cuStreamSynchronize");
  if (status.ok()) return;
  const std::lock_guard lock(tickets_->mutex);
  tickets_->Lose(status);
}

}  // namespace tritonts::device
