#include "submission.h"

#include "gpu.h"

namespace tritonts::device {

bool Submission::Start(const Gpu& gpu) {
  return thread_.Start([this, &gpu] { Run(gpu); });
}

void Submission::Submit(Job* job) {
  {
    const std::lock_guard lock(mutex_);
    job->next_ = nullptr;
    (first_ ? last_->next_ : first_) = job;
    last_ = job;
  }
  changed_.notify_one();
}

void Submission::End() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.Join();
}

void Submission::Run(const Gpu& gpu) {
  platform::NameThread("tritonts-gpu");
  const Gpu::Current current(gpu);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return first_ || end_; });
    if (!first_) return;
    Job* const job = first_;
    first_ = job->next_;
    lock.unlock();
    job->Enqueue();
    lock.lock();
  }
}

}  // namespace tritonts::device
