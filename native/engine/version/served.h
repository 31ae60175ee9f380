// The base of a model's version (model_version.h) and of an ensemble (ensemble/ensemble.h), which a
// server serves under a uid. The reaper ends both in the same steps (server/retirement.h).
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
#include "engine/scheduling/sequence_counts.h"
#include "engine/statistics/latencies.h"
#include "engine/statistics/statistics.h"
#include "engine/trace/tracer.h"
#include "engine/version/layers.h"

namespace tritonts {

// The statistics and latencies of instances.
struct InstanceMetrics {
  Statistics statistics;
  LatencyCounts latencies;
  // The requested quantiles of each phase, in nanoseconds. Empty if no window is kept.
  std::vector<double> quantiles;
};

// The metrics of a version. Its own numbers count the instances on the CPU, and requests that ended
// without a run.
struct VersionMetrics : InstanceMetrics {
  uint64_t pending = 0;  // requests that are in no run
  SequenceCounts sequences;
  bool histograms = false;              // whether the histograms of the phases are kept
  std::map<int, InstanceMetrics> gpus;  // by device: the instances on it
};

// An executor whose requests pass its layers (request/layer.h), if it has any, before it accepts
// them.
class Served : public Executor {
 public:
  ~Served() override;
  // Whether requests of an ensemble must not travel together to it, because they are of sequences
  // and wait for different times. The answer of an ensemble follows from those of its steps.
  virtual bool alone() const { return false; }

  void Submit(std::span<Request* const> requests, uint64_t now_ns,
              InlineTime* inline_time = nullptr) noexcept final {
    if (tracer_ && tracer_->on()) tracer_->Begin(traced_, requests, now_ns);
    if (layers_) return layers_->Submit(requests, now_ns, inline_time);
    Accept(requests, now_ns, inline_time);
  }
  void Cancel(std::span<Request* const> requests) noexcept final {
    if (layers_) return layers_->Cancel(requests);
    CancelAccepted(requests);
  }
  // Adds a layer around the model, inside of its other layers. Not thread-safe, and only before
  // requests may be prepared for the model. Throws std::bad_alloc.
  void AddLayer(std::unique_ptr<Layer> layer);

  // Lets its requests be traced, with this number as its version. Not thread-safe, and only before
  // requests may be prepared for the model.
  void SetTracer(std::shared_ptr<Tracer> tracer, int64_t version, bool runs) {
    tracer_ = std::move(tracer);
    traced_ = {name(), version, runs};
  }
  // Tells the layers what stands for the content of the model (Layer::Identify). Throws
  // std::bad_alloc.
  void Identify(const std::string& identity) {
    if (layers_) layers_->Identify(identity);
  }

  virtual uint32_t uid() const = 0;
  // Counts every request whose final response was delivered. Throws std::bad_alloc.
  virtual Statistics statistics() const = 0;
  virtual VersionMetrics metrics(std::span<const double> quantiles) const = 0;
  // Facts about the runtime; empty if there are none.
  virtual std::map<std::string, std::string> Info() const { return {}; }
  // Whether the start succeeded, so that requests may be prepared.
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
  // How long a retirement waits for accepted requests before it aborts them; kWaitsForAll: until
  // they have ended.
  static constexpr uint64_t kWaitsForAll = UINT64_MAX;
  virtual uint64_t unload_wait_ns() const { return kWaitsForAll; }

  // --- Users. An ensemble uses the versions of its steps, from its binding to them until the last
  // request that began with them has ended. A request in a layer uses the version behind the layer.
  // A version with users accepts requests until the limit of its retirement, although it is no
  // longer published.
  void Use(uint32_t users = 1) { users_.fetch_add(users, std::memory_order_relaxed); }
  void DropUse(uint32_t users = 1) {
    if (users_.fetch_sub(users, std::memory_order_acq_rel) == users) on_drained_();
  }
  bool used() const { return users_.load(std::memory_order_acquire) > 0; }

 protected:
  // `on_drained` is called when this is closed and drained, and when its last user is gone. It is
  // called on any thread, with no lock held.
  explicit Served(std::function<void()> on_drained) : on_drained_(std::move(on_drained)) {}

  // Submit, Cancel, Abort and drained without the layers.
  virtual void Accept(std::span<Request* const> requests, uint64_t now_ns,
                      InlineTime* inline_time) noexcept = 0;
  virtual void CancelAccepted(std::span<Request* const> requests) noexcept = 0;
  virtual void AbortAccepted(const Status& status) = 0;
  virtual bool idle() const = 0;

  // Tells the layers that answers may differ from now on (Layer::Renew).
  void RenewLayers() {
    if (layers_) layers_->Renew();
  }
  // Tells the layers that no request comes any more (Layer::Retire). Called by Destroy.
  void RetireLayers() {
    if (layers_) layers_->Retire();
  }
  // Adds what the layers have answered themselves.
  void AddLayersTo(Statistics* statistics) const;

  // Frees the layers, which may still be in a call of Accept or CancelAccepted, and waits for that.
  // The destructor of each derived class calls it first, while those functions may still be called.
  void EndLayers();

  const std::function<void()> on_drained_;

 private:
  std::atomic<uint32_t> users_{0};
  std::shared_ptr<Tracer> tracer_;  // null: nothing is traced
  TracedModel traced_;
  // Null: there are none. EndLayers frees them.
  std::unique_ptr<Layers> layers_;
};

}  // namespace tritonts
