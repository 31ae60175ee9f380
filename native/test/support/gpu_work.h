// Controls of the fake driver: counts of calls, and work that is held back.
#pragma once

#include "device/cuda.h"
#include "device/gpu.h"
#include "tensorrt_fixture.h"

namespace tritonts::test {

// The size of a page of the fake driver's memory.
constexpr size_t kPage = 4096;

// Opens GPU 0 of the fake driver.
inline std::shared_ptr<device::Gpu> OpenGpu() {
  auto gpu = device::Gpu::Open(device::FindCudaDevices().driver, 0);
  CHECK(gpu.ok());
  return gpu.take();
}

// The number of calls of the driver's function; "": of all functions.
inline int64_t CallsOf(const char* function) {
  return OfDriver<int64_t(const char*)>("fakeCudaCalls")(function);
}

// The number of allocations of device memory.
inline int64_t Allocations() {
  return CallsOf("cuMemAllocAsync") + CallsOf("cuMemAlloc_v2");
}
inline int64_t PinnedAllocations() {
  return CallsOf("cuMemHostAlloc");
}

// The number of calls that depends only on the batches. Two kinds of calls depend on the machine's
// load, and are excluded: queries whether work has ended, because work of more than 100 ms is
// queried again; and allocations, because a response's block may be freed just after the next one
// is allocated.
inline int64_t CallsForBatches() {
  return CallsOf("") - CallsOf("cuEventQuery") - Allocations() - PinnedAllocations();
}

// Kinds of device work.
enum class GpuWork { kUp, kDown, kKernels };
// Holds back work of a kind, until the destructor at the latest.
class HeldWork {
 public:
  explicit HeldWork(GpuWork kind) : kind_(static_cast<int>(kind)) { Hold(true); }
  ~HeldWork() { Hold(false); }
  HeldWork(const HeldWork&) = delete;
  HeldWork& operator=(const HeldWork&) = delete;
  void Release() { Hold(false); }

 private:
  void Hold(bool held) { OfDriver<void(int, bool)>("fakeCudaHold")(kind_, held); }
  const int kind_;
};
// The amount of work of the kind done since any kind was first held back.
inline int64_t DoneOf(GpuWork kind) {
  return OfDriver<int64_t(int)>("fakeCudaDone")(static_cast<int>(kind));
}

// The spec of a plan with these additional settings.
inline ModelSpec PlanWith(std::map<std::string, std::string> settings) {
  ModelSpec spec = PlanSpec(PlanText());
  spec.settings.merge(settings);
  return spec;
}

}  // namespace tritonts::test
