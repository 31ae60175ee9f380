// What a version tells of itself: its statistics, metrics and last batches.
#include <mutex>
#include <span>

#include "engine/base/clock.h"
#include "engine/running/model_version.h"

namespace tritonts {

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
