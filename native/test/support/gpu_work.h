// What the fake driver is asked and told by tests: its calls, and work that is held back.
#pragma once

#include "tensorrt_fixture.h"

namespace tritonts::test {

// How often the driver's function was called; "": all together.
inline int64_t CallsOf(const char* function) {
  return OfDriver<int64_t(const char*)>("fakeCudaCalls")(function);
}

// How often memory of a device was asked for.
inline int64_t Allocations() {
  return CallsOf("cuMemAllocAsync") + CallsOf("cuMemAlloc_v2");
}
inline int64_t PinnedAllocations() {
  return CallsOf("cuMemHostAlloc");
}

// The calls whose number follows from the batches alone. Two kinds depend on how loaded the machine
// is: questions whether work has ended, as work that is silent for 100 ms is asked for once more,
// and allocations, as the block of an answer may be given back just after the next one is taken.
inline int64_t CallsForBatches() {
  return CallsOf("") - CallsOf("cuEventQuery") - Allocations() - PinnedAllocations();
}

// Kinds of the device's work.
enum class GpuWork { kUp, kDown, kKernels };
// Holds work of a kind back until the end, at the latest.
class HeldWork {
 public:
  explicit HeldWork(GpuWork kind) : kind_(static_cast<int>(kind)) { Hold(true); }
  ~HeldWork() { Hold(false); }
  HeldWork(const HeldWork&) = delete;
  HeldWork& operator=(const HeldWork&) = delete;
  void LetGo() { Hold(false); }

 private:
  void Hold(bool held) { OfDriver<void(int, bool)>("fakeCudaHold")(kind_, held); }
  const int kind_;
};
// How much work of the kind was done since something was held back first.
inline int64_t DoneOf(GpuWork kind) {
  return OfDriver<int64_t(int)>("fakeCudaDone")(static_cast<int>(kind));
}

// A served plan with these settings besides.
inline ModelSpec PlanWith(std::map<std::string, std::string> settings) {
  ModelSpec spec = PlanSpec(PlanText());
  spec.settings.merge(settings);
  return spec;
}

}  // namespace tritonts::test
