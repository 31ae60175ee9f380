// The warm-up of a version. Each sample runs `count` times on each instance, one run after the
// other. A batch reaches its instance like the scheduler's batches: on the instance's own thread,
// or handed over. The loader's thread waits until the batch is done.
#include <memory>
#include <new>
#include <string>

#include "engine/base/abandon.h"
#include "engine/base/clock.h"
#include "engine/base/exit.h"
#include "engine/version/model_version.h"

namespace tritonts {

Status ModelVersion::WarmUp(const std::vector<WarmupSample>& samples,
                            const std::function<bool()>& cancelled) {
  SetWarming(true);
  Status status;
  try {
    status = RunSamples(samples, cancelled);
  } catch (const std::bad_alloc&) {
    status = context_.no_memory;
  }
  SetWarming(false);
  return status;
}

void ModelVersion::SetWarming(bool warming) {
  std::lock_guard lock(mutex_);
  warming_.store(warming, std::memory_order_release);
  dispatcher_->SetWarming(warming);
}

bool ModelVersion::MayWarm(const std::function<bool()>& cancelled) const {
  if (Exiting() || (cancelled && cancelled())) return false;
  std::lock_guard lock(mutex_);
  return !closed_ && !terminated_;
}

Status ModelVersion::RunSamples(const std::vector<WarmupSample>& samples,
                                const std::function<bool()>& cancelled) {
  const size_t instances = runners_.size();
  for (const WarmupSample& sample : samples) {
    if (sample.batch_size == 0) continue;
    const auto requests = std::make_shared<WarmupRequests>(sample, this);
    Status status = requests->made();
    for (size_t i = 0; i < instances && status.ok(); i++) {
      for (uint32_t run = 0; run < sample.count && status.ok(); run++) {
        if (MayWarm(cancelled)) {
          status = RunSample(runners_[i].get(), requests);
        } else {
          status = Status::Cancelled("");
        }
      }
    }
    if (status.ok()) continue;
    // A run that was asked to end may fail, too; the status is then CANCELLED.
    if (!MayWarm(cancelled) && !abandoned()) {
      return Status::Cancelled("model '" + name_ + "': loading was cancelled");
    }
    std::string what = status.message();
    const std::string prefix = "model '" + name_ + "': ";
    if (what.starts_with(prefix)) what.erase(0, prefix.size());
    return status.With("failed to run warmup sample '" + sample.name + "': " + what);
  }
  return Status::Ok();
}

Status ModelVersion::RunSample(InstanceRunner* runner,
                               const std::shared_ptr<WarmupRequests>& sample) {
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    const uint64_t now = NowNs();
    sample->Prepare(now);
    if (!dispatcher_->GiveDirectly(sample->requests(), runner, now, this, &orders)) {
      return context_.no_memory;
    }
    in_flight_ += sample->requests().size();
    starts_ += static_cast<uint32_t>(orders.start.size());
  }
  Carry(&orders);
  std::unique_lock lock(mutex_);
  warmed_.wait(lock, [this] { return DrainedLocked() || abandoned_; });
  if (DrainedLocked()) return sample->outcome();
  // The abandoned run may never end, so its requests are kept for ever.
  lock.unlock();
  tritonts::Abandon(sample);
  return did_not_return_;
}

}  // namespace tritonts
