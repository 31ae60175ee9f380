#include "engine/server/retirement.h"

#include <algorithm>

namespace tritonts {

namespace {

// How long a retired version still accepts requests while an environment does not acknowledge the
// epoch.
constexpr uint64_t kPortsWaitNs = 1'000'000'000;

}  // namespace

Retirement::Retirement(uint64_t now_ns, uint64_t limit_ns)
    : ports_until_ns_(now_ns + kPortsWaitNs), limit_ns_(limit_ns) {}

void Retirement::Limit(uint64_t limit_ns) {
  limit_ns_ = std::min(limit_ns_, limit_ns);
}

uint64_t Retirement::abandon_at_ns() const {
  if (limit_ns_ == kNoLimit) return kNoLimit;
  // Runs have kAbandonWaitNs from the moment at which they were asked to end.
  return std::max(limit_ns_, aborted_ns_) + kAbandonWaitNs;
}

Retirement::Step Retirement::Next(const Facts& facts) {
  switch (phase_) {
    case Phase::kAwaitingPorts:
      used_ = facts.used;
      if (used_ && !over(facts.now_ns)) return Step::kWait;
      if (!facts.ports_have_seen && facts.now_ns < std::min(ports_until_ns_, limit_ns_)) {
        return Step::kWait;
      }
      phase_ = Phase::kDraining;
      return Step::kClose;
    case Phase::kDraining:
    case Phase::kAborting:
      if (facts.drained && !facts.starting) {
        phase_ = Phase::kDestroying;
        return Step::kDestroy;
      }
      if (phase_ == Phase::kDraining && over(facts.now_ns)) {
        phase_ = Phase::kAborting;
        aborted_ns_ = facts.now_ns;
        return Step::kAbort;
      }
      break;
    case Phase::kDestroying:
      if (!facts.destroyed) break;
      phase_ = Phase::kEnded;
      return Step::kEnd;
    case Phase::kEnded:
      return Step::kEnd;
    case Phase::kAbandoned:
      return Step::kAbandon;
  }
  if (facts.now_ns < abandon_at_ns()) return Step::kWait;
  phase_ = Phase::kAbandoned;
  return Step::kAbandon;
}

uint64_t Retirement::wake_at_ns() const {
  switch (phase_) {
    case Phase::kAwaitingPorts:
      return used_ ? limit_ns_ : std::min(ports_until_ns_, limit_ns_);
    case Phase::kDraining:
      return limit_ns_;
    default:
      return abandon_at_ns();
  }
}

}  // namespace tritonts
