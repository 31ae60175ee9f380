// The engine's implementation of a run (backend.h): one batch in an instance. It delegates to its
// objects, each of which has the state of one idea.
//
//   members     the requests, and which of them are open       (run_members.h, with the run's lock)
//   life        holds, references, what the version is told    (run_life.h)
//   clock       time stamps                                    (run_clock.h)
//   outputs     what was declared                              (run_outputs.h)
//   places      where outputs are written                      (output_places.h, output_memory.h)
//   responder   makes and delivers responses                   (responder.h, scarce_responder.h)
//   ordered     delivers them in the version's order           (ordered_responder.h)
//   account     what they add up to                            (response_account.h)
//   pace        how fast the callers of streams read           (stream_pace.h)
//   rerun       whether the batch is run again in halves       (rerun.h)
//   additions   what the engine adds to the batch              (batch_additions.h)
//
// Ownership: runs are pooled. An idle run belongs to its version's pool; `life` says when it is
// idle. A run contains its objects by value, so that a batch allocates nothing. Threads: any thread
// that holds the run may call the functions of backend.h. The other functions state their rules.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/backend.h"
#include "engine/batch/batch_additions.h"
#include "engine/batch/ordered_responder.h"
#include "engine/batch/output_memory.h"
#include "engine/batch/output_places.h"
#include "engine/batch/rerun.h"
#include "engine/batch/responder.h"
#include "engine/batch/response_account.h"
#include "engine/batch/run_clock.h"
#include "engine/batch/run_life.h"
#include "engine/batch/run_members.h"
#include "engine/batch/run_outputs.h"
#include "engine/batch/scarce_responder.h"
#include "engine/batch/stream_pace.h"
#include "engine/request/request_chain.h"
#include "engine/scheduling/batch.h"
#include "engine/statistics/batch_log.h"
#include "engine/statistics/latencies.h"
#include "engine/statistics/statistics.h"

namespace tritonts {

class PooledRun final : public Run {
 public:
  PooledRun() = default;
  ~PooledRun() override = default;

  // --- For the version.

  // Gives an idle run a batch for an instance. Called under the version's lock. Throws
  // std::bad_alloc; then the run is still idle and the requests are unchanged. With a response
  // order, the run's place is behind all other runs, or directly behind `behind`.
  void Assign(std::span<Request* const> batch, uint64_t number, const RunContext* context,
              InstanceRunner* runner, std::shared_ptr<RunOwner> owner, PooledRun* behind = nullptr);
  // Reserves room for `requests`, so that Assign does not throw. Throws std::bad_alloc.
  void MakeRoom(size_t requests, const RunContext* context);
  // Prepares what the engine injects into the batch, before Assign. Empty slots of the batch become
  // null rows. Throws std::bad_alloc. If this or Assign throws, ClearInjected undoes it.
  void Inject(Batch* batch, BlockPool* pool);
  void ClearInjected();
  uint32_t null_rows() const { return additions_.null_rows(); }
  size_t size() const { return members_.size(); }
  // Takes the batch back from a run that has not begun, so that its requests can be queued again.
  // Called under the version's lock. The caller then drops the run. Does not allocate.
  void Disband(RequestChain* requests);
  InstanceRunner* runner() const { return life_.runner(); }
  // Called under the version's lock when a thread takes the run to Execute. Disband is no longer
  // allowed then.
  void SetUnderWay() { life_.SetUnderWay(); }

  // The next functions are for the thread that calls Execute. Begin is called before Execute.
  void Begin(uint64_t now_ns);
  // Called after Execute. Fails requests that a blocking instance left open. False: the run was
  // abandoned meanwhile and must not be touched.
  bool Returned();
  // The time from Begin until the outputs were computed. Called while the thread has the hold of
  // Execute.
  uint64_t ran_ns();
  // Whether a request got a response that is ok. Called while the thread has the hold of Execute.
  bool answered();
  // Called last: drops the hold of Execute and, with `free`, the instance's. True: these were the
  // last holds.
  bool EndExecute(bool free) { return life_.ReleaseHolds(free ? 2 : 1); }
  // Marks the instance as free. False: an earlier call did so. Any thread may call it.
  bool FreeInstance() { return life_.FreeInstance(); }

  // --- Halves (halves.cc). Whether the backend responded with one error to all requests, which may
  // be run again in other runs. Then the requests are open and their sinks have got no response.
  // Returned delivers the error to requests that are still in this run. Called between Execute and
  // Returned.
  bool failed() const { return members_.suspended(); }
  // The rest is called under the version's lock. Lists the requests that are open and not
  // cancelled. Throws std::bad_alloc only if `requests` lacks capacity.
  void ListOpen(std::vector<Request*>* requests) { rerun_.ListOpen(requests); }
  // The time when Execute was called.
  uint64_t began_ns();
  // Requeue marks these requests as queued for other runs. ReleaseHoldsOf drops their holds once
  // they are in other runs.
  void Requeue(std::span<Request* const> requests) { rerun_.Requeue(requests); }
  void ReleaseHoldsOf(std::span<Request* const> requests);
  // Marks the run as one of requests whose batch failed before.
  void SetRepeated() { account_.SetRepeated(); }
  PooledRun* next_half = nullptr;  // link of InstanceRunner::halves; under the version's lock

  // Adds a run without holds to the statistics. Called under the version's lock. Returns how many
  // requests ended.
  size_t Account(Statistics* statistics, Latencies* latencies = nullptr);
  // Adds the responses so far of a run that Account was not called for. Called under the version's
  // lock.
  void AddAnswered(Statistics* statistics);
  // Adds the latencies of the responses so far to `counts`, a copy of the counts of `latencies`.
  void AddAnswered(const Latencies& latencies, LatencyCounts* counts);

  // Abandons the run: responds to requests that are not done, and ignores later calls of the
  // backend. True: Execute is under way. The run is never freed. Does not allocate.
  bool Abandon(const Status& status);

  uint64_t batch_class = 0;  // class in the version's RunTimes; under the version's lock
  BatchRecord record;        // for the dispatcher's log; under the version's lock
  // The sequences of its requests (Batch::sequences); under the version's lock.
  Sequence* sequences = nullptr;
  // Links of the version's list of runs under way, under its lock. `next` is also the link of the
  // pool's stack.
  PooledRun* previous = nullptr;
  PooledRun* next = nullptr;
  // Drops a reference.
  void Drop() override { life_.Release(); }
  // Drops a reference, under the version's lock.
  void DropLocked() { life_.ReleaseLocked(); }
  // Called by the pool, which hands the run out with one reference.
  void LeavePool(RunPool* pool) { life_.Leave(pool); }

  // --- For the backend (backend.h).
  BlockPool& pool() override { return memory_.pool(); }
  MemoryCopier* memory() override { return memory_.copier(); }
  void MarkInputsReady(uint64_t at_ns = 0) override { clock_.MarkInputsReady(at_ns); }
  void MarkComputed(uint64_t at_ns = 0) override { clock_.MarkComputed(at_ns); }
  StatusOr<Buffer> Output(uint32_t request, uint32_t index, DataType datatype,
                          std::span<const int64_t> shape,
                          MemoryKind preferred = MemoryKind::kHost) override {
    return places_.Output(request, index, datatype, shape, preferred);
  }
  void SetOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail, const void* data,
                 size_t size, Block* block) override;
  void SetRaggedOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                       const void* data, std::span<const size_t> offsets, Block* block) override;
  void SetRequestOutput(uint32_t request, uint32_t index, DataType datatype,
                        std::span<const int64_t> shape, const void* data, size_t size,
                        Block* block) override;
  void SetParameters(uint32_t request, ResponseParameters parameters) override {
    places_.SetParameters(request, std::move(parameters));
  }
  void DropOutputs(uint32_t request) override { places_.Drop(request); }
  void Respond(uint32_t request, const Status& status, bool final = true) override;
  void Release(uint32_t request) override;
  void EndResponses(uint32_t request) override;
  void Reschedule(uint32_t request, bool seen = true) override;
  std::optional<Unread> UnreadOf(uint32_t request, uint32_t next_responses = 1) override {
    return pace_.UnreadOf(request, next_responses);
  }
  bool AwaitRead(uint32_t request, uint32_t at_most,
                 std::shared_ptr<ReadListener> listener) override {
    return pace_.AwaitRead(request, at_most, std::move(listener));
  }
  void InstanceFree() override { life_.InstanceFree(); }

 protected:
  void Retain() override { life_.Retain(); }

 private:
  using Lock = RunMembers::Lock;

  // Implements Respond. `empty`: the response only ends the requests.
  void Send(uint32_t request, const Status& status, bool final, bool empty);
  // Gives the keeper what a request that is run again has declared of its state.
  void KeepState(uint32_t request);

  // Set by Assign and fixed until the run is idle again.
  const RunContext* context_ = nullptr;
  Status not_single_;  // for calls on done requests, when the version may be gone
  bool decoupled_ = false;
  bool asynchronous_ = false;
  bool leaves_open_ = false;  // requests may be open after Execute

  RunMembers members_{requests_};
  RunClock clock_;
  BatchAdditions additions_;
  RunOutputs outputs_;  // guarded by the run's lock
  RunLife life_{this, &outputs_, &additions_};
  OutputMemory memory_;
  OutputPlaces places_{&members_, &outputs_, &memory_};
  ResponseAccount account_{&members_, &clock_};
  Responder responder_{&members_, &clock_, &outputs_, &account_, &additions_, &memory_, &life_};
  ScarceResponder scarce_{&members_, &clock_, &account_, &places_, &life_};
  OrderedResponder ordered_{&members_, &clock_, &account_, &memory_, &places_, &responder_, &life_};
  StreamPace pace_{&members_};
  Rerun rerun_{&members_, &clock_};
};

}  // namespace tritonts
