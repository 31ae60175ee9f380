// What a server serves under a uid: a version of a model (model_version.h), or an ensemble
// (ensemble/ensemble.h). The reaper ends all of them in the same steps (server/retirement.h).
//
// Any thread may call any function, unless its comment says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/memory/memory_copier.h"
#include "engine/request/executor.h"
#include "engine/statistics/latencies.h"
#include "engine/statistics/statistics.h"
#include "engine/version/layers.h"

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

// Requests pass its layers (request/layer.h), where it has any, before it accepts them itself.
class Served : public Executor {
 public:
  ~Served() override;

  void Submit(std::span<Request* const> requests, uint64_t now_ns,
              InlineTick* tick = nullptr) noexcept final {
    if (layers_) return layers_->Submit(requests, now_ns, tick);
    Accept(requests, now_ns, tick);
  }
  void Cancel(std::span<Request* const> requests) noexcept final {
    if (layers_) return layers_->Cancel(requests);
    CancelAccepted(requests);
  }
  // Puts a layer around the model, inside of those that are there. Before requests may be prepared
  // for it; by one thread at a time. Throws std::bad_alloc.
  void Wrap(std::unique_ptr<Layer> layer);

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
  // Whether no request and no run is left, in it or in its layers.
  bool drained() const { return (!layers_ || layers_->idle()) && idle(); }
  void Abort(const Status& status) {
    if (layers_) layers_->Abort(status);
    AbortAccepted(status);
  }
  virtual void Destroy() = 0;
  virtual void Abandon() = 0;
  virtual bool LeaveToStart() { return false; }

  // --- Users. An ensemble uses the versions of its steps, from when it is bound to them until its
  // last request that began with them has ended. A request in a layer uses the version that it may
  // be passed on to. A version with users takes requests until the limit of its retirement,
  // although it is published no more.
  void Use(uint32_t users = 1) { users_.fetch_add(users, std::memory_order_relaxed); }
  void DropUse(uint32_t users = 1) {
    if (users_.fetch_sub(users, std::memory_order_acq_rel) == users) on_drained_();
  }
  bool used() const { return users_.load(std::memory_order_acquire) > 0; }

 protected:
  // `on_drained` is called when it is closed and drained, and when its last user is gone: on any
  // thread, with no lock held.
  explicit Served(std::function<void()> on_drained) : on_drained_(std::move(on_drained)) {}

  // What Submit, Cancel, Abort and drained are without layers.
  virtual void Accept(std::span<Request* const> requests, uint64_t now_ns,
                      InlineTick* tick) noexcept = 0;
  virtual void CancelAccepted(std::span<Request* const> requests) noexcept = 0;
  virtual void AbortAccepted(const Status& status) = 0;
  virtual bool idle() const = 0;

  const std::function<void()> on_drained_;

 private:
  std::atomic<uint32_t> users_{0};
  // Null: there are none. Freed first: a layer's destructor may wait for a call that ends a use.
  std::unique_ptr<Layers> layers_;
};

}  // namespace tritonts
