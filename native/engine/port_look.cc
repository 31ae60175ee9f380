// What a port's JS thread does while it waits for answers: where earlier waits were short, it looks
// for them turn by turn of its event loop, instead of sleeping in it. To be woken from that takes
// tens of microseconds, and whoever wakes it a system call.
//
// A look takes a few microseconds, so timers and sockets have their turns as ever. How long a wait
// may be for that, and when it is worth it, is as for instances' threads (spin.h).
#include <algorithm>

#include "../platform/thread.h"
#include "clock.h"
#include "port.h"
#include "server.h"

namespace tritonts {

namespace {

// Looks go on for so long before the event loop has its turn, which takes about as long.
constexpr uint64_t kLookNs = 2'000;

}  // namespace

void Port::BeginWait(uint64_t now_ns) {
  waiting_since_ns_ = unanswered_ > 0 ? now_ns : 0;
  asked_ = false;
  looked_ = Spin::kNone;
}

void Port::NoteWait() {
  const uint64_t ended = batch_ended_ns_.load(std::memory_order_relaxed);
  // What no batch ended says nothing of those to come.
  if (waiting_since_ns_ == 0 || ended == 0) return;
  // Not from the submission: a thread that slept until then will itself look for batches when they
  // come soon after its answers. Would each wait for the other one to begin, neither did.
  const uint64_t began =
      std::max(waiting_since_ns_, batch_began_ns_.load(std::memory_order_relaxed));
  look_policy_.Note(looked_, ended > began ? ended - began : 0, began - waiting_since_ns_);
}

Port::Looked Port::StopLooking(Spin spin) {
  look_core_.reset();
  looking_ = false;
  looked_ = spin;
  // What was signalled before that wakes nobody.
  if (!wake_pending_) return Looked::kAsleep;
  if (spin == Spin::kInVain) looked_ = Spin::kFound;
  return Looked::kSomething;
}

Port::Looked Port::Look() {
  CheckThread();
  if (!asked_) {
    asked_ = true;
    const uint32_t cores = server_->spin_cores();
    const bool worth = waiting_since_ns_ != 0 && cores > 0 && look_policy_.Worth();
    if (!worth) return look_core_ ? StopLooking(Spin::kNone) : Looked::kAsleep;
    if (!look_core_) {
      look_core_.emplace(Spinner::kJs, cores);
      if (!look_core_->taken()) return StopLooking(Spin::kNone);
      looking_ = true;
    }
    last_look_ns_ = NowNs();
    interruptions_ = platform::Interruptions();
    return Looked::kNothing;
  }
  if (!look_core_) return Looked::kAsleep;
  const uint64_t now = NowNs();
  const uint64_t end = waiting_since_ns_ + look_policy_.most_ns();
  if (now >= end) return StopLooking(looked_);
  // Since the last turn of the event loop somebody else had the core, who may be the one that is
  // waited for; or JavaScript had other things to do, and the loop would not have slept.
  if (now - last_look_ns_ > SpinPolicy::kInterruptionNs) return StopLooking(Spin::kInterrupted);
  looked_ = tritonts::Look(wake_pending_, *look_core_, std::min(now + kLookNs, end), NowNs);
  last_look_ns_ = NowNs();
  if (looked_ == Spin::kFound) {
    // On the core that the JS thread would have left: then sleeping is better, though it was found.
    if (platform::Interruptions() != interruptions_) looked_ = Spin::kInterrupted;
    return Looked::kSomething;
  }
  if (looked_ == Spin::kInVain) return Looked::kNothing;
  return StopLooking(looked_);
}

}  // namespace tritonts
