// Versions of the stress program on GPUs. GPUs, driver and runtimes are fakes (test/fakes).
#pragma once

#include <memory>

#include "onnxruntime_gpu_fixture.h"
#include "test/stress/stress.h"

namespace tritonts::test {

// The process has one. Only the thread of the controller uses it.
class Gpus {
 public:
  Gpus();

  // Two GPUs, at most.
  static constexpr int kGpus = 2;

  // A version of such a kind, for both GPUs.
  ModelSpec SpecOf(Kind kind, uint32_t max_batch_size, Random* random) const;
  // Puts the instances on GPUs.
  static void Place(VersionConfig* config, Random* random);
  // Loses one.
  static void LoseOne(Random* random) { LoseGpu(static_cast<int>(random->Up(kGpus - 1))); }
  // When no version is left: something of a version is.
  bool LeftSomething() const;

 private:
  std::unique_ptr<FakeRuntime> runtime_;  // null: it has no real one to compute with
};

}  // namespace tritonts::test
