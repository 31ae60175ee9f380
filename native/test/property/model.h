// What a version must do with requests, written down a second time and in the plainest way: no
// locks, threads or recycled memory, one queue and some lists.
//
// Each function is one call of the version, or what a backend says to a run. It decides at once
// what comes of it: which batches instances get (`next`, `runs`), and which responses requests get
// (`expected`). Who drives the engine compares. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "engine/base/status.h"

namespace tritonts::test {

// How a version is made.
struct Setup {
  std::vector<bool> asynchronous;   // by instance
  uint32_t max_batch_size = 0;      // 0: no batching
  std::vector<uint32_t> preferred;  // sizes
  uint64_t delay_ns = 0;
  uint32_t max_queue = 0;  // so many may wait; 0: any number
  bool runs_inline = false;
  bool has_device = false;
};

// A response that a request is to get.
struct Expected {
  Code code = Code::kOk;
  bool final = true;
  bool ran = false;
  bool unserved = false;
  bool abandoned = false;
  std::vector<float> values = {};  // of its output; empty: none
  bool quiet = false;  // the engine is in the middle of something: nothing may be done now
};

struct ModelRun;

// A request, from when it is submitted until its final response.
struct Life {
  static constexpr uint32_t kUnbound = ~0u;
  uint32_t id = 0;
  uint32_t rows = 1;
  uint32_t width = 1;  // only requests of one width run together
  uint32_t bound = kUnbound;
  uint64_t arrival_ns = 0;
  uint64_t expires_ns = 0;  // 0: never
  bool accepted = false;
  bool cancelled = false;
  bool released = false;
  bool ended = false;
  ModelRun* run = nullptr;  // the last one that it was part of
  std::deque<Expected> expected;
};

struct ModelRun {
  uint32_t id = 0;
  uint32_t instance = 0;
  std::vector<Life*> batch;
  std::vector<bool> done;  // by position
  uint32_t rows = 0;
  bool begun = false;
  bool returned = false;  // Execute has
  bool freed = false;     // its instance is
  uint32_t ok = 0;
  uint32_t ok_rows = 0;
  uint32_t failed = 0;
  uint32_t cancelled = 0;

  bool all_done() const;
  // Nothing is left of it, and who holds no reference must not touch it.
  bool over() const { return all_done() && returned && freed; }
};

// The counts of Statistics.
struct Counts {
  uint64_t success = 0;
  uint64_t fail = 0;
  uint64_t cancelled = 0;
  uint64_t rejected = 0;
  uint64_t rows = 0;
  uint64_t executions = 0;
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
  void Close() { closed_ = true; }
  void Abort(Code code);
  void Terminate();
  void Abandon();

  // --- What becomes of runs.
  // Execute is called of an instance: the run it was given; null: it was given none.
  ModelRun* Begin(uint32_t instance);
  // Execute returned, or threw.
  void Returned(ModelRun* run, bool threw = false);
  void InstanceFree(ModelRun* run);
  // `values`: by position, of the output; empty: none was declared.
  void Respond(ModelRun* run, uint32_t position, Code code, bool final,
               const std::vector<std::vector<float>>& values);
  void Release(ModelRun* run, uint32_t position);
  void Reschedule(ModelRun* run, uint32_t position);

  // --- What is to be seen.
  uint64_t now_ns = 1'000'000;
  const std::deque<Life*>& queue() const { return queue_; }
  const std::vector<std::unique_ptr<ModelRun>>& runs() const { return runs_; }
  // The batch that an instance was given and that Execute was not called with.
  const ModelRun* next(uint32_t instance) const { return instances_[instance].next; }
  bool occupied(uint32_t instance) const { return instances_[instance].occupied; }
  bool drained() const;
  bool closed() const { return closed_; }
  bool abandoned() const { return abandoned_; }
  uint32_t terminations() const { return terminations_; }
  // When the version must be called back, at the latest; 0: it need not be.
  uint64_t wake_ns() const;
  Counts counts() const;

 private:
  static constexpr uint32_t kNobody = ~0u;
  struct InstanceState {
    bool occupied = false;
    ModelRun* next = nullptr;
  };

  bool Admits(const Life& life) const;
  std::vector<Life*> EligibleFor(uint32_t instance) const;
  // How many of these run together now; 0: they wait.
  size_t BatchOf(const std::vector<Life*>& eligible) const;
  void Ask(uint32_t awake);
  void Offer(uint32_t instance);
  bool Queue(Life* life);
  // Ends requests that no run has.
  void Fail(Life* life, Code code);
  void RespondTo(ModelRun* run, uint32_t position, const Expected& response);
  void SetFree(ModelRun* run, uint32_t awake);

  const Setup setup_;
  std::vector<uint32_t> preferred_;
  std::vector<InstanceState> instances_;
  std::deque<Life*> queue_;
  std::vector<std::unique_ptr<ModelRun>> runs_;
  uint64_t open_ = 0;  // accepted, and not ended
  uint64_t failed_ = 0;
  uint64_t failed_cancelled_ = 0;
  uint64_t expired_ = 0;  // of failed_
  Code aborted_ = Code::kOk;
  bool closed_ = false;
  bool terminated_ = false;
  bool abandoned_ = false;
  uint32_t terminations_ = 0;
};

}  // namespace tritonts::test
