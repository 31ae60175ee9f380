// A random schedule: how a version is made, and what is done with it.
//
// A step's numbers are taken modulo what there is when it comes (runs under way, requests, …), so
// that a schedule without some of its steps is one, too: that is how one that fails is made short.
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
  kReturn,  // a blocking Execute does
  kThrow,   // Execute does, where it is called meanwhile or waits
  kLate,    // something is said to a run that is over
  kAdvance,
  kTimer,  // for no reason
  kClose,
  kTerminate,
  kAbort,
  kAbandon,
  kCount,
};

struct Step {
  Do what = Do::kAdvance;
  // To be done within the call of Execute or Deliver that comes meanwhile, where there is one.
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
// The shortest one found for which `fails` is true, as it is for `schedule`. Gives up looking when
// `time_is_over`.
Schedule Shorten(Schedule schedule, const std::function<bool(const Schedule&)>& fails,
                 const std::function<bool()>& time_is_over);
std::string Show(const Setup& setup);
std::string Show(const Step& step);

}  // namespace tritonts::test
