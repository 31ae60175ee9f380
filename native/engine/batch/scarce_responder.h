// Responds to requests of a run without allocating: a few at a time, with errors instead of
// outputs.
//
// Owned by a run. Any thread that holds the run may call it.
#pragma once

#include <cstdint>

#include "engine/batch/output_places.h"
#include "engine/batch/response_account.h"
#include "engine/batch/run_clock.h"
#include "engine/batch/run_context.h"
#include "engine/batch/run_life.h"
#include "engine/batch/run_members.h"

namespace tritonts {

class ScarceResponder {
 public:
  ScarceResponder(RunMembers* members, RunClock* clock, ResponseAccount* account,
                  OutputPlaces* places, RunLife* life)
      : members_(members), clock_(clock), account_(account), places_(places), life_(life) {}

  // Called under the version's lock.
  void Assign(const RunContext* context) { context_ = context; }

  // Implements Run::Respond if there is no memory for a delivery. The caller holds a reference to
  // the run. Called with the run's lock, which it releases.
  void Respond(uint32_t request, const Status& status, bool final, RunMembers::Lock* lock);
  // Responds to all requests of a run that is abandoned. Their holds stay. Called without the lock.
  void Abandon(const Status& status);

 private:
  // The maximum number of responses made at a time.
  static constexpr size_t kFew = 64;

  RunMembers* const members_;
  RunClock* const clock_;
  ResponseAccount* const account_;
  OutputPlaces* const places_;
  RunLife* const life_;
  const RunContext* context_ = nullptr;
};

}  // namespace tritonts
