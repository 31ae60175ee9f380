// The steps in which one version of a model ends, as a state machine: no clock, lock, thread or
// version inside, tested with tables. The reaper tells it how things are, and does what it says.
//
//   kAwaitingPorts
//        |  every port has seen it, or 1 s is over, or the limit: kClose
//   kDraining ------------------------------------------.
//        |  the limit is over: kAbort                    |  its requests have ended: kDestroy
//   kAborting -------------------------------------- kDestroying ------------- kEnded
//        |                                               |    it is destroyed: kEnd
//        |  2 s after the limit: kAbandon                |
//   kAbandoned <-----------------------------------------'
//
// Whatever holds it up, a version whose limit is over is aborted, and abandoned 2 s later.
#pragma once

#include <cstdint>

namespace tritonts {

class Retirement {
 public:
  enum class Phase { kAwaitingPorts, kDraining, kAborting, kDestroying, kEnded, kAbandoned };

  // What is to be done with the version.
  enum class Step {
    kWait,     // until something changes, or wake_at_ns
    kClose,    // it takes no more requests
    kAbort,    // requests that wait end, and runs are asked to end; does not wait for these
    kDestroy,  // its threads, instances and model go; somebody else's thread does that
    kAbandon,  // with all that it holds, for good
    kEnd,      // it is destroyed
  };

  // How things are.
  struct Facts {
    uint64_t now_ns = 0;
    bool starting = false;         // its start is under way: it can't be destroyed
    bool ports_have_seen = false;  // that it is not published any more
    bool drained = false;          // none of its requests is left, and none of its runs
    bool destroyed = false;
  };

  // From when on requests that are left are cancelled; kNoLimit: never.
  static constexpr uint64_t kNoLimit = UINT64_MAX;
  // How long a run, a start or a destructor may go on when the limit is over.
  static constexpr uint64_t kAbandonWaitNs = 2'000'000'000;
  Retirement(uint64_t now_ns, uint64_t limit_ns);

  // Somebody else wants its end, by another limit: the earlier one holds.
  void Limit(uint64_t limit_ns);

  // What is to be done now; to be asked until it says kWait, kEnd or kAbandon.
  Step Next(const Facts& facts);

  // When to ask again at the latest; kNoLimit: when something changed.
  uint64_t wake_at_ns() const;
  Phase phase() const { return phase_; }

 private:
  uint64_t abandon_at_ns() const;

  Phase phase_ = Phase::kAwaitingPorts;
  const uint64_t ports_until_ns_;
  uint64_t limit_ns_;
  uint64_t aborted_ns_ = 0;  // when it was; 0: it was not
};

}  // namespace tritonts
