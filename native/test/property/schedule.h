// A random schedule: the configuration of a version, and the steps to play.
//
// A step's numbers are taken modulo the number of candidates (runs under way, requests, …). So a
// schedule stays valid if steps are removed, which is how a failing one is shortened.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "model.h"

namespace tritonts::test {

enum class Do : uint8_t {
  kSubmit,
  kCancel,
  kRespond,
  kRespondToAll,
  kReschedule,
  kRelease,
  kInstanceFree,
  kReturn,  // from a blocking Execute
  kThrow,   // from Execute, if one is called meanwhile or waits
  kLate,    // a call of a run that is over
  kAdvance,
  kTimer,      // without a reason
  kNeighbour,  // the other version at the gate gets a request, or responds to it
  kChangeInstances,
  kRemoveLeft,
  kClose,
  kTerminate,
  kAbort,
  kAbandon,
  kCount,
};

struct Step {
  Do what = Do::kAdvance;
  // Do the step inside the next call of Execute or Deliver, if there is one.
  bool inside = false;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
};

struct Schedule {
  Setup setup;
  std::vector<Step> steps;
};

Schedule DrawSchedule(uint64_t seed);
// The shortest schedule found for which `fails` is true, as for `schedule`. Stops searching when
// `time_is_over` returns true.
Schedule Shorten(Schedule schedule, const std::function<bool(const Schedule&)>& fails,
                 const std::function<bool()>& time_is_over);
std::string Show(const Setup& setup);
std::string Show(const Step& step);

}  // namespace tritonts::test
