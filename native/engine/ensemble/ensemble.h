// An ensemble: an executor that sends a request through a graph of steps, which are other
// executors.
//
// It has no queue, no instance and no thread. A step is submitted by the thread that delivered the
// last of its inputs (relay.h). Its requests refer to the memory of the tensors. The requests that
// travel together are a flight (flight.h).
//
// It serves from Bind until Close. It ends like a version (version/model_version.h): after Close it
// is drained when its last request has been answered. Abort fails all requests, and cancels the
// steps' requests. The ensemble's requests end when the steps have answered.
//
// Ownership: the server owns it by a shared pointer. It owns its flights, and shares ownership of
// the versions it is bound to.
//
// Locking: `mutex_` is taken when a flight begins and when it ends, for a step if max_inflight is
// set, and by Cancel, Bind and Abort. No other object's functions are called under it.
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

  // Binds the steps to versions. Later requests use these versions.
  Status Bind(std::vector<std::shared_ptr<Served>> versions);

  uint32_t uid() const override { return uid_; }
  const std::string& name() const override { return name_; }
  const ModelIo& io() const override { return plan_.io; }
  bool decoupled() const override { return decoupled_; }
  bool alone() const override { return alone_.load(std::memory_order_relaxed); }
  uint64_t KnownOutputBytes(uint64_t rows) const override;
  // Clears the keys, because an ensemble has no queue of its own.
  void SetQueueKeys(RequestHeader* header) const override;
  Statistics statistics() const override;
  VersionMetrics metrics(std::span<const double> quantiles) const override;

  bool started() const override;
  void Close(const Status& reason = {}) override;
  void Destroy() override;
  void Abandon() override;

  // --- As the sink of its steps' requests.
  void Deliver(std::span<const Response> responses) override;
  void DeliverAlike(const AlikeResponses& alike) override;
  // Accepts device memory only if all readers of the tensor are steps that take it there.
  bool Takes(const Request& request, uint32_t output, MemoryKind kind, int device) const override;
  using Served::Takes;

  // --- For its flights and their relay.
  const EnsemblePlan& plan() const { return plan_; }
  const EnsembleGraph& graph() const { return graph_; }
  BlockPool& pool() { return pool_; }
  const Status& cancelled() const { return cancelled_; }
  const Status& no_memory() const { return no_memory_; }
  // Whether a step may send its requests now (max_inflight). False: the step was queued, and Leave
  // adds it to a relay later.
  bool Admit(FlightStep* step);
  // A step has ended: waiting steps may be sent.
  void Leave(FlightStep* step);
  // Counts of a flight whose requests are about to be answered.
  struct Landing {
    Duration success;
    Duration fail;
    uint64_t cancelled = 0;
    uint64_t step_failed = 0;
    uint64_t rows = 0;
    uint32_t batch_size = 0;
    BatchStatistics times;
    uint64_t queue_ns = 0;
    // The same for each request, and the time of the landing.
    std::span<const RunTotals::Part> parts;
    uint64_t now_ns = 0;
  };
  void NoteLanding(const Landing& landing, std::span<Request* const> requests);
  // A flight for a response of a decoupled step. Null: there is no memory.
  Flight* TakeChild(FlightStep* from, const Response& response);
  // Cancels the steps' requests of a root and its children. The caller shares ownership of the
  // bindings.
  void CancelTree(const Flight* root, const EnsembleBindings& bindings);
  // Goes on with a root whose caller has read responses. Does nothing if the flight is not number
  // `number` any more.
  void Resume(Flight* flight, uint64_t number);
  // Returns a flight whose requests have been answered. `keep`: the flight is abandoned, and never
  // used again.
  void Return(Flight* flight, uint32_t requests, bool keep);

 private:
  void Accept(std::span<Request* const> requests, uint64_t now_ns,
              InlineTime* inline_time) noexcept override;
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
  std::atomic<bool> alone_{false};  // of the present bindings
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
    FlightStep* first = nullptr;  // list of the steps that wait for their turn
    FlightStep* last = nullptr;
  };
  std::vector<Turn> turns_;  // by step
  Statistics statistics_;
  Latencies latencies_;
  uint64_t in_flight_ = 0;  // requests without a final response
  uint64_t pinned_ = 0;
  uint64_t begun_ = 0;
  Status refusal_;  // for requests that come after Close
  Status aborted_;
  bool closed_ = false;
  bool destroyed_ = false;
};

}  // namespace tritonts
