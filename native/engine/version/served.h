// What a server serves under a uid: a version of a model (model_version.h), or an ensemble
// (ensemble/ensemble.h). The reaper ends all of them in the same steps (server/retirement.h).
//
// Any thread may call any function, unless its comment says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/memory/memory_copier.h"
#include "engine/request/executor.h"
#include "engine/statistics/latencies.h"
#include "engine/statistics/statistics.h"

namespace tritonts {

// What instances did.
struct InstanceMetrics {
  Statistics statistics;
  LatencyCounts latencies;
  // By phase: the quantiles that were asked for, in nanoseconds. Empty if no window is kept.
  std::vector<double> quantiles;
};

// What the metrics of a version show. Its own numbers are those of the instances on the CPU, and of
// requests that no instance had.
struct VersionMetrics : InstanceMetrics {
  uint64_t pending = 0;                 // requests that are in no run
  bool histograms = false;              // whether the histograms of the phases are kept
  std::map<int, InstanceMetrics> gpus;  // of the instances on each
};

class Served : public Executor {
 public:
  virtual uint32_t uid() const = 0;
  // Counts every request whose final response was delivered. Throws std::bad_alloc.
  virtual Statistics statistics() const = 0;
  virtual VersionMetrics metrics(std::span<const double> quantiles) const = 0;
  // Facts about the runtime; empty if there are none.
  virtual std::map<std::string, std::string> Info() const { return {}; }
  // Whether its requests may have input `input` in memory of this kind on this device. Only when it
  // has started; it does not change.
  virtual bool Takes(uint32_t /*input*/, MemoryKind kind, int /*device*/) const {
    return IsHostMemory(kind);
  }
  // Whether requests may be prepared for it.
  virtual bool started() const = 0;
  // Whether it is being started. Until that has ended, it may be closed, but not destroyed.
  virtual bool starting() const { return false; }
  // Whether it runs its warm-up. Then Abort and Abandon may be called, too.
  virtual bool warming() const { return false; }

  // --- Ending; see model_version.h.
  virtual void Close(const Status& reason = {}) = 0;
  virtual bool drained() const = 0;
  virtual void Abort(const Status& status) = 0;
  virtual void Destroy() = 0;
  virtual void Abandon() = 0;
  virtual bool LeaveToStart() { return false; }

  // --- Users. An ensemble uses the versions of its steps, from when it is bound to them until its
  // last request that began with them has ended. A version with users takes requests until the
  // limit of its retirement, although it is published no more.
  void Use() { users_.fetch_add(1, std::memory_order_relaxed); }
  void DropUse() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) OnUnused();
  }
  bool used() const { return users_.load(std::memory_order_acquire) > 0; }

 protected:
  // The last user is gone. Called with no lock held.
  virtual void OnUnused() = 0;

 private:
  std::atomic<uint32_t> users_{0};
};

}  // namespace tritonts
