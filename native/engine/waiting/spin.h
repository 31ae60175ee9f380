// Spinning: an idle thread looks for work for a moment before it sleeps. An instance's thread looks
// for its next batch, a JS thread for responses (port/waker.h).
//
// Waking a sleeping thread costs the waker a system call, and the request waits until the thread
// has a core again, which takes tens of microseconds. A spinning thread gets the batch in less than
// one microsecond, but occupies a core. So a thread spins only
// - if its last waits were short, so that a spin would have found the batch,
// - less and less often as its spins find nothing,
// - if a core is left for it besides those of the JS thread, of other spinning threads, and of runs
//   under way,
// - and for at most kMostNs at a time, so that an idle server sleeps. For a JS thread this counts
//   from the time when its batch is expected to start.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "engine/base/clock.h"
#include "engine/waiting/bell.h"

namespace tritonts {

// How the spin of a wait ended.
enum class Spin {
  kNone,       // there was no spin, or its core was needed
  kFound,      // the work came
  kNotFound,   // no work came
  kPreempted,  // another thread had the core meanwhile
};

// Decides from a thread's earlier waits whether it spins in the next one. It has no clock and no
// lock. Owned and used by one thread.
class SpinPolicy {
 public:
  // The longest spin, and the longest wait that counts as short.
  static constexpr uint64_t kMostNs = 100'000;
  // Two readings of the clock are at most a few microseconds apart. A gap as long as this means
  // that another thread had the core.
  static constexpr uint64_t kPreemptionNs = 20'000;

  // Whether to spin in the wait that starts now. Called once a wait.
  bool ShouldSpin();
  // Notes how a wait ended. `waited_ns`: the time from the end of the last batch until the next
  // batch was there. A wait for a response counts from the start of its batch instead, which was
  // `before_ns` after the start of the wait.
  void Note(Spin spin, uint64_t waited_ns, uint64_t before_ns = 0);
  // The longest spin of this wait: kMostNs plus the time that the last batch took to start (at most
  // kMostNs). Without that time, a spin for a batch that starts with a wake-up would end when the
  // batch has hardly started. Then this thread would sleep, and after it the instance's thread, and
  // the next batch would start with a wake-up, too.
  uint64_t most_ns() const { return before_ns_ + kMostNs; }

 private:
  static constexpr uint32_t kWaits = 8;        // how many past waits count
  static constexpr uint32_t kMostBackoff = 8;  // at most 255 waits without a spin

  uint32_t short_waits_ = 0;  // a bit for each past wait, the last one lowest
  uint32_t backoff_ = 0;      // spins that found no work, minus successful ones
  uint32_t skip_ = 0;         // the number of next waits without a spin
  uint64_t before_ns_ = 0;    // as noted for the last wait
};

// What kind of thread spins.
enum class Spinner {
  kInstance,  // on a core besides the JS thread's
  kJs,        // the first one has a core of its own; others count like instances
};

// Takes one of the cores that threads of this process may spin on, for as long as the object lives.
// All servers of the process share these cores. Any thread may make one.
class SpinCore {
 public:
  // `cores`: how many there are for instances' spins and runs, without the JS thread's.
  SpinCore(Spinner spinner, uint32_t cores);
  ~SpinCore();
  SpinCore(const SpinCore&) = delete;
  SpinCore& operator=(const SpinCore&) = delete;

  bool taken() const { return taken_; }
  // Whether a run needs the core now.
  bool wanted() const;

 private:
  const Spinner spinner_;
  const uint32_t cores_;
  bool taken_;
};

// Spins until `rung` is set, `clock` shows `until_ns`, or the core is needed. No lock is held.
Spin Look(const std::atomic<bool>& rung, const SpinCore& core, uint64_t until_ns,
          uint64_t (*clock)());

// Waits until `has_work` returns true. It first spins on one of `cores` cores, if the policy allows
// it, and then sleeps. Called with the lock, which is released while it waits. `has_work` is called
// under the lock. The caller notes the wait with the policy.
template <typename HasWork>
Spin Await(Bell* bell, SpinPolicy* policy, uint32_t cores, uint64_t began_ns,
           std::unique_lock<std::mutex>* lock, const HasWork& has_work) {
  Spin spin = Spin::kNone;
  if (!has_work() && cores > 0 && policy->ShouldSpin()) {
    const SpinCore core(Spinner::kInstance, cores);
    while (core.taken() && !has_work()) {
      bell->Reset();
      lock->unlock();
      spin = Look(bell->rung(), core, began_ns + SpinPolicy::kMostNs, NowNs);
      lock->lock();
      if (spin != Spin::kFound) break;  // else check again: the ring may be an old one
    }
  }
  while (!has_work()) bell->Sleep(lock);
  return spin;
}

}  // namespace tritonts
