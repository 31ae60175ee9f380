#include "engine/port/waker.h"

#include <algorithm>
#include <thread>

#include "engine/base/clock.h"
#include "platform/thread.h"

namespace tritonts {

namespace {

// Looks go on for so long before the event loop has its turn, which takes about as long.
constexpr uint64_t kLookNs = 2'000;

}  // namespace

void Waker::Signal(const BatchTimings* timings) {
  if (!signalled_.load(std::memory_order_relaxed)) {
    batch_began_ns_.store(timings ? timings->exec_start_ns : 0, std::memory_order_relaxed);
    batch_ended_ns_.store(timings ? timings->exec_end_ns : 0, std::memory_order_relaxed);
  }
  if (signalled_.exchange(true)) return;
  // Either this sees that the JS thread looks, or that sees, when it stops, that there is
  // something.
  if (looking_) return;
  waking_.fetch_add(1);
  if (!closed_) wake_();
  waking_.fetch_sub(1);
}

bool Waker::TakeSignal() {
  const bool signalled = signalled_.exchange(false);
  if (signalled) NoteWait();
  return signalled;
}

void Waker::BeginWait(uint64_t now_ns) {
  waiting_since_ns_ = now_ns;
  asked_ = false;
  looked_ = Spin::kNone;
}

void Waker::NoteWait() {
  const uint64_t ended = batch_ended_ns_.load(std::memory_order_relaxed);
  // What no batch ended says nothing of those to come.
  if (waiting_since_ns_ == 0 || ended == 0) return;
  // Not from the submission: a thread that slept until then will itself look for batches when they
  // come soon after its answers. Would each wait for the other one to begin, neither did.
  const uint64_t began =
      std::max(waiting_since_ns_, batch_began_ns_.load(std::memory_order_relaxed));
  policy_.Note(looked_, ended > began ? ended - began : 0, began - waiting_since_ns_);
}

Looked Waker::StopLooking(Spin spin) {
  core_.reset();
  looking_ = false;
  looked_ = spin;
  // What was signalled before that wakes nobody.
  if (!signalled_) return Looked::kAsleep;
  if (spin == Spin::kInVain) looked_ = Spin::kFound;
  return Looked::kSomething;
}

Looked Waker::Look() {
  if (!asked_) {
    asked_ = true;
    const bool worth = waits() && cores_ > 0 && policy_.Worth();
    if (!worth) return core_ ? StopLooking(Spin::kNone) : Looked::kAsleep;
    if (!core_) {
      core_.emplace(Spinner::kJs, cores_);
      if (!core_->taken()) return StopLooking(Spin::kNone);
      looking_ = true;
    }
    last_look_ns_ = NowNs();
    interruptions_ = platform::Interruptions();
    return Looked::kNothing;
  }
  if (!core_) return Looked::kAsleep;
  const uint64_t now = NowNs();
  const uint64_t end = waiting_since_ns_ + policy_.most_ns();
  if (now >= end) return StopLooking(looked_);
  // Since the last turn of the event loop somebody else had the core, who may be the one that is
  // waited for; or JavaScript had other things to do, and the loop would not have slept.
  if (now - last_look_ns_ > SpinPolicy::kInterruptionNs) return StopLooking(Spin::kInterrupted);
  looked_ = tritonts::Look(signalled_, *core_, std::min(now + kLookNs, end), NowNs);
  last_look_ns_ = NowNs();
  if (looked_ == Spin::kFound) {
    // On the core that the JS thread would have left: then sleeping is better, though it was found.
    if (platform::Interruptions() != interruptions_) looked_ = Spin::kInterrupted;
    return Looked::kSomething;
  }
  if (looked_ == Spin::kInVain) return Looked::kNothing;
  return StopLooking(looked_);
}

void Waker::Close() {
  closed_ = true;
  // Who came before that is in `wake_`, which takes no time; who comes after it does not call it.
  while (waking_ != 0) std::this_thread::yield();
  looking_ = false;
  core_.reset();
}

}  // namespace tritonts
