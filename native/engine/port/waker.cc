#include "engine/port/waker.h"

#include <algorithm>
#include <thread>

#include "engine/base/clock.h"
#include "platform/thread.h"

namespace tritonts {

namespace {

// The duration of a look. A turn of the event loop takes about as long.
constexpr uint64_t kLookNs = 2'000;
// What a wait without a look has in wake-ups that a look spares: of the thread that takes the
// answers of another process, and of this thread. On a virtual machine each takes some 30 us.
constexpr uint64_t kSparedNs = 60'000;

}  // namespace

void Waker::Signal(const BatchTimings* timings) {
  if (!signalled_.load(std::memory_order_relaxed)) {
    // A batch of an asynchronous instance begins when it is handed over. The thread that runs it
    // may have to wake first. Its compute_start_ns tells when it was awake.
    const bool told = timings && timings->compute_start_ns < timings->compute_end_ns;
    const uint64_t began = told ? timings->compute_start_ns : timings ? timings->exec_start_ns : 0;
    batch_began_ns_.store(began, std::memory_order_relaxed);
    batch_ended_ns_.store(timings ? timings->exec_end_ns : 0, std::memory_order_relaxed);
  }
  if (signalled_.exchange(true)) return;
  // Either this thread sees that the JS thread looks, or the JS thread sees the signal when it
  // stops looking.
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
  // A response without a batch says nothing about how long batches take.
  if (waiting_since_ns_ == 0 || ended == 0) return;
  // The wait counts from the start of the batch, and not from the submission. Otherwise the wake-up
  // of a sleeping instance's thread would make the wait look long. Then neither this thread nor the
  // instance's thread would ever begin to spin, because the instance's thread spins only if batches
  // follow quickly.
  const uint64_t began =
      std::max(waiting_since_ns_, batch_began_ns_.load(std::memory_order_relaxed));
  // Likewise, a wait of just over the limit would never become the short one that it is with a
  // look.
  const uint64_t spared = looked_ == Spin::kNone ? kSparedNs : 0;
  const uint64_t waited = ended > began + spared ? ended - began - spared : 0;
  policy_.Note(looked_, waited, began - waiting_since_ns_);
}

Looked Waker::StopLooking(Spin spin) {
  polling_.Stop();
  core_.reset();
  looking_ = false;
  looked_ = spin;
  // A signal that came before `looking_` was cleared has not woken this thread.
  if (!signalled_) return Looked::kAsleep;
  if (spin == Spin::kNotFound) looked_ = Spin::kFound;
  return Looked::kSomething;
}

Looked Waker::Look() {
  if (!asked_) {
    asked_ = true;
    const bool worth = waits() && cores_ > 0 && policy_.ShouldSpin();
    if (!worth) return core_ ? StopLooking(Spin::kNone) : Looked::kAsleep;
    if (!core_) {
      core_.emplace(Spinner::kJs, cores_);
      if (!core_->taken()) return StopLooking(Spin::kNone);
      looking_ = true;
    }
    last_look_ns_ = NowNs();
    preemptions_ = platform::Preemptions();
    polling_.Poll();
    return Looked::kNothing;
  }
  if (!core_) return Looked::kAsleep;
  const uint64_t now = NowNs();
  const uint64_t end = waiting_since_ns_ + policy_.most_ns();
  if (now >= end) return StopLooking(looked_);
  // Since the last turn, another thread had the core, perhaps the thread that this thread waits
  // for. Or JavaScript had other work, and the loop would not have slept.
  if (now - last_look_ns_ > SpinPolicy::kPreemptionNs) return StopLooking(Spin::kPreempted);
  polling_.Poll();
  looked_ = tritonts::Look(signalled_, *core_, std::min(now + kLookNs, end), NowNs);
  last_look_ns_ = NowNs();
  if (looked_ == Spin::kFound) {
    // The instance's thread may have run on the core that this thread would have left by sleeping.
    // So this look counts as interrupted, although it found something.
    if (platform::Preemptions() != preemptions_) looked_ = Spin::kPreempted;
    return Looked::kSomething;
  }
  if (looked_ == Spin::kNotFound) return Looked::kNothing;
  return StopLooking(looked_);
}

void Waker::Close() {
  closed_ = true;
  // A thread that did not see `closed_` is in `wake_`, which is short. Later threads see `closed_`
  // and do not call it.
  while (waking_ != 0) std::this_thread::yield();
  looking_ = false;
  polling_.Stop();
  core_.reset();
}

}  // namespace tritonts
