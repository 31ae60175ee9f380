// An ensemble: an executor that sends a request through a graph of steps, which are other
// executors.
//
// It has no queue, no instance and no thread. A step is submitted on whichever thread delivered the
// last of its tensors (relay.h), by reference to the memory that they are in. The requests that
// travel together are a flight (flight.h).
//
// It serves from Bind until Close. Ending works as for a version (version/model_version.h): after
// Close it is drained when its last request has been answered. Abort fails all requests, and
// cancels what is under way in the steps; it ends when these have answered.
//
// Ownership: the server owns it by a shared pointer. It owns its flights, and shares ownership of
// the versions it is bound to.
//
// Locking: `mutex_` is taken when a flight begins and when it ends, for a step if max_inflight is
// set, and by Cancel, Bind and Abort. Nothing is called out to under it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/ensemble/flight.h"
#include "engine/ensemble/plan.h"
#include "engine/memory/pool.h"
#include "engine/version/served.h"

namespace tritonts {

class Ensemble final : public Served,
                       public ResponseSink,
                       public std::enable_shared_from_this<Ensemble> {
 public:
  // `on_drained` is as for ModelVersion. Throws std::bad_alloc.
  Ensemble(uint32_t uid, std::string name, EnsemblePlan plan, std::function<void()> on_drained);
  ~Ensemble() override;

  // Binds the steps to versions. Requests that come from now on use these.
  Status Bind(std::vector<std::shared_ptr<Served>> versions);

  uint32_t uid() const override { return uid_; }
  const std::string& name() const override { return name_; }
  const ModelIo& io() const override { return plan_.io; }
  bool decoupled() const override { return decoupled_; }
  uint64_t KnownOutputBytes(uint64_t rows) const override;
  // It has no queue: its steps have.
  void SetQueueKeys(RequestHeader* header) const override;
  Statistics statistics() const override;
  VersionMetrics metrics(std::span<const double> quantiles) const override;

  bool started() const override;
  void Close(const Status& reason = {}) override;
  void Destroy() override;
  void Abandon() override;

  // --- The responses of its steps.
  void Deliver(std::span<const Response> responses) override;
  void DeliverAlike(const AlikeResponses& alike) override;
  // Also memory of a device, if all who read the tensor are steps that take it there.
  bool Takes(const Request& request, uint32_t output, MemoryKind kind, int device) const override;
  using Served::Takes;

  // --- For its flights and their relay.
  const EnsemblePlan& plan() const { return plan_; }
  const EnsembleGraph& graph() const { return graph_; }
  BlockPool& pool() { return pool_; }
  const Status& cancelled() const { return cancelled_; }
  const Status& no_memory() const { return no_memory_; }
  // Whether a step may send its requests now. False: it waits, and comes to a relay later.
  bool Admit(FlightStep* step);
  // A step has ended: others may be sent.
  void Leave(FlightStep* step);
  // A flight's requests are about to be answered.
  struct Landing {
    Duration success;
    Duration fail;
    uint64_t cancelled = 0;
    uint64_t step_failed = 0;
    uint64_t rows = 0;
    uint32_t batch_size = 0;
    BatchStatistics times;
    uint64_t queue_ns = 0;
    // The same by request, and when that was.
    std::span<const RunTotals::Part> parts;
    uint64_t now_ns = 0;
  };
  void NoteLanding(const Landing& landing, std::span<Request* const> requests);
  // A flight for a response of a decoupled step. Null: there is no memory.
  Flight* TakeChild(FlightStep* from, const Response& response);
  // Cancels what is under way for a root and its children. The caller holds the bindings.
  void CancelTree(const Flight* root, const EnsembleBindings& bindings);
  // The caller of a root has read. The flight may have ended, and be another one by now.
  void Resume(Flight* flight, uint64_t number);
  // A flight's requests have been answered. `keep`: it is abandoned, and never used again.
  void Return(Flight* flight, uint32_t requests, bool keep);

 private:
  void Accept(std::span<Request* const> requests, uint64_t now_ns,
              InlineTick* tick) noexcept override;
  void CancelAccepted(std::span<Request* const> requests) noexcept override;
  void AbortAccepted(const Status& status) override;
  bool idle() const override;
  Flight* TakeFlight(std::span<Request* const> requests,
                     const std::shared_ptr<const EnsembleBindings>& bindings);
  // Releases a flight that Cancel or Abort has pinned.
  void Unpin(Flight* flight);
  bool DrainedLocked() const { return in_flight_ == 0 && pinned_ == 0; }

  const uint32_t uid_;
  const std::string name_;
  const EnsemblePlan plan_;
  const EnsembleGraph graph_;
  const bool decoupled_;
  const Status unloaded_;
  const Status exits_;
  const Status cancelled_;
  const Status no_memory_;
  BlockPool pool_;

  mutable std::mutex mutex_;  // guards all below
  std::shared_ptr<const EnsembleBindings> bindings_;
  std::vector<std::unique_ptr<Flight>> flights_;
  Flight* free_ = nullptr;
  struct Turn {
    uint32_t in_flight = 0;
    FlightStep* first = nullptr;  // steps that wait for their turn
    FlightStep* last = nullptr;
  };
  std::vector<Turn> turns_;  // by step
  Statistics statistics_;
  Latencies latencies_;
  uint64_t in_flight_ = 0;  // requests without a final response
  uint64_t pinned_ = 0;
  uint64_t begun_ = 0;
  Status refusal_;  // of requests that come when it is closed
  Status aborted_;
  bool closed_ = false;
  bool destroyed_ = false;
};

}  // namespace tritonts
