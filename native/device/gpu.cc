#include "gpu.h"

#include <map>
#include <string>
#include <utility>

namespace tritonts::device {

namespace {

// The GPUs that are open, by id. Never destroyed, because threads may outlive static destructors.
struct OpenGpus {
  std::mutex mutex;  // guards all
  std::map<int, std::weak_ptr<Gpu>> all;
};
OpenGpus& Open() {
  static auto* const open = new OpenGpus();
  return *open;
}

}  // namespace

StatusOr<std::shared_ptr<Gpu>> Gpu::Open(std::shared_ptr<const Driver> driver, int id) {
  OpenGpus& open = device::Open();
  const std::lock_guard lock(open.mutex);
  std::weak_ptr<Gpu>& known = open.all[id];
  if (auto gpu = known.lock()) return gpu;
  std::shared_ptr<Gpu> gpu(new Gpu(std::move(driver), id));
  if (Status status = gpu->Start(); !status.ok()) return status;
  known = gpu;
  return gpu;
}

Status Gpu::Start() {
  Status status = Check(call().DeviceGet(&device_, id_), "cuDeviceGet");
  if (!status.ok()) return status;
  status = Check(call().DevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  if (!status.ok()) {
    context_ = nullptr;
    return status;
  }
  if (!submission_.Start([this] { RunSubmission(); }) ||
      !finishing_.Start([this] { RunFinishing(); })) {
    return Status::Unavailable("GPU " + std::to_string(id_) + ": no threads for it");
  }
  return status;
}

Gpu::~Gpu() {
  {
    const std::lock_guard lock(jobs_mutex_);
    jobs_end_ = true;
  }
  jobs_changed_.notify_all();
  if (submission_.joinable()) submission_.Join();
  {
    const std::lock_guard lock(tickets_->mutex);
    tickets_->end = true;
  }
  tickets_->changed.notify_all();
  if (finishing_.joinable()) finishing_.Join();
  if (!context_) return;
  FreePool();
  (void)call().DevicePrimaryCtxRelease(device_);
}

Status Gpu::Check(cuda::Result result, const char* function) const {
  const Status status = driver_->Check(result, function);
  if (status.ok()) return status;
  return MakeStatus([&] {
    return Status(status.code(), "GPU " + std::to_string(id_) + ": " + status.message());
  });
}

Gpu::Current::Current(const Gpu& gpu)
    : gpu_(gpu), status_(gpu.Check(gpu.call().CtxPushCurrent(gpu.context_), "cuCtxPushCurrent")) {}

Gpu::Current::~Current() {
  cuda::Context popped = nullptr;
  if (status_.ok()) (void)gpu_.call().CtxPopCurrent(&popped);
}

void Gpu::Submit(Job* job) {
  {
    const std::lock_guard lock(jobs_mutex_);
    job->next_ = nullptr;
    (first_job_ ? last_job_->next_ : first_job_) = job;
    last_job_ = job;
  }
  jobs_changed_.notify_one();
}

void Gpu::RunSubmission() {
  platform::NameThread("tritonts-gpu");
  const Current current(*this);
  std::unique_lock lock(jobs_mutex_);
  while (true) {
    jobs_changed_.wait(lock, [this] { return first_job_ || jobs_end_; });
    if (!first_job_) return;
    Job* const job = first_job_;
    first_job_ = job->next_;
    lock.unlock();
    job->Enqueue();
    lock.lock();
  }
}

void Gpu::Drain(cuda::Stream stream) {
  const Status status = Check(call().StreamSynchronize(stream), "cuStreamSynchronize");
  if (status.ok()) return;
  const std::lock_guard lock(tickets_->mutex);
  tickets_->Lose(status);
}

}  // namespace tritonts::device
