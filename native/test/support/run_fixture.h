// A run without an instance's thread or a version.
#pragma once

#include "engine/batch/instance.h"
#include "engine/batch/run.h"
#include "engine/batch/run_pool.h"
#include "engine_fixture.h"

namespace tritonts::test {

// The dims of an element of a batch, and of a request of one row.
inline const Dims kOne = {1};
inline const Dims kOneRow = {1, 1};

// An instance whose functions are never called.
class IdleInstance final : public Instance {
 public:
  explicit IdleInstance(bool is_asynchronous = false, MemoryCopier* own = nullptr)
      : asynchronous_(is_asynchronous), memory_(own) {}
  bool asynchronous() const override { return asynchronous_; }
  void Execute(Run&) override {}
  MemoryCopier* memory() override { return memory_; }
  const std::atomic<bool>* lost() const override { return &is_lost; }

  std::atomic<bool> is_lost{false};

 private:
  const bool asynchronous_;
  MemoryCopier* const memory_;
};

// Records the run's calls of its version.
class RecordingOwner final : public RunOwner, public std::enable_shared_from_this<RecordingOwner> {
 public:
  std::shared_ptr<RunOwner> Share() override { return shared_from_this(); }
  void OnInstanceFree(InstanceRunner*, PooledRun* ended) override {
    freed++;
    if (ended) done++;
  }
  void OnDone(PooledRun*) override { done++; }
  void OnReschedule(Request* request) override { rescheduled.push_back(request); }

  std::atomic<int> freed{0};
  std::atomic<int> done{0};
  std::vector<Request*> rescheduled;
};

struct RunBench {
  explicit RunBench(bool batching = true, bool asynchronous = false, MemoryCopier* memory = nullptr)
      : context{"m", batching, nullptr},
        runner({"m_0", 0, memory ? MemoryKind::kDevice : MemoryKind::kHost, 0},
               std::make_unique<IdleInstance>(asynchronous, memory)) {}
  ~RunBench() { run.Drop(); }

  // Assigns these requests to the run, as a version does with a scheduler's batch.
  void Begin(const std::vector<Request*>& chosen) {
    std::vector<Request*> batch;
    for (Request* request : chosen) {
      request->set_state(Request::State::kQueued);
      batch.push_back(request);
    }
    run.Assign(batch, ++batches, &context, &runner, owner);
    run.SetUnderWay();
    run.Begin(NowNs());
  }
  // Ends Execute. If the run is done, adds it to the statistics of all runs.
  const Statistics& End() {
    CHECK(run.Returned());
    if (run.EndExecute(run.FreeInstance())) run.Account(&statistics);
    return statistics;
  }

  RunContext context;
  InstanceRunner runner;
  RecordingSink sink;
  Requests requests{&sink};
  const std::shared_ptr<RecordingOwner> owner = std::make_shared<RecordingOwner>();
  const RunPool::Owner runs = RunPool::Make();
  PooledRun& run = *runs->Take();
  BlockPool& pool = runner.pool;
  Statistics statistics;
  uint64_t batches = 0;
};

}  // namespace tritonts::test
