// Whether a batch failed as a whole, so that its requests run again in halves (version/halves.cc).
//
// Owned by a run. Only the thread that was in Execute takes the failure, between Execute and the
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

  // Called under the version's lock. `may`: whether the batch may run again.
  void Assign(bool may) { may_ = may; }

  // --- Under the run's lock.
  // Excludes a rerun, because the backend has responded to or changed a request.
  void Forbid() { may_ = false; }
  // Called for each response of the backend. True: the response is an error for all requests, and
  // is withheld until the batch is handed to other runs or Execute has returned. The requests are
  // suspended until then.
  bool Withhold(uint32_t request, const Status& status, bool final);
  // Ends the suspension. Returns the withheld error, for the requests that are still in this run;
  // ok: there is none.
  Status Take();

  // --- Without the run's lock. Lists the requests that are open and not cancelled. Throws
  // std::bad_alloc only if `requests` lacks capacity.
  void ListOpen(std::vector<Request*>* requests);
  // Marks these requests as done in this run and queued for other runs.
  void Requeue(std::span<Request* const> requests);

 private:
  RunMembers* const members_;
  RunClock* const clock_;
  bool may_ = false;
  Status failure_;
};

}  // namespace tritonts
