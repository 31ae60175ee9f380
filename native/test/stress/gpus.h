// Versions of the stress program on GPUs. GPUs, driver and runtimes are the fakes of test/fakes.
#pragma once

#include <memory>

#include "onnxruntime_gpu_fixture.h"
#include "test/stress/stress.h"

namespace tritonts::test {

// One per process. Used only on the controller's thread.
class Gpus {
 public:
  Gpus();

  // Up to two GPUs.
  static constexpr int kGpus = 2;

  // The spec of a version of this kind, for both GPUs.
  ModelSpec SpecOf(Kind kind, uint32_t max_batch_size, Random* random) const;
  // Places the instances on GPUs.
  static void Place(VersionConfig* config, Random* random);
  // Makes the process lose a GPU.
  static void LoseOne(Random* random) { LoseGpu(static_cast<int>(random->Up(kGpus - 1))); }
  // Call it when no version is left. Returns whether any of their objects are.
  bool LeftSomething() const;

 private:
  std::unique_ptr<FakeRuntime> runtime_;  // null: there is no real runtime to forward to
};

}  // namespace tritonts::test
