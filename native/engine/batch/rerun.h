// Whether a batch failed as a whole, so that its requests run again in halves (version/halves.cc).
//
// A run owns it. Only the thread that was in Execute takes the failure, between Execute and the
// next batch of the instance.
#pragma once

#include <span>
#include <vector>

#include "engine/batch/run_clock.h"
#include "engine/batch/run_members.h"

namespace tritonts {

class Rerun {
 public:
  Rerun(RunMembers* members, RunClock* clock) : members_(members), clock_(clock) {}

  // With the version's lock. `may`: whether the batch may run again.
  void Assign(bool may) { may_ = may; }

  // --- With the run's lock.
  // The batch may not run again, because the backend has said something of it.
  void Forbid() { may_ = false; }
  // Called for what the backend says. True: it is an error for all that is kept back until the run
  // is given up or has returned. The requests are suspended until then.
  bool Keep(uint32_t request, const Status& status, bool final);
  // Ends the suspension. The error is for the requests that are still here; ok: there is none.
  Status Take();

  // --- Without it. Lists the requests that are open and not cancelled. Throws std::bad_alloc only
  // if there is no room for them.
  void ListOpen(std::vector<Request*>* requests);
  // These requests are done here, and are queued for other runs.
  void GiveUp(std::span<Request* const> requests);

 private:
  RunMembers* const members_;
  RunClock* const clock_;
  bool may_ = false;
  Status failure_;
};

}  // namespace tritonts
