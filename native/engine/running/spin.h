// Whether a thread that has nothing to do looks for what it waits for a moment before it sleeps: an
// instance's thread for its next batch, a JS thread for answers (port_look.cc).
//
// To wake a sleeping thread costs the one that wakes it a system call, and the request the time
// until the thread has a core again, which on an idle one is tens of microseconds. A thread that
// looks (spins) has the batch in less than one, but takes a core meanwhile. So it spins only
// - where its waits were short lately: a spin would have found the batch,
// - where its spins found something, else less and less often,
// - where a core is left for it, besides those of the JS thread, of whoever spins already, and of
//   runs that are under way,
// - and at most kMostNs at a time, which for a JS thread counts from when its batch may be expected
//   to begin: a server that is asked nothing sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "engine/base/clock.h"
#include "engine/running/bell.h"

namespace tritonts {

// What came of a wait's spin.
enum class Spin {
  kNone,         // there was none, or its core was wanted
  kFound,        // the batch came
  kInVain,       // it did not
  kInterrupted,  // another thread had the core meanwhile
};

// What a thread's earlier waits say of the next one. No clock, no lock. One thread's.
class SpinPolicy {
 public:
  // The longest spin, and the longest wait that one could have found.
  static constexpr uint64_t kMostNs = 100'000;
  // Between two looks at the clock, some hundred nanoseconds to some microseconds apart, nothing
  // takes as long as that but another thread on the same core.
  static constexpr uint64_t kInterruptionNs = 20'000;

  // Whether the wait that begins now is worth spinning. Once a wait.
  bool Worth();
  // How it went: the wait, from the end of the last batch until the next one was there, was over
  // after `waited_ns`. Of an answer: from its batch's begin, which came `before_ns` after the
  // wait's.
  void Note(Spin spin, uint64_t waited_ns, uint64_t before_ns = 0);
  // The longest spin of this wait: as long again as the last batch took to begin, within kMostNs.
  // Where that takes a wake-up, the spin would else end when the batch has hardly begun, the thread
  // would sleep, and the instance after it: the next batch would take as long to begin.
  uint64_t most_ns() const { return before_ns_ + kMostNs; }

 private:
  static constexpr uint32_t kWaits = 8;      // that are looked back upon
  static constexpr uint32_t kMostDoubt = 8;  // at most 255 waits without a spin

  uint32_t short_waits_ = 0;  // a bit for each, the last one lowest
  uint32_t doubt_ = 0;        // spins in vain, less those that were not
  uint32_t sit_out_ = 0;      // waits until the next spin
  uint64_t before_ns_ = 0;    // of the last wait
};

// Who spins.
enum class Spinner {
  kInstance,  // on a core that the JS thread leaves
  kJs,        // on its own core, which one of them has; others as instances do
};

// One of the cores that threads of this process may spin on, taken for as long as the object lives.
// The process has them, whatever servers it has. Any thread.
class SpinCore {
 public:
  // `cores`: how many there are for instances' spins and runs, besides the JS thread's.
  SpinCore(Spinner spinner, uint32_t cores);
  ~SpinCore();
  SpinCore(const SpinCore&) = delete;
  SpinCore& operator=(const SpinCore&) = delete;

  bool taken() const { return taken_; }
  // Whether runs need it now.
  bool wanted() const;

 private:
  const Spinner spinner_;
  const uint32_t cores_;
  bool taken_;
};

// Looks until it is `rung`, it is `until_ns` by `clock`, or the core is needed otherwise. No lock.
Spin Look(const std::atomic<bool>& rung, const SpinCore& core, uint64_t until_ns,
          uint64_t (*clock)());

// Waits until `has_work`, first on one of `cores` cores where that is worth it, then asleep. With
// the lock, which is free meanwhile; `has_work` is asked under it. The wait is yet to be noted.
template <typename HasWork>
Spin Await(Bell* bell, SpinPolicy* policy, uint32_t cores, uint64_t began_ns,
           std::unique_lock<std::mutex>* lock, const HasWork& has_work) {
  Spin spin = Spin::kNone;
  if (!has_work() && cores > 0 && policy->Worth()) {
    const SpinCore core(Spinner::kInstance, cores);
    while (core.taken() && !has_work()) {
      bell->Reset();
      lock->unlock();
      spin = Look(bell->rung(), core, began_ns + SpinPolicy::kMostNs, NowNs);
      lock->lock();
      if (spin != Spin::kFound) break;  // else once more: a ring may come late
    }
  }
  while (!has_work()) bell->Sleep(lock);
  return spin;
}

}  // namespace tritonts
