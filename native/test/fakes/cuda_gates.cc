// What tests hold back in the fake driver: the opening of devices, and kinds of work. Kinds are 0: copies to devices, 1: copies from them, 2: kernels, 3: the rest.
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

}  // namespace

namespace tritonts::fakes {

void AwaitOpening(int id) {
  AllOpenings().Pass(id);
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

// How much work of a kind was done since the first call of fakeCudaHold.
EXPORTED int64_t fakeCudaDone(int kind) {
  Gates& gates = AllGates();
  const std::lock_guard lock(gates.mutex);
  return gates.done[kind];
}
