// Binds, counts and ends an ensemble, and gives steps their turn if they have a limit
// (max_inflight).
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/rules.h"
#include "engine/ensemble/ensemble.h"
#include "engine/ensemble/relay.h"

namespace tritonts {

Status Ensemble::Bind(std::vector<std::shared_ptr<Served>> versions) {
  Status reason;
  // Dropped after the lock is released: the last use of a version wakes the reaper.
  std::shared_ptr<const EnsembleBindings> before;
  try {
    before = EnsembleBindings::Make(name_, plan_, std::move(versions), &reason);
  } catch (const std::bad_alloc&) {
    return no_memory_;
  }
  if (!before) return reason;
  {
    std::lock_guard lock(mutex_);
    if (destroyed_) return unloaded_;
    alone_.store(before->alone(), std::memory_order_relaxed);
    bindings_.swap(before);
  }
  RenewLayers();
  return Status::Ok();
}

void Ensemble::AbortAccepted(const Status& status) {
  const std::shared_ptr<Ensemble> self = shared_from_this();
  Relay relay;
  FlightStep* waiting = nullptr;
  {
    std::lock_guard lock(mutex_);
    aborted_ = refusal_ = status;
    for (Turn& turn : turns_) {
      while (FlightStep* step = turn.first) {
        turn.first = step->next;
        step->next = std::exchange(waiting, step);
      }
      turn.last = nullptr;
    }
  }
  for (size_t i = 0;; i++) {
    Flight* flight = nullptr;
    {
      std::lock_guard lock(mutex_);
      if (i >= flights_.size()) break;
      flight = flights_[i].get();
      if (flight->idle) continue;
      flight->pins++;
      pinned_++;
    }
    flight->Fail(status);
    Unpin(flight);
  }
  // Their flights have failed now, so these steps end when a relay submits them.
  while (FlightStep* step = waiting) {
    waiting = step->next;
    relay.Current().AddReady(step);
  }
}

void Ensemble::NoteLanding(const Landing& landing, std::span<Request* const> requests) {
  std::lock_guard lock(mutex_);
  // From now on these requests cannot be cancelled.
  for (Request* request : requests) request->queued = false;
  statistics_.success.Add(landing.success.count, landing.success.ns);
  statistics_.fail.Add(landing.fail.count, landing.fail.ns);
  statistics_.cancelled += landing.cancelled;
  statistics_.backend_failed += landing.step_failed;
  latencies_.Add(landing.parts, landing.now_ns);
  const uint64_t ok = landing.success.count;
  if (ok == 0) return;
  statistics_.last_inference_ms = WallMs();
  statistics_.inference_count += landing.rows;
  statistics_.execution_count += ok;
  statistics_.queue.Add(ok, landing.queue_ns);
  const BatchStatistics& times = landing.times;
  const auto add = [](Duration* sum, const Duration& one) { sum->Add(one.count, one.ns); };
  add(&statistics_.compute_input, times.compute_input);
  add(&statistics_.compute_infer, times.compute_infer);
  add(&statistics_.compute_output, times.compute_output);
  try {
    BatchStatistics& batch = statistics_.batches[landing.batch_size];
    add(&batch.compute_input, times.compute_input);
    add(&batch.compute_infer, times.compute_infer);
    add(&batch.compute_output, times.compute_output);
  } catch (const std::bad_alloc&) {
    // There was no memory for the entry of a new batch size. This landing is not counted there.
  }
}

bool Ensemble::Admit(FlightStep* step) {
  // The step may already have been admitted.
  if (plan_.max_inflight == 0 || step->admitted > 0) return true;
  // A call that waited for its turn could wait for itself.
  if (step->flight->is_call()) return true;
  // A decoupled step ends only when its reader has all responses, including responses of later
  // steps. If it waited for its turn, it could wait for itself.
  if (plan_.steps[step->number].decoupled) return true;
  const uint32_t requests = step->flight->Alive();
  if (requests == 0) return true;
  std::lock_guard lock(mutex_);
  Turn& turn = turns_[step->number];
  const bool fits = turn.in_flight + requests <= plan_.max_inflight && !turn.first;
  if (fits || !aborted_.ok()) {
    turn.in_flight += requests;
    step->admitted = requests;
    return true;
  }
  step->next = nullptr;
  (turn.last ? turn.last->next : turn.first) = step;
  turn.last = step;
  return false;
}

void Ensemble::Leave(FlightStep* step) {
  if (step->admitted == 0) return;
  FlightStep* first = nullptr;
  FlightStep* last = nullptr;
  {
    std::lock_guard lock(mutex_);
    Turn& turn = turns_[step->number];
    turn.in_flight -= std::exchange(step->admitted, 0);
    while (turn.first && turn.in_flight + turn.first->flight->count() <= plan_.max_inflight) {
      FlightStep* const next = turn.first;
      turn.first = next->next;
      next->next = nullptr;
      next->admitted = next->flight->count();
      turn.in_flight += next->admitted;
      (last ? last->next : first) = next;
      last = next;
    }
    if (!turn.first) turn.last = nullptr;
  }
  while (first) {
    FlightStep* const next = first;
    first = first->next;
    Relay::Current().AddReady(next);
  }
}

Statistics Ensemble::statistics() const {
  Statistics statistics;
  {
    std::lock_guard lock(mutex_);
    statistics = statistics_;
  }
  AddLayersTo(&statistics);
  return statistics;
}

VersionMetrics Ensemble::metrics(std::span<const double> quantiles) const {
  VersionMetrics metrics;
  {
    std::lock_guard lock(mutex_);
    metrics.statistics = statistics_;
    metrics.latencies = latencies_.counts();
  }
  AddLayersTo(&metrics.statistics);
  metrics.histograms = latencies_.policy().histograms;
  const LatencyWindow* const window = latencies_.window();
  if (window) metrics.quantiles = window->AllQuantiles(NowNs(), quantiles);
  return metrics;
}

bool Ensemble::started() const {
  std::lock_guard lock(mutex_);
  return bindings_ != nullptr;
}

void Ensemble::Close(const Status& reason) {
  bool drained = false;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    if (!reason.ok()) refusal_ = reason;
    drained = DrainedLocked();
  }
  if (drained) on_drained_();
}

bool Ensemble::idle() const {
  std::lock_guard lock(mutex_);
  return DrainedLocked();
}

void Ensemble::Destroy() {
  RetireLayers();
  std::shared_ptr<const EnsembleBindings> bindings;
  std::lock_guard lock(mutex_);
  TRITONTS_ASSERT(DrainedLocked(), "an ensemble was destroyed with requests in flight");
  destroyed_ = true;
  bindings.swap(bindings_);
}

void Ensemble::Abandon() {
  // Nothing to do: the versions whose runs did not return are abandoned, too, and that ends the
  // ensemble's requests.
}

}  // namespace tritonts
