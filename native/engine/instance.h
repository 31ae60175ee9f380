// One instance of a model version and its thread.
//
// The thread is started by the first batch and joined by the version's Destroy. All that changes is
// guarded by the version's lock; the backend's instance is used by one thread at a time: whoever
// runs the batch, which is the thread or, for a short batch, the one that submitted it.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "backend.h"
#include "batch.h"
#include "bell.h"
#include "pool.h"
#include "spin.h"

namespace tritonts {

struct InstanceRunner {
  InstanceRunner(const InstanceSpec& spec, const std::string& model, bool batching,
                 std::unique_ptr<Instance> backend_instance)
      : index(spec.index),
        name(spec.name),
        memory(spec.memory),
        batch(model, batching, &pool),
        instance(std::move(backend_instance)) {}

  // Bytes of batch buffers that an instance keeps for its next runs.
  static constexpr size_t kIdleBytes = size_t{64} << 20;

  const uint32_t index;
  const std::string name;
  const MemoryKind memory;
  BlockPool pool{kIdleBytes};
  BatchRun batch;
  std::unique_ptr<Instance> instance;  // goes before the batch: its threads may answer that
  bool busy = false;                   // has a batch assigned or running
  bool running = false;                // the batch is with the backend, or on its way to it
  bool on_caller = false;              // the batch is not for the thread
  uint64_t batch_class = 0;            // of the assigned batch, in the version's RunTimes
  uint64_t assigned_ns = 0;            // when the last batch was
  SpinPolicy spin;                     // the thread's
  // Shared with those who picked a batch for it: they ring without the lock, and the batch may have
  // been run, and the version destroyed, before they come to it.
  const std::shared_ptr<Bell> bell = std::make_shared<Bell>();
  std::thread thread;
};

}  // namespace tritonts
