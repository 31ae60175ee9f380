// The engine's side of a run (backend.h): its life, and how responses reach the sinks.
//
// Pooled: a run belongs to its version's pool until it is assigned a batch, and goes back when
// nobody holds it any more. What keeps it from being accounted for are its *holds*: one for each
// request that is not done, one until Execute has returned, and one until the instance is free. Who
// lets go of the last one tells the version.
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
// Locking: `lock_` guards what is declared and who is done, for moments; sinks, copiers and the
// version are called without it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/backend.h"
#include "engine/base/spin_lock.h"
#include "engine/request/request_chain.h"
#include "engine/running/run_outputs.h"
#include "engine/running/run_totals.h"
#include "engine/running/statistics.h"

namespace tritonts {

struct InstanceRunner;
class PooledRun;
class RunPool;

// Whom a run tells of itself: its version. Any thread; the run holds no lock.
class RunOwner {
 public:
  virtual ~RunOwner() = default;
  // The instance may have its next batch. `done`: the run, where that was its last hold.
  virtual void OnInstanceFree(InstanceRunner* runner, PooledRun* done) = 0;
  // The last hold is gone: it is to be accounted for.
  virtual void OnDone(PooledRun* run) = 0;
  // A request of the run is to be queued again.
  virtual void OnReschedule(Request* request) = 0;
};

class PooledRun final : public Run {
 public:
  PooledRun() = default;
  ~PooledRun() override = default;

  // --- The version's.

  // Gives an idle run a batch, for an instance. The version's lock. Where it throws
  // std::bad_alloc, the run is still idle, and the requests are what they were.
  void Assign(std::span<Request* const> batch, uint64_t number, const RunContext* context,
              InstanceRunner* runner, std::shared_ptr<RunOwner> owner);
  // Takes the batch back from a run that has not begun: its requests are queued again. The
  // version's lock; then it is to be let go of. Needs no memory.
  void Disband(RequestChain* requests);
  InstanceRunner* runner() const { return runner_; }
  // It is on its way to Execute, and nobody takes it back. The version's lock.
  void SetUnderWay() { execution_.store(Execution::kUnderWay, std::memory_order_relaxed); }

  // The thread that calls Execute, before.
  void Begin(uint64_t now_ns);
  // The same, after: fails what a blocking instance left. False: the run was abandoned meanwhile,
  // and is to be left alone.
  bool Returned();
  // The same, while it has Execute's hold: from Begin until the outputs were there.
  uint64_t ran_ns();
  // The same, at last: lets go of Execute's hold, and (`free`) of the instance's. True: these were
  // the last ones.
  bool EndExecute(bool free) { return LetGo(free ? 2 : 1); }
  // Whether the instance is free because of this call, and not for an earlier InstanceFree.
  bool FreeInstance() { return !freed_.exchange(true, std::memory_order_acq_rel); }

  // The version's lock, of a run whose holds are gone: adds what it did. Returns how many requests
  // ended.
  size_t Account(Statistics* statistics);
  // The version's lock, of a run that is not accounted for: adds what it has answered so far.
  void AddAnswered(Statistics* statistics);

  // Abandons the run: responds to what is not done, and is silent from then on. True: Execute is
  // under way. The object must stay as long as the process. Needs no memory.
  bool Abandon(const Status& status);
  bool abandoned() const { return abandoned_; }

  uint64_t batch_class = 0;  // of the version's RunTimes; the version's lock
  // Of the version's list of runs under way; its lock.
  PooledRun* previous = nullptr;
  PooledRun* next = nullptr;
  // Lets go of the version's own reference.
  void Drop() override;

  // --- The backend's.
  BlockPool& pool() override;
  MemoryCopier* memory() override;
  void MarkInputsReady() override;
  void MarkComputed() override;
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
  void Reschedule(uint32_t request) override;
  void InstanceFree() override;

 protected:
  void Retain() override { references_.fetch_add(1, std::memory_order_relaxed); }

 private:
  friend class RunPool;
  using Lock = std::unique_lock<SpinLock>;

  // So many responses are made without memory, at a time.
  static constexpr size_t kFew = 64;

  enum class Phase : uint8_t { kOpen, kDelivering, kDone };
  enum class Execution : uint8_t { kNone, kUnderWay, kAbandoned };

  // Responses on their way to their sinks. Kept allocated.
  struct Delivery {
    BatchTimings timings;
    std::vector<OutputTensor> outputs;
    std::vector<size_t> output_counts;  // by response
    std::vector<Response> responses;
    std::vector<uint32_t> uncounted;  // responses whose outputs are to be fetched
    std::vector<uint32_t> open;       // requests that go on after this response
    std::vector<BlockRef> blocks;     // keep the outputs
    std::vector<BlockRef> copies;     // likewise
    size_t finals = 0;
    bool alike = false;  // one for all requests, without `responses`
    // Room for so many; throws std::bad_alloc.
    void Reserve(size_t most_responses, size_t most_outputs, size_t most_blocks);
    void Clear();
  };

  // With the lock: waits, without it, until no response to the request (kAll: to any) is on its
  // way, which others may give. False: it is done, or there is none such.
  bool AwaitOpen(uint32_t request, Lock* lock);
  // With the lock, all of these.
  // One with room for so many responses, which carry so many outputs; null without memory.
  Delivery* TakeDelivery(size_t responses, size_t outputs);
  // One with room for what a response to `request` may come to.
  Delivery* TakeDeliveryFor(uint32_t request);
  void Stamp(BatchTimings* timings) const;
  // Makes a request one that only this thread may say anything of, and back.
  void Seize(uint32_t position);
  void Reopen(uint32_t position);
  void End(uint32_t position, Request::State state);
  void Prepare(uint32_t position, const Status& status, bool final, Delivery* delivery);
  bool PrepareAlike(Delivery* delivery);
  void Count(const Response& response, bool cancelled);
  Response& AddResponse(uint32_t position, bool final, Delivery* delivery);
  // Without the lock: hands the responses over, and lets go of the requests that are done.
  void Deliver(Delivery* delivery);
  // The same where there is no memory for a delivery: some at a time, with an error in place of
  // outputs. With the lock, of which it lets go.
  void RespondWithoutMemory(uint32_t request, const Status& status, bool final, Lock* lock);
  // Without the lock: lets go of what was declared for a request, or for all.
  void DropOutputs(uint32_t request);
  // Copies outputs that their sink does not take to host memory.
  void Fetch(Delivery* delivery);
  Status FetchOutput(const Request& request, OutputTensor* output, Delivery* delivery);
  StatusOr<Buffer> Place(uint32_t request, uint32_t index, DataType datatype,
                         std::span<const int64_t> shape, MemoryKind preferred);
  StatusOr<Buffer> Allocate(size_t size, MemoryKind preferred);
  void Declare(uint32_t request, const OutputTensor& tensor, std::span<const size_t> offsets = {});
  // True: `holds` were the last ones; nobody else has anything to do with the run any more.
  bool LetGo(uint32_t holds);
  void Done();

  // Fixed from Assign on.
  const RunContext* context_ = nullptr;
  InstanceRunner* runner_ = nullptr;
  Status cancelled_;  // what is said of requests that are done, when the version may be gone
  std::shared_ptr<RunOwner> owner_;  // while there are holds
  std::shared_ptr<RunPool> home_;    // while it is not idle
  bool asynchronous_ = false;

  std::atomic<uint32_t> references_{0};  // RunRefs, and the version's until it is accounted for
  std::atomic<uint32_t> holds_{0};
  std::atomic<bool> freed_{false};
  std::atomic<Execution> execution_{Execution::kNone};
  std::atomic<uint64_t> inputs_ready_ns_{0};  // 0: not marked
  std::atomic<uint64_t> computed_ns_{0};

  SpinLock lock_;  // guards all below
  RunOutputs outputs_;
  BatchTimings timings_;  // as of the last response
  RunTotals totals_;
  std::vector<Phase> phases_;
  size_t undone_ = 0;
  size_t delivering_ = 0;  // requests that are
  size_t rescheduled_ = 0;
  bool abandoned_ = false;
  std::vector<std::unique_ptr<Delivery>> deliveries_;  // not in use; with room for all
  size_t deliveries_made_ = 0;
};

}  // namespace tritonts
