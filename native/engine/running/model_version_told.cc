// What a version tells of itself: what memory it takes, its statistics, metrics and last batches.
#include <algorithm>
#include <mutex>
#include <span>

#include "engine/base/clock.h"
#include "engine/running/model_version.h"

namespace tritonts {

void ModelVersion::NoteDevices(std::span<InstanceRunner* const> runners) {
  if (runners.empty() || runners.front()->memory != MemoryKind::kDevice) return;
  for (uint32_t input = 0; input < io_.inputs.size(); input++) {
    uint64_t& devices = input_devices_.emplace_back(0);
    for (int device = 0; device < kMostDevices; device++) {
      const bool taken = std::all_of(runners.begin(), runners.end(), [&](const auto* runner) {
        return runner->instance->Takes(input, MemoryKind::kDevice, device);
      });
      if (taken) devices |= uint64_t{1} << device;
    }
  }
}

bool ModelVersion::Takes(uint32_t input, MemoryKind kind, int device) const {
  if (IsHostMemory(kind)) return true;
  return input < input_devices_.size() && device >= 0 && device < kMostDevices &&
         (input_devices_[input] >> device & 1) != 0;
}

Statistics ModelVersion::StatisticsLocked() const {
  Statistics statistics = statistics_;
  if (dispatcher_) dispatcher_->AddAnswered(&statistics);
  if (context_.responses) statistics.responses = context_.responses->Read();
  return statistics;
}

Statistics ModelVersion::statistics() const {
  Statistics statistics;
  {
    std::lock_guard lock(mutex_);
    statistics = StatisticsLocked();
    if (stop_ || !model_) return statistics;
    BeginCall();
  }
  try {
    statistics.memory = model_->Memory();
  } catch (...) {
    // Then it is not told.
  }
  EndCall();
  return statistics;
}

VersionMetrics ModelVersion::metrics(std::span<const double> quantiles) const {
  VersionMetrics metrics;
  const LatencyWindow* window = nullptr;
  {
    std::lock_guard lock(mutex_);
    metrics.statistics = StatisticsLocked();
    if (!latencies_) return metrics;
    metrics.histograms = latencies_->policy().histograms;
    metrics.latencies = latencies_->counts();
    window = latencies_->window();
    if (dispatcher_) {
      metrics.pending = dispatcher_->scheduler().waiting();
      dispatcher_->AddAnswered(*latencies_, &metrics.latencies);
    }
  }
  if (window) metrics.quantiles = window->AllQuantiles(NowNs(), quantiles);
  return metrics;
}

BatchHistory ModelVersion::batches() const {
  BatchHistory history;
  history.records.reserve(2 * BatchLog::kMost);
  std::lock_guard lock(mutex_);
  history.now_ns = NowNs();
  history.instances = runners_.size();
  if (!dispatcher_) return history;
  history.waiting = dispatcher_->scheduler().waiting();
  dispatcher_->CopyBatches(&history.records);
  return history;
}

}  // namespace tritonts
