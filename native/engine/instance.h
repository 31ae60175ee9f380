// One instance of a model version and its thread.
//
// The thread is started by the first batch and joined by the version's Destroy. All that changes is
// guarded by the version's lock; the backend's instance is used by one thread at a time:
// whoever runs the batch.
#pragma once

#include <condition_variable>
#include <memory>
#include <string>
#include <thread>

#include "backend.h"
#include "batch.h"
#include "pool.h"

namespace tritonts {

struct InstanceRunner {
  InstanceRunner(uint32_t index, std::string instance_name, const std::string& model, bool batching,
                 std::unique_ptr<Instance> backend_instance)
      : index(index),
        name(std::move(instance_name)),
        batch(model, batching, &pool),
        instance(std::move(backend_instance)) {}

  // Bytes of batch buffers that an instance keeps for its next runs.
  static constexpr size_t kIdleBytes = size_t{64} << 20;

  const uint32_t index;
  const std::string name;
  BlockPool pool{kIdleBytes};
  BatchRun batch;
  std::unique_ptr<Instance> instance;  // goes before the batch: its threads may answer that
  bool busy = false;                   // has a batch assigned or running
  bool running = false;                // the batch is with the backend
  std::condition_variable wake;
  std::thread thread;
};

}  // namespace tritonts
