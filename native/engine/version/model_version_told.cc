// A version's reports: the input memory that it takes, its statistics, metrics and last batches.
#include <algorithm>
#include <mutex>
#include <span>

#include "engine/base/clock.h"
#include "engine/statistics/response_counts.h"
#include "engine/version/model_version.h"

namespace tritonts {

namespace {

void AddHostMemory(uint64_t bytes, std::vector<MemoryUse>* uses) {
  for (MemoryUse& use : *uses) {
    if (use.kind != MemoryKind::kHost) continue;
    use.bytes += bytes;
    return;
  }
  uses->push_back({MemoryKind::kHost, 0, bytes});
}

}  // namespace

void ModelVersion::NoteDevices(std::span<InstanceRunner* const> runners) {
  if (runners.empty() || runners.front()->memory != MemoryKind::kDevice) return;
  const bool alone = std::all_of(runners.begin(), runners.end(), [&](const auto* runner) {
    return runner->memory == MemoryKind::kDevice && runner->device == runners.front()->device;
  });
  if (alone) only_device_ = runners.front()->device;
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
  for (const auto& gpu : gpus_) statistics.Add(gpu->statistics);
  if (dispatcher_) dispatcher_->AddAnswered(&statistics);
  AddLayersTo(&statistics);
  if (context_.responses) statistics.responses = context_.responses->Read();
  return statistics;
}

Statistics ModelVersion::statistics() const {
  Statistics statistics;
  uint64_t state_bytes = 0;
  {
    std::lock_guard lock(mutex_);
    statistics = StatisticsLocked();
    if (stop_ || !model_) return statistics;
    if (dispatcher_) state_bytes = dispatcher_->scheduler().sequences().state_bytes;
    BeginCall();
  }
  try {
    statistics.memory = model_->Memory();
    if (state_bytes > 0) AddHostMemory(state_bytes, &statistics.memory);
  } catch (...) {
    // The statistics are then without the memory.
  }
  EndCall();
  return statistics;
}

VersionMetrics ModelVersion::metrics(std::span<const double> quantiles) const {
  VersionMetrics metrics;
  // The windows of the version itself and of each GPU, and where their quantiles go.
  std::vector<std::pair<const LatencyWindow*, std::vector<double>*>> windows;
  {
    std::lock_guard lock(mutex_);
    const auto read = [&](const GpuTotals* totals, const Latencies& latencies,
                          InstanceMetrics* to) {
      to->latencies = latencies.counts();
      if (latencies.window()) windows.emplace_back(latencies.window(), &to->quantiles);
      if (dispatcher_) dispatcher_->AddAnswered(totals, &to->statistics, latencies, &to->latencies);
    };
    metrics.statistics = statistics_;
    AddLayersTo(&metrics.statistics);
    if (!latencies_) return metrics;
    metrics.histograms = latencies_->policy().histograms;
    if (dispatcher_) {
      metrics.pending = dispatcher_->scheduler().waiting();
      metrics.sequences = dispatcher_->scheduler().sequences();
    }
    read(nullptr, *latencies_, &metrics);
    for (const auto& gpu : gpus_) {
      InstanceMetrics& of = metrics.gpus[gpu->device];
      of.statistics = gpu->statistics;
      read(gpu.get(), gpu->latencies, &of);
    }
  }
  // The windows live as long as the version, so they are read without the lock.
  for (const auto& [window, to] : windows) *to = window->AllQuantiles(NowNs(), quantiles);
  return metrics;
}

SequenceFate ModelVersion::FateOf(const SequenceId& id) const {
  std::lock_guard lock(mutex_);
  return dispatcher_ ? dispatcher_->scheduler().FateOf(id) : SequenceFate::kUnknown;
}

BatchHistory ModelVersion::batches() const {
  BatchHistory history;
  history.records.reserve(2 * BatchLog::kMost);
  std::lock_guard lock(mutex_);
  history.now_ns = NowNs();
  history.instances =
      static_cast<size_t>(std::count_if(runners_.begin(), runners_.end(), [](const auto& runner) {
        return runner && !runner->leaving;
      }));
  if (!dispatcher_) return history;
  history.waiting = dispatcher_->scheduler().waiting();
  history.sequences = dispatcher_->scheduler().sequences();
  history.held =
      static_cast<size_t>(std::count_if(runners_.begin(), runners_.end(), [](const auto& runner) {
        return runner && runner->held != nullptr;
      }));
  dispatcher_->CopyBatches(&history.records);
  return history;
}

}  // namespace tritonts
