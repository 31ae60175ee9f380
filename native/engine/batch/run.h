// The engine's side of a run (backend.h): its states, and how its responses reach the sinks.
//
// Ownership: runs are pooled. An idle run belongs to its version's pool. An assigned run is
// reference-counted (by the version and by RunRefs), and returns to the pool with its last
// reference. A run also has *holds*: one for each request whose final response is not delivered,
// one until Execute has returned, one until the instance is free, and, where the version keeps the
// order of responses, one until the order has passed the run. Whoever drops the last hold tells the
// version, which adds the run to its statistics and drops its reference.
//
//   idle --Assign--> assigned --Begin--> executing --Returned--> handed over --last hold--> done
//                       |                    |                       |                       |
//                       | Disband            +-- last request done --+        last RunRef    |
//                       +--------------------------------------------------------> idle <---+
//
//   a request of it:  open <--> delivering a response --> done
//                       |                                  ^
//                       +---- a final one, Reschedule -----+
//
// Locking: `lock_` guards the declared outputs and the requests' phases, always briefly. Sinks,
// copiers and the version are called without it.
// The order's lock is taken within it, never the other way round.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend.h"
#include "engine/base/spin_lock.h"
#include "engine/batch/response_order.h"
#include "engine/batch/run_outputs.h"
#include "engine/request/request_chain.h"
#include "engine/scheduling/batch.h"
#include "engine/statistics/batch_log.h"
#include "engine/statistics/latencies.h"
#include "engine/statistics/response_counts.h"
#include "engine/statistics/run_totals.h"
#include "engine/statistics/statistics.h"

namespace tritonts {

struct InstanceRunner;
class PooledRun;
class RunPool;

// What a run tells its version. Called on any thread; the run holds no lock.
class RunOwner {
 public:
  virtual ~RunOwner() = default;
  // Shares the ownership of itself with a run.
  virtual std::shared_ptr<RunOwner> Share() = 0;
  // The instance may get its next batch. `done` is the run if that was its last hold, else null.
  virtual void OnInstanceFree(InstanceRunner* runner, PooledRun* done) = 0;
  // The run's last hold was dropped: it is to be added to the statistics.
  virtual void OnDone(PooledRun* run) = 0;
  // A request of the run is to be queued again.
  virtual void OnReschedule(Request* request) = 0;
};

class PooledRun final : public Run, private OrderedRun {
 public:
  PooledRun() = default;
  ~PooledRun() override = default;

  // --- For the version.

  // Gives an idle run a batch, for an instance. With the version's lock. If it throws
  // std::bad_alloc, the run is still idle, and the requests are unchanged. Its responses leave
  // behind those of all other runs, or right behind those of `behind`.
  void Assign(std::span<Request* const> batch, uint64_t number, const RunContext* context,
              InstanceRunner* runner, std::shared_ptr<RunOwner> owner, PooledRun* behind = nullptr);
  // Makes room for `requests`: then Assign does not throw. Throws std::bad_alloc.
  void MakeRoom(size_t requests, const RunContext* context);
  // Adds to the run that Assign comes for what the engine injects into its batch, whose empty slots
  // become null rows. Throws std::bad_alloc; then, and where Assign throws, ClearInjected undoes
  // it.
  void Inject(Batch* batch, BlockPool* pool);
  void ClearInjected();
  uint32_t null_rows() const { return null_rows_; }
  size_t size() const { return requests_.size(); }
  // Takes the batch back from a run that has not begun, so that its requests can be queued again.
  // With the version's lock. The caller then drops the run. Does not allocate.
  void Disband(RequestChain* requests);
  InstanceRunner* runner() const { return runner_; }
  // Marks that a thread takes it to Execute, so that Disband is no longer allowed. With the
  // version's lock.
  void SetUnderWay() { execution_.store(Execution::kUnderWay, std::memory_order_relaxed); }

  // The next four are for the thread that calls Execute. Begin is called before Execute.
  void Begin(uint64_t now_ns);
  // Called after Execute: fails requests that a blocking instance left open. False: the run was
  // abandoned meanwhile and must not be touched.
  bool Returned();
  // The time from Begin until the outputs were computed. Called while the thread has Execute's
  // hold.
  uint64_t ran_ns();
  // Whether a request got a response that is ok. Called then, too.
  bool answered();
  // Called last: drops Execute's hold and, with `free`, the instance's. True: these were the last
  // holds.
  bool EndExecute(bool free) { return LetGo(free ? 2 : 1); }
  // Marks the instance as free. False: an earlier call did so. Any thread may call it.
  bool FreeInstance() { return !freed_.exchange(true, std::memory_order_acq_rel); }

  // --- Halves (halves.cc). Whether the backend responded with one error to all requests, which may
  // be run again in other runs. Then they are open, and were told nothing: Returned tells those
  // that are still here. Called between Execute and Returned.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // The rest is called with the version's lock. Lists the requests that are open and not cancelled.
  // Throws std::bad_alloc only if there is no room for them.
  void ListOpen(std::vector<Request*>* requests);
  // When its Execute was called.
  uint64_t began_ns();
  // Queues those requests again; and, when they are in other runs, drops their holds.
  void GiveUp(std::span<Request* const> requests);
  void LetGoOf(std::span<Request* const> requests);
  // Marks a run of requests whose batch failed before.
  void SetRepeated() { totals_.reruns = 1; }
  PooledRun* next_half = nullptr;  // link of InstanceRunner::halves, with the version's lock

  // Adds a run without holds to the statistics. With the version's lock. Returns how many requests
  // ended.
  size_t Account(Statistics* statistics, Latencies* latencies = nullptr);
  // Adds the responses so far of a run that Account was not called for. With the version's lock.
  void AddAnswered(Statistics* statistics);
  // The same, of `latencies`, to a copy of its counts.
  void AddAnswered(const Latencies& latencies, LatencyCounts* counts);

  // Abandons the run: responds to requests that are not done, and ignores what the backend says
  // from then on. True: Execute is under way. The run is never freed. Does not allocate.
  bool Abandon(const Status& status);
  bool abandoned() const { return abandoned_; }

  uint64_t batch_class = 0;  // class in the version's RunTimes; with the version's lock
  BatchRecord record;        // for its dispatcher's log; with the version's lock
  // Links of the version's list of runs under way, with its lock; `next` also of the pool's stack.
  PooledRun* previous = nullptr;
  PooledRun* next = nullptr;
  // Drops a reference.
  void Drop() override;
  // The same, with the version's lock.
  void DropLocked();

  // --- For the backend (backend.h).
  BlockPool& pool() override;
  MemoryCopier* memory() override;
  void MarkInputsReady(uint64_t at_ns = 0) override;
  void MarkComputed(uint64_t at_ns = 0) override;
  StatusOr<Buffer> Output(uint32_t request, uint32_t index, DataType datatype,
                          std::span<const int64_t> shape,
                          MemoryKind preferred = MemoryKind::kHost) override;
  void SetOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail, const void* data,
                 size_t size, Block* block) override;
  void SetRaggedOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                       const void* data, std::span<const size_t> offsets, Block* block) override;
  void SetRequestOutput(uint32_t request, uint32_t index, DataType datatype,
                        std::span<const int64_t> shape, const void* data, size_t size,
                        Block* block) override;
  void Respond(uint32_t request, const Status& status, bool final = true) override;
  void Release(uint32_t request) override;
  void EndResponses(uint32_t request) override;
  void Reschedule(uint32_t request) override;
  std::optional<Unread> UnreadOf(uint32_t request, uint32_t next = 1) override;
  bool AwaitRead(uint32_t request, uint32_t at_most,
                 std::shared_ptr<ReadListener> listener) override;
  void InstanceFree() override;

 protected:
  void Retain() override { references_.fetch_add(1, std::memory_order_relaxed); }

 private:
  friend class RunPool;
  using Lock = std::unique_lock<SpinLock>;

  // How many responses are made at a time when there is no memory.
  static constexpr size_t kFew = 64;

  enum class Phase : uint8_t { kOpen, kDelivering, kDone };
  enum class Execution : uint8_t { kNone, kUnderWay, kAbandoned };

  // Responses that are being delivered. Kept allocated between uses.
  struct Delivery : OrderedResponses {
    BatchTimings timings;
    std::vector<OutputTensor> outputs;
    std::vector<size_t> output_counts;  // by response
    KeptOutputs kept;                   // for the batch's keeper
    std::vector<Response> responses;
    struct Uncounted {
      uint32_t response;
      uint32_t position;
    };
    std::vector<Uncounted> uncounted;  // responses not counted yet: outputs must be fetched
    std::vector<uint32_t> open;        // requests that go on after this response
    std::vector<BlockRef> blocks;      // keep the outputs alive
    std::vector<BlockRef> copies;      // keep fetched copies of outputs alive
    std::vector<int64_t> shapes;       // of the outputs, if they are held
    size_t finals = 0;
    bool empty = false;   // no response, but the end of the requests
    bool alike = false;   // one response for all requests; `responses` is empty
    bool spoilt = false;  // there was no memory to hold the outputs: they become errors
    // Makes room; throws std::bad_alloc.
    void Reserve(size_t most_responses, size_t most_outputs, size_t most_blocks);
    void Clear();
  };

  // Waits until no other thread is delivering a response to the request (kAll: to any). Called with
  // the lock, which is released meanwhile. False: the request is done, or does not exist.
  bool AwaitOpen(uint32_t request, Lock* lock);
  // The next ones are called with the lock. Takes a delivery with room for this many responses and
  // outputs; null if there is no memory.
  Delivery* TakeDelivery(size_t responses, size_t outputs);
  // Takes a delivery with room for a response to `request`.
  Delivery* TakeDeliveryFor(uint32_t request);
  void Stamp(BatchTimings* timings) const;
  // What the backend says first of a run that may be run again. True: it is an error that is kept
  // back until the run is given up, or has returned.
  bool KeepFailure(uint32_t request, const Status& status, bool final);
  // Makes a request one that only this thread may respond to, and undoes that.
  void Seize(uint32_t position);
  void Reopen(uint32_t position);
  void End(uint32_t position, Request::State state);
  void Prepare(uint32_t position, const Status& status, bool final, Delivery* delivery);
  // Counts a response to a decoupled request as unread.
  static void NoteSent(Response* response, std::span<const OutputTensor> outputs);
  // Responds as Respond does. `empty`: nothing but the end of the requests.
  void Send(uint32_t request, const Status& status, bool final, bool empty);
  // Whether a request that is not done has as much unread as may be.
  bool AnyFull(uint32_t request);
  void EndFull(uint32_t request);
  bool PrepareAlike(Delivery* delivery);
  RunTotals::Failure FailureOf(const Status& status, bool cancelled) const;
  void Count(const Response& response, bool cancelled, uint64_t first_ns);
  // Notes the time of a response to a decoupled request, and counts it by its number.
  void NoteFirst(uint32_t position, const BatchTimings& timings);
  void NoteResponse(uint32_t position, const Response& response, bool cancelled,
                    const BatchTimings& timings);
  uint64_t FirstOf(uint32_t position) const {
    return position < streamed_.size() ? streamed_[position].first_ns : 0;
  }
  Response& AddResponse(uint32_t position, bool final, Delivery* delivery);
  // Hands the responses to their sinks, and drops the holds of requests that are done. Without the
  // lock.
  void Deliver(Delivery* delivery);
  // The same, but in the version's order: maybe later.
  void DeliverInOrder(Delivery* delivery);
  // Makes a delivery one that stays valid when the call that it is made in has returned.
  void Keep(Delivery* delivery);
  void KeepOutputs(Delivery* delivery);
  // Where its outputs are by now. Those that are kept go to their keeper.
  void SetOutputs(Delivery* delivery);
  void GiveToKeeper(Delivery* delivery);
  // Hands some of its responses over.
  void Give(const Delivery& delivery, size_t first, size_t count);
  // All of them were.
  void Finish(Delivery* delivery);
  // Responds without memory for a delivery: some requests at a time, with an error instead of
  // outputs. Called with the lock, which it releases.
  void RespondWithoutMemory(uint32_t request, const Status& status, bool final, Lock* lock);
  // The same if there is an order to keep: without memory to hold responses each request ends with
  // an error, in its turn.
  void RespondInOrderWithoutMemory(uint32_t request, const Status& status, Lock* lock);
  // Drops the outputs declared for a request, or for all. Without the lock.
  void DropOutputs(uint32_t request);
  // Copies outputs whose kind of memory their sink does not take to host memory.
  void Fetch(Delivery* delivery);
  Status FetchOutput(const Request& request, OutputTensor* output, Delivery* delivery);
  StatusOr<Buffer> Place(uint32_t request, uint32_t index, DataType datatype,
                         std::span<const int64_t> shape, MemoryKind preferred);
  StatusOr<Buffer> Allocate(size_t size, MemoryKind preferred);
  void Declare(uint32_t request, const OutputTensor& tensor, std::span<const size_t> offsets = {});
  // The order's.
  void Give(OrderedResponses* responses, size_t first, size_t count) override;
  void GaveAll(OrderedResponses* responses) override;
  void TakeTurn(uint32_t position) override;
  void Passed() override;
  // Queues a request again that is done here.
  void Requeue(uint32_t position);
  // Drops `holds`. True: they were the last ones, and no other thread tells the version of the run.
  bool LetGo(uint32_t holds);
  void Done();

  // Set by Assign and fixed until the run is idle again.
  const RunContext* context_ = nullptr;
  InstanceRunner* runner_ = nullptr;
  Status cancelled_;  // for calls on done requests, when the version may be gone
  // Likewise, of decoupled models.
  Status not_single_;
  Status unread_;
  bool decoupled_ = false;
  std::shared_ptr<RunOwner> owner_;  // the version, as long as there are holds
  RunPool* home_ = nullptr;          // its pool, as long as it is not idle
  bool asynchronous_ = false;
  // Of a batch that the engine adds something to; see Inject. `injected_` is kept allocated.
  std::unique_ptr<RowInputs> injected_;
  std::shared_ptr<OutputKeeper> keeper_;
  uint32_t null_rows_ = 0;

  std::atomic<uint32_t> references_{0};  // RunRefs, and the version's until Account
  std::atomic<uint32_t> holds_{0};
  std::atomic<bool> freed_{false};
  std::atomic<Execution> execution_{Execution::kNone};
  std::atomic<uint64_t> inputs_ready_ns_{0};  // 0: not marked
  std::atomic<uint64_t> computed_ns_{0};

  SpinLock lock_;  // guards all below
  RunOutputs outputs_;
  BatchTimings timings_;  // those of the last response
  RunTotals totals_;
  std::vector<Phase> phases_;
  // What a decoupled request was sent so far. Zero: no response yet.
  struct Streamed {
    uint64_t first_ns = 0;
    uint64_t last_ns = 0;
    uint32_t responses = 0;
  };
  std::vector<Streamed> streamed_;  // by position, of a decoupled model only
  std::vector<Status> lost_;        // by position, with an order only: what is said in its turn
  bool spoke_ = false;              // some request has had a response of its own
  size_t undone_ = 0;
  size_t delivering_ = 0;  // how many requests are being delivered
  size_t rescheduled_ = 0;
  bool abandoned_ = false;
  bool repeatable_ = false;          // it may fail as a whole: the backend has said nothing yet
  std::atomic<bool> failed_{false};  // it did, with `failure_`; written with the lock
  Status failure_;
  std::vector<std::unique_ptr<Delivery>> deliveries_;  // unused ones; has capacity for all
  size_t deliveries_made_ = 0;
};

}  // namespace tritonts
