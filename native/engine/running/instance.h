// One instance of a model version, as its version sees it.
//
//   free --(a batch)--> occupied --(InstanceFree, or a blocking Execute returned)--> free
//
// A blocking one has a thread, which is started by its first batch and joined by the version's
// Destroy; an asynchronous one has none. What says so is guarded by the version's lock; the
// backend's instance is used by whoever calls Execute, which is one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "engine/backend.h"
#include "engine/memory/pool.h"
#include "engine/running/bell.h"
#include "engine/running/spin.h"
#include "platform/thread.h"

namespace tritonts {

class PooledRun;

struct InstanceRunner {
  InstanceRunner(const InstanceSpec& spec, std::unique_ptr<Instance> backend_instance)
      : index(spec.index),
        name(spec.name),
        memory(spec.memory),
        device(spec.device),
        instance(std::move(backend_instance)),
        asynchronous(instance->asynchronous()) {}

  // Bytes of batch buffers that an instance keeps for its next runs.
  static constexpr size_t kIdleBytes = size_t{64} << 20;

  const uint32_t index;
  const std::string name;
  const MemoryKind memory;
  const int device;
  BlockPool pool{kIdleBytes};
  const std::unique_ptr<Instance> instance;
  const bool asynchronous;

  // The version's lock.
  bool occupied = false;      // was given a batch of which it is not free yet
  PooledRun* next = nullptr;  // that batch, until somebody is on the way to Execute with it
  uint64_t assigned_ns = 0;   // when the last batch was
  InstanceRunner* next_ordered = nullptr;  // in a RunnerList

  // An asynchronous one's: whether a thread is in Execute, and whether there is another batch for
  // it when it comes back. Written under the version's lock, and by that thread.
  enum class Handing : uint8_t { kNobody, kOne, kAnother };
  std::atomic<Handing> handing{Handing::kNobody};

  // A blocking one's; the version's lock, but for who starts or joins the thread.
  enum class ThreadState : uint8_t { kNone, kStarting, kStarted, kRefused };
  ThreadState thread_state = ThreadState::kNone;
  bool executing = false;  // the thread is in Execute, maybe with a batch that it is free of
  SpinPolicy spin;         // the thread's
  // Shared with those who picked a batch for it: they ring without the lock, and the batch may have
  // been run, and the version destroyed, before they come to it.
  const std::shared_ptr<Bell> bell = std::make_shared<Bell>();
  platform::Thread thread;
};

// Instances that something is to be done about, linked through themselves: an instance is in one
// such list at most. The version's lock, or who has the orders it is part of.
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
  // Takes the first one out, of some.
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
