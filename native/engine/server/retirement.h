// The steps in which a version of a model ends, as a state machine without clock, lock, thread or
// version. Tests drive it with tables. The reaper owns it, gives it the facts, and performs its
// steps, all on the reaper's thread.
//
//   kAwaitingPorts
//        |  no ensemble uses it, and every port has seen it or 1 s is over; or the limit: kClose
//   kDraining ------------------------------------------.
//        |  the limit is over: kAbort                    |  its requests have ended: kDestroy
//   kAborting -------------------------------------- kDestroying ------------- kEnded
//        |                                               |    it is destroyed: kEnd
//        |  2 s after the limit: kAbandon                |
//   kAbandoned <-----------------------------------------'
//
// Whatever a version waits for, it is aborted at its limit, and abandoned 2 s after the limit, or
// after a later abort.
#pragma once

#include <cstdint>

namespace tritonts {

class Retirement {
 public:
  enum class Phase { kAwaitingPorts, kDraining, kAborting, kDestroying, kEnded, kAbandoned };

  // The next action for the version.
  enum class Step {
    kWait,     // wait until a fact changes, or wake_at_ns
    kClose,    // let it refuse new requests
    kAbort,    // fail waiting requests, and ask runs to end
    kDestroy,  // destroy its threads, instances and model, on another thread
    kAbandon,  // abandon it with everything that it owns
    kEnd,      // remove it: it is destroyed
  };

  // The facts that the steps depend on.
  struct Facts {
    uint64_t now_ns = 0;
    bool starting = false;         // a start is under way, so it cannot be destroyed
    bool ports_have_seen = false;  // every port has acknowledged that it was withdrawn
    bool used = false;             // ensembles still send requests to it
    bool drained = false;          // it has no requests and no runs left
    bool destroyed = false;
  };

  // The limit at which the remaining requests are cancelled; kNoLimit: never.
  static constexpr uint64_t kNoLimit = UINT64_MAX;
  // How long a run, a start or a destructor may continue after the limit.
  static constexpr uint64_t kAbandonWaitNs = 2'000'000'000;
  Retirement(uint64_t now_ns, uint64_t limit_ns);

  // Sets another limit. The earlier limit applies.
  void Limit(uint64_t limit_ns);

  // Whether the limit is over: a version that is closed now is aborted next.
  bool over(uint64_t now_ns) const { return now_ns >= limit_ns_; }

  // The next step. Called until it returns kWait, kEnd or kAbandon.
  Step Next(const Facts& facts);

  // When to call Next again at the latest; kNoLimit: when a fact has changed.
  uint64_t wake_at_ns() const;
  Phase phase() const { return phase_; }

 private:
  uint64_t abandon_at_ns() const;

  Phase phase_ = Phase::kAwaitingPorts;
  const uint64_t ports_until_ns_;
  uint64_t limit_ns_;
  bool used_ = false;        // when Next was called last
  uint64_t aborted_ns_ = 0;  // when the version was aborted; 0: not yet
};

}  // namespace tritonts
