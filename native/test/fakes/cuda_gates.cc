// What tests hold back in the fake driver: the opening of devices, kinds of work, and kernels one
// by one. Kinds are 0: copies to devices, 1: copies from them, 2: kernels, 3: the rest.
#include <atomic>

#include "cuda_state.h"

using namespace tritonts::fakes;

namespace {

// Devices that tests have the driver open slowly.
class Openings {
 public:
  void Pass(int id) {
    std::unique_lock lock(mutex_);
    if (held_ != id) return;
    waiting_++;
    changed_.wait(lock, [&] { return held_ != id; });
    waiting_--;
  }
  void Hold(int id) {
    const std::lock_guard lock(mutex_);
    held_ = id;
    changed_.notify_all();
  }
  int waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }

 private:
  std::mutex mutex_;  // guards the two below
  std::condition_variable changed_;
  int held_ = -1;
  int waiting_ = 0;
};
Openings& AllOpenings() {
  static auto* const openings = new Openings();
  return *openings;
}

// Work of a kind that tests hold back, and how much of each was done.
struct Gates {
  std::mutex mutex;  // guards all
  std::condition_variable changed;
  bool held[kKinds] = {};
  int64_t done[kKinds] = {};
  std::atomic<bool> used{false};  // by a test
};
Gates& AllGates() {
  static auto* const gates = new Gates();
  return *gates;
}

// Kernels that tests let begin one by one, by device.
struct Steps {
  std::mutex mutex;  // guards all
  std::condition_variable changed;
  bool stepping = false;
  int64_t allowed[kMostGpus] = {};
  int waiting[kMostGpus] = {};
};
Steps& AllSteps() {
  static auto* const steps = new Steps();
  return *steps;
}

}  // namespace

namespace tritonts::fakes {

void AwaitOpening(int id) {
  AllOpenings().Pass(id);
}

void AwaitStep(int id) {
  Steps& steps = AllSteps();
  std::unique_lock lock(steps.mutex);
  if (!steps.stepping) return;
  steps.waiting[id]++;
  steps.changed.wait(lock, [&] { return !steps.stepping || steps.allowed[id] > 0; });
  steps.waiting[id]--;
  if (steps.stepping) steps.allowed[id]--;
}

void Do(Kind kind, const Work& work) {
  Gates& gates = AllGates();
  if (!gates.used) return work();
  const auto at = static_cast<size_t>(kind);
  {
    std::unique_lock lock(gates.mutex);
    gates.changed.wait(lock, [&] { return !gates.held[at]; });
  }
  work();
  const std::lock_guard lock(gates.mutex);
  gates.done[at]++;
  gates.changed.notify_all();
}

}  // namespace tritonts::fakes

// Holds the opening of a device back; -1: of none.
EXPORTED void fakeCudaHoldOpening(int id) {
  AllOpenings().Hold(id);
}
// How many calls are held back there.
EXPORTED int fakeCudaOpening() {
  return AllOpenings().waiting();
}

// Holds work of a kind back, or lets it go on.
EXPORTED void fakeCudaHold(int kind, bool held) {
  Gates& gates = AllGates();
  gates.used = true;
  const std::lock_guard lock(gates.mutex);
  gates.held[kind] = held;
  gates.changed.notify_all();
}

// Has kernels begin only when they are let, or not any more.
EXPORTED void fakeCudaStepping(bool stepping) {
  Steps& steps = AllSteps();
  const std::lock_guard lock(steps.mutex);
  steps.stepping = stepping;
  for (int64_t& allowed : steps.allowed) allowed = 0;
  steps.changed.notify_all();
}
// Lets one kernel of a device begin.
EXPORTED void fakeCudaStep(int id) {
  Steps& steps = AllSteps();
  const std::lock_guard lock(steps.mutex);
  steps.allowed[id]++;
  steps.changed.notify_all();
}
// How many kernels of a device are ready to begin, and wait for that.
EXPORTED int fakeCudaReady(int id) {
  Steps& steps = AllSteps();
  const std::lock_guard lock(steps.mutex);
  return steps.waiting[id];
}

// How much work of a kind was done since the first call of fakeCudaHold.
EXPORTED int64_t fakeCudaDone(int kind) {
  Gates& gates = AllGates();
  const std::lock_guard lock(gates.mutex);
  return gates.done[kind];
}
