#include "gpu.h"

#include <chrono>
#include <map>
#include <string>
#include <utility>

namespace tritonts::device {

namespace {

// The GPUs that are open, by id. Never destroyed, because threads may outlive static destructors.
struct OpenGpus {
  std::mutex mutex;  // guards both
  std::map<int, std::weak_ptr<Gpu>> all;
  // How many there are that have not ended. A device has a new context only when all have left the
  // old one.
  std::map<int, int> living;
  std::condition_variable changed;
};
// How long the end of a GPU may take before another one is opened.
constexpr auto kEndTime = std::chrono::seconds(30);

OpenGpus& Open() {
  static auto* const open = new OpenGpus();
  return *open;
}

}  // namespace

StatusOr<std::shared_ptr<Gpu>> Gpu::Open(std::shared_ptr<const Driver> driver, int id) {
  OpenGpus& open = device::Open();
  const auto end = std::chrono::steady_clock::now() + kEndTime;
  std::unique_lock lock(open.mutex);
  while (true) {
    if (auto gpu = open.all[id].lock()) return gpu;
    if (open.living[id] == 0) break;
    if (open.changed.wait_until(lock, end) == std::cv_status::timeout) {
      return Status::Unavailable("GPU " + std::to_string(id) +
                                 ": its last models have left it, but the driver does not end it");
    }
  }
  open.living[id]++;
  std::shared_ptr<Gpu> gpu(new Gpu(std::move(driver), id));
  if (Status status = gpu->Start(); !status.ok()) {
    // Its end needs the lock.
    lock.unlock();
    return status;
  }
  open.all[id] = gpu;
  return gpu;
}

void Gpu::NoteEnd(int id) {
  OpenGpus& open = device::Open();
  const std::lock_guard lock(open.mutex);
  open.living[id]--;
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
    return Status::Unavailable("GPU " + std::to_string(id_) + ": no threads for it");
  }
  return status;
}

Gpu::~Gpu() {
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
  return MakeStatus([&] {
    return Status(status.code(), "GPU " + std::to_string(id_) + ": " + status.message());
  });
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
