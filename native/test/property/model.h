// A second, minimal implementation of what a version must do with requests: no locks, threads or
// recycled memory, just queues and lists.
//
// Each function is a call of the version, or a backend's call of a run. It decides the results at
// once: the batches that instances get (`next`, `runs`), and the responses that requests get
// (`expected`). The player compares them with the engine. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/scheduling/batch.h"
#include "sequences.h"

namespace tritonts::test {

// The queue policy of a level.
struct LevelSetup {
  bool delays = false;        // late requests go behind the others; otherwise they end
  uint64_t timeout_ns = 0;    // 0: no timeout
  bool may_override = false;  // requests may have a timeout, if it is shorter or the only one
  uint32_t most = 0;          // maximum number of waiting requests; 0: no limit
};

struct QueueSetup {
  uint32_t levels = 0;
  uint32_t usual_level = 0;
  LevelSetup general;
  std::map<uint32_t, LevelSetup> own;
};

// The configuration of a version.
struct Setup {
  std::vector<bool> asynchronous;   // by instance
  uint32_t max_batch_size = 0;      // 0: no batching
  std::vector<uint32_t> preferred;  // sizes
  uint64_t delay_ns = 0;
  std::optional<QueueSetup> queue;
  std::optional<SequenceSetup> sequences;
  bool across = false;   // requests with other shapes are passed over
  bool ordered = false;  // responses leave in the order of their requests
  bool adds = false;     // batches carry more than requests (clocked_scheduler.h)
  bool ragged = false;   // requests of any width run together
  uint32_t gate = 0;     // number of instances that may run at a time; 0: no limit
  bool halves = false;   // a batch that fails as a whole runs again in halves
  bool runs_inline = false;
  bool has_device = false;
  // Whether output 1 stays in the engine.
  bool keeps() const { return adds || (sequences && sequences->state); }
  // Whether a request may get several responses. Such versions never run inline. In schedules,
  // blocking instances respond only once.
  bool decoupled() const {
    return !runs_inline &&
           std::find(asynchronous.begin(), asynchronous.end(), false) == asynchronous.end();
  }
  // Whether instances may come and go. Those that come are blocking, as the others are.
  bool changes() const {
    return std::find(asynchronous.begin(), asynchronous.end(), true) == asynchronous.end();
  }
  // Instances that came later have numbers beyond the list's end.
  bool is_asynchronous(uint32_t instance) const {
    return instance < asynchronous.size() && asynchronous[instance];
  }
};

// A response that a request must get.
struct Expected {
  Code code = Code::kOk;
  bool final = true;
  bool ran = false;
  bool unserved = false;
  bool abandoned = false;
  bool limited = false;
  uint32_t rows = 0;               // of its batch
  std::vector<float> values = {};  // of its output; empty: none
  bool quiet = false;  // sent from within another call of the engine: no step runs inside it
};

struct ModelRun;

// A request, from Submit until its final response.
struct Life {
  static constexpr uint32_t kUnbound = ~0u;
  uint32_t id = 0;
  uint32_t header = 0;  // id of the first request with the same header
  uint32_t rows = 1;
  uint32_t width = 1;  // unless inputs are ragged, only requests of equal width run together
  uint32_t bound = kUnbound;
  uint64_t arrival_ns = 0;
  uint32_t priority = 0;
  uint64_t timeout_ns = 0;  // the request's own; 0: none
  uint64_t sequence = 0;    // the id of its sequence; 0: none
  bool start = false;       // its flags, as a control tensor shows them
  bool end = false;
  bool accepted = false;
  bool cancelled = false;
  bool released = false;
  bool ended = false;
  ModelRun* run = nullptr;  // the last run that contained it
  std::deque<Expected> expected;
};

struct ModelRun {
  uint32_t id = 0;
  uint32_t instance = 0;
  std::vector<Life*> batch;
  std::vector<bool> done;      // by position
  std::vector<uint32_t> slot;  // by position: its slot in the engine's batch
  uint32_t slots = 0;          // requests and null rows
  uint32_t rows = 0;
  ClosedBy closed_by = ClosedBy::kNothingMore;
  bool begun = false;
  bool returned = false;      // Execute has returned
  bool freed = false;         // its instance is free
  bool late = false;          // or is when the run has ended
  bool ended = false;         // its sequences have no request that runs
  uint32_t deliveries = 0;    // under way
  uint32_t rescheduling = 0;  // calls of Reschedule that are under way, and hold it
  bool passed = true;         // it no longer delays responses of later runs
  bool half = false;          // half of a batch that failed
  bool repeatable = false;    // it may still fail as a whole: nothing was responded yet
  bool failed_whole = false;  // it failed as a whole, and Execute has not returned
  uint32_t ok = 0;
  uint32_t ok_rows = 0;
  uint32_t failed = 0;
  uint32_t cancelled = 0;

  bool all_done() const;
  // The run has ended completely: only the holder of a reference may touch it.
  bool over() const { return all_done() && returned && freed && passed; }
};

// The counts of Statistics.
struct Counts {
  uint64_t success = 0;
  uint64_t fail = 0;
  uint64_t cancelled = 0;
  uint64_t rejected = 0;
  uint64_t refused = 0;
  uint64_t rows = 0;
  uint64_t executions = 0;
  uint64_t reruns = 0;
  std::map<uint32_t, uint64_t> batches;  // by rows
  bool operator==(const Counts&) const = default;
};

class VersionModel {
 public:
  static constexpr uint32_t kAll = ~0u;

  explicit VersionModel(Setup setup);

  // --- Calls of the version.
  void Submit(const std::vector<Life*>& lives);
  void Cancel(const std::vector<Life*>& lives);
  void OnTimer() { Ask(kNobody); }
  // `reason`: of the abort; kOk: no abort.
  void Close(Code reason = Code::kOk);
  void Abort(Code code);
  void Terminate();
  void Abandon();
  // Removes these instances, which are not gone, and adds others. Fills in their numbers.
  Code ChangeInstances(const std::set<uint32_t>& removed, uint32_t added,
                       std::vector<uint32_t>* numbers);
  // The removed instances for which nothing is left are gone.
  void RemoveLeft();

  // --- Calls of runs.
  //
  // Execute is called for an instance: returns its assigned run, or null.
  ModelRun* Begin(uint32_t instance);
  // Execute returned or threw.
  void Returned(ModelRun* run, bool threw = false);
  void InstanceFree(ModelRun* run);
  // `values`: of the output, by position; empty: none declared. `kept`: the same, of the output
  // that the engine keeps.
  void Respond(ModelRun* run, uint32_t position, Code code, bool final,
               const std::vector<std::vector<float>>& values,
               const std::vector<std::vector<float>>& kept);
  void Release(ModelRun* run, uint32_t position);
  void Reschedule(ModelRun* run, uint32_t position);
  // Whether a response to the request is held back for its order.
  bool Holds(const ModelRun* run, uint32_t position);

  // --- The other version at the gate, whose only instance comes and goes.
  void NeighbourComes();
  // Ends the sequences of runs that have ended, and frees the instances that waited for that.
  void FreeLate();
  // The innermost call of Reschedule that is under way has dropped its hold.
  void DroppedHold();
  // The innermost call of Reschedule is over.
  void Rescheduled();
  // Responses of these runs begin to be delivered, or were.
  void Delivering(std::span<ModelRun* const> runs);
  void Delivered(std::span<ModelRun* const> runs);
  // Its batch has ended.
  void NeighbourLeaves();
  bool neighbour_waits() const { return std::count(line_.begin(), line_.end(), kNeighbour) > 0; }
  bool neighbour_inside() const { return inside_.count(kNeighbour) > 0; }

  // --- Observable state.
  uint64_t now_ns = 1'000'000;
  // The waiting requests, in the order in which they are served.
  std::vector<Life*> queue() const;
  const std::vector<std::unique_ptr<ModelRun>>& runs() const { return runs_; }
  // The batch assigned to an instance for which Execute was not called yet.
  const ModelRun* next(uint32_t instance) const { return instances_[instance].next; }
  bool occupied(uint32_t instance) const { return instances_[instance].occupied; }
  // The numbers of the instances that are not gone.
  std::set<uint32_t> present() const { return {order_.begin(), order_.end()}; }
  // Whether nothing is left for some removed instance.
  bool any_left() const;
  bool drained() const;
  bool closed() const { return closed_; }
  bool abandoned() const { return abandoned_; }
  bool terminated() const { return terminated_; }
  // How many calls of Terminate the instances have got.
  uint32_t terminations() const { return terminations_; }
  // The latest time of the version's next wake-up; 0: none.
  uint64_t wake_ns() const;
  Counts counts() const;
  // The number of kept outputs.
  uint64_t kept() const { return kept_; }
  // The state that a request that runs has got.
  std::vector<float> StateOf(const Life* life) const { return sequences_->StateOf(life); }

 private:
  static constexpr uint32_t kNobody = ~0u;
  // The other version's instance, at the gate.
  static constexpr uint32_t kNeighbour = ~1u;
  struct InstanceState {
    bool occupied = false;
    bool leaving = false;
    ModelRun* next = nullptr;
    ModelRun* held = nullptr;      // waits at the gate
    std::deque<ModelRun*> halves;  // halves that it runs before the next batch
  };

  // The waiting requests of a level.
  struct Waiting {
    std::deque<Life*> in_time;
    std::deque<Life*> delayed;
  };
  // A request's turn to respond.
  struct Turn {
    ModelRun* run = nullptr;
    uint32_t position = 0;
    std::deque<Expected> held;
    bool over = false;  // the run sends no further response
  };
  // The requests that may run together with the first one.
  struct Head {
    std::vector<Life*> batch;    // all that may run together
    std::vector<uint32_t> rows;  // total after each request
    uint64_t oldest_ns = 0;      // arrival of the oldest of these
    uint64_t first_ns = 0;       // the same, including requests that they passed over
    bool closed = false;         // later requests cannot join
    ClosedBy closed_by = ClosedBy::kNothingMore;
  };

  uint32_t LevelOf(const Life& life) const;
  LevelSetup SetupOf(uint32_t level) const;
  uint64_t ExpiresAt(const Life& life) const;  // 0: never
  bool Forget(Life* life);                     // false: it is not waiting
  bool MayRemove(uint32_t instance) const;
  Head HeadOf(const std::vector<Life*>& eligible) const;
  void Expire();
  std::vector<Life*> EligibleFor(uint32_t instance) const;
  // The requests that run together now, and why no more do; empty: they wait.
  std::vector<Life*> BatchOf(const std::vector<Life*>& eligible, ClosedBy* closed_by) const;
  // The slots of the next batch of an instance; null: an empty one; none: there is no batch.
  std::vector<Life*> SlotsOf(uint32_t instance, ClosedBy* closed_by) const;
  // Whether both are of one level, and both in time or both late.
  bool SamePart(const Life* one, const Life* other) const;
  void Ask(uint32_t awake);
  void Offer(uint32_t instance);
  // Makes a run of these requests and null rows, whose turns are at `turn`.
  ModelRun* MakeRun(uint32_t instance, const std::vector<Life*>& slots,
                    std::deque<Turn>::iterator turn);
  // Whether nothing is left to do for a run, and its responses were delivered.
  bool HasEnded(const ModelRun& run) const;
  void EndSequences(ModelRun* run);
  // An instance leaves the gate. Returns the instances that it lets in; they begin after all others
  // were asked.
  std::vector<uint32_t> Leave(uint32_t instance);
  void BeginHeld(const std::vector<uint32_t>& let_in);
  // Withdraws runs that wait at the gate.
  void Withdraw(Code code);
  void Halve(ModelRun* run);
  bool Queue(Life* life);
  // Ends a request that is not in a run.
  void Fail(Life* life, Code code, bool quiet = false);
  void RespondTo(ModelRun* run, uint32_t position, const Expected& response);
  Turn& TurnOf(const ModelRun* run, uint32_t position);
  // Sends the responses whose turn it is; all, once nothing is held back any more.
  void GiveHeld(bool quiet);
  static void Give(Life* life, const Expected& response);
  // A blocking instance is free because its Execute has returned.
  void SetFree(ModelRun* run);
  void FreeInstanceOf(ModelRun* run, uint32_t awake);

  const Setup setup_;
  std::vector<uint32_t> preferred_;
  std::vector<InstanceState> instances_;  // by number
  std::vector<uint32_t> order_;           // numbers, in the order in which they are asked
  std::set<uint32_t> inside_;             // the gate
  std::deque<uint32_t> line_;             // at the gate
  uint64_t kept_ = 0;
  std::optional<SequenceModel> sequences_;
  std::map<uint32_t, Waiting> waiting_;  // by level
  // By header: the order in which its requests began to wait in time.
  std::map<uint32_t, uint64_t> header_turns_;
  uint64_t turns_given_ = 0;
  std::deque<Turn> turns_;
  std::vector<std::unique_ptr<ModelRun>> runs_;
  // The runs of the calls of Reschedule that are under way, outermost first; null: without a hold.
  std::vector<ModelRun*> rescheduling_;
  uint64_t open_ = 0;  // accepted, and not ended
  uint64_t failed_ = 0;
  uint64_t failed_cancelled_ = 0;
  uint64_t expired_ = 0;  // part of failed_
  uint64_t refused_ = 0;
  Code aborted_ = Code::kOk;
  Code refusal_ = Code::kUnavailable;  // for requests after Close
  bool closed_ = false;
  bool terminated_ = false;
  bool abandoned_ = false;
  uint32_t terminations_ = 0;
};

}  // namespace tritonts::test
