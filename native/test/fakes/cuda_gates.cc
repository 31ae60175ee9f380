// Lets tests hold back the opening of devices, kinds of work, and single kernels. Kinds are 0:
// copies to devices, 1: copies from them, 2: kernels, 3: the rest.
#include <atomic>

#include "cuda_state.h"

using namespace tritonts::fakes;

namespace {

// Devices whose opening is held back.
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

// Kinds of work that are held back, and the amount of work done of each kind.
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

// Kernels that begin only when a test permits it, by device.
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

// Holds back the opening of a device; -1: of none.
EXPORTED void fakeCudaHoldOpening(int id) {
  AllOpenings().Hold(id);
}
// The number of calls held back there.
EXPORTED int fakeCudaOpening() {
  return AllOpenings().waiting();
}

// Holds back work of a kind, or releases it.
EXPORTED void fakeCudaHold(int kind, bool held) {
  Gates& gates = AllGates();
  gates.used = true;
  const std::lock_guard lock(gates.mutex);
  gates.held[kind] = held;
  gates.changed.notify_all();
}

// Switches stepping: kernels then begin only when fakeCudaStep permits it.
EXPORTED void fakeCudaStepping(bool stepping) {
  Steps& steps = AllSteps();
  const std::lock_guard lock(steps.mutex);
  steps.stepping = stepping;
  for (int64_t& allowed : steps.allowed) allowed = 0;
  steps.changed.notify_all();
}
// Permits one kernel of a device to begin.
EXPORTED void fakeCudaStep(int id) {
  Steps& steps = AllSteps();
  const std::lock_guard lock(steps.mutex);
  steps.allowed[id]++;
  steps.changed.notify_all();
}
// The number of a device's kernels that wait for permission to begin.
EXPORTED int fakeCudaReady(int id) {
  Steps& steps = AllSteps();
  const std::lock_guard lock(steps.mutex);
  return steps.waiting[id];
}

// The amount of work of a kind done since the first call of fakeCudaHold.
EXPORTED int64_t fakeCudaDone(int kind) {
  Gates& gates = AllGates();
  const std::lock_guard lock(gates.mutex);
  return gates.done[kind];
}
