// One instance of a model version. The version owns it.
//
//   free --(a batch)--> occupied --(InstanceFree, or a blocking Execute returned)--> free
//
// A blocking instance has a thread, which its first batch starts. The version joins it when the
// instance is removed or the version destroyed.
// An asynchronous instance has no thread. The version's lock guards the fields that are marked so.
// Execute of the backend's instance is called by one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "engine/backend.h"
#include "engine/memory/pool.h"
#include "engine/scheduling/gate.h"
#include "engine/statistics/gpu_totals.h"
#include "engine/waiting/bell.h"
#include "engine/waiting/spin.h"
#include "platform/thread.h"

namespace tritonts {

class PooledRun;

struct InstanceRunner {
  InstanceRunner(const InstanceSpec& spec, std::unique_ptr<Instance> backend_instance)
      : index(spec.index),
        name(spec.name),
        memory(spec.memory),
        device(spec.device),
        host_policy(spec.host_policy),
        instance(std::move(backend_instance)),
        asynchronous(instance->asynchronous()),
        leaves_open(instance->leaves_open()),
        lost_(instance->lost()) {}
  ~InstanceRunner() {
    LeaveGateForGood();
    if (gate) gate->AdmitAndTell();
  }

  // Registers the instance at a gate, where `visitor` is told of its batches. Called before its
  // first run. INVALID_ARG as Gate::Register. Throws std::bad_alloc.
  Status JoinGate(std::shared_ptr<Gate> its_gate, std::weak_ptr<GateVisitor> visitor,
                  uint32_t number, const GateClaim& claim) {
    if (!its_gate->Concerns(claim)) return Status::Ok();
    auto made = std::make_shared<GateTicket>();
    made->visitor = std::move(visitor);
    made->instance = number;
    if (Status status = its_gate->Register(made, claim); !status.ok()) return status;
    gate = std::move(its_gate);
    ticket = std::move(made);
    return Status::Ok();
  }
  // The gate forgets the instance (Gate::Unregister).
  void LeaveGateForGood() {
    if (gate) gate->Unregister(ticket);
  }

  // Whether the instance can run nothing any more (Instance::lost).
  bool lost() const { return lost_ && lost_->load(std::memory_order_relaxed); }

  // The bytes of batch buffers that an instance keeps for its next runs.
  static constexpr size_t kIdleBytes = size_t{64} << 20;

  const uint32_t index;
  const std::string name;
  const MemoryKind memory;
  const int device;
  const platform::HostPolicy host_policy;  // its thread binds itself to it
  BlockPool pool{kIdleBytes};
  const std::unique_ptr<Instance> instance;
  const bool asynchronous;
  const bool leaves_open;
  // The totals that its runs are added to; null: the version's own. Set before its first run.
  GpuTotals* totals = nullptr;
  // The gate that its batches pass, and its ticket there; null: they pass none. Set before its
  // first run.
  std::shared_ptr<Gate> gate;
  std::shared_ptr<GateTicket> ticket;

  // Guarded by the version's lock.
  bool occupied = false;                   // has a batch and is not free yet
  bool leaving = false;                    // it is removed, once nothing is bound to it
  bool gone = false;                       // it is removed, and its thread returns
  PooledRun* next = nullptr;               // its batch, until a thread takes it to Execute
  PooledRun* held = nullptr;               // its batch, while that waits at the gate
  bool free_when_done = false;             // it is free when its run has ended, and not before
  PooledRun* halves = nullptr;             // halves to run before the next batch (halves.cc)
  uint64_t assigned_ns = 0;                // when it got its last batch
  InstanceRunner* next_ordered = nullptr;  // link of a RunnerList

  // For asynchronous instances: whether a thread is in Execute (kOne), and whether another batch
  // waits for that thread (kAnother). Written under the version's lock, or by that thread.
  enum class Handing : uint8_t { kNobody, kOne, kAnother };
  std::atomic<Handing> handing{Handing::kNobody};

  // For blocking instances. Guarded by the version's lock, except `thread`: the thread that starts
  // or joins it uses it without the lock.
  enum class ThreadState : uint8_t { kNone, kStarting, kStarted, kRefused };
  ThreadState thread_state = ThreadState::kNone;
  bool executing = false;  // its thread is in Execute, maybe after InstanceFree
  SpinPolicy spin;         // used by the instance's thread only
  // Shared with threads that picked a batch for this instance, which ring without the lock. By then
  // the batch may have run, and the version may have been destroyed.
  const std::shared_ptr<Bell> bell = std::make_shared<Bell>();
  platform::Thread thread;

 private:
  const std::atomic<bool>* const lost_;  // owned by the backend's instance; null: it cannot be lost
};

// An intrusive list of instances. An instance is in at most one such list. The list is guarded by
// the version's lock, or belongs to the owner of the orders that contain it.
class RunnerList {
 public:
  bool empty() const { return first_ == nullptr; }
  size_t size() const { return size_; }
  void Append(InstanceRunner* runner) {
    runner->next_ordered = nullptr;
    (last_ ? last_->next_ordered : first_) = runner;
    last_ = runner;
    size_++;
  }
  // Removes and returns the first instance. The list must not be empty.
  InstanceRunner* Pop() {
    InstanceRunner* const runner = first_;
    first_ = runner->next_ordered;
    if (!first_) last_ = nullptr;
    size_--;
    return runner;
  }

 private:
  InstanceRunner* first_ = nullptr;
  InstanceRunner* last_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tritonts
