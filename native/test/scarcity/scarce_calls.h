// Makes calls that allocate memory or start threads fail. Linux only: scarce_calls.cc defines
// functions of the C library, so only the scarcity program may contain it.
#pragma once

#include <climits>

namespace tritonts::test {

// From now on call number `first` for memory or a thread fails, and with `for_good` all later ones.
// With `small`, small allocations count, too. Otherwise, if only one call fails, only calls within
// InEngine count. With TRITONTS_TRACE, the first failing call prints its stack.
void Arm(int first, bool for_good, bool small);
void Disarm();
// The number of calls counted since Arm.
int CallsCounted();

// While an InEngine lives, its thread's calls count as the engine's. While an InTest lives, they
// count as the test's own, which never fail. Otherwise threads count as the engine's.
class InEngine {
 public:
  InEngine();
  ~InEngine();
};
class InTest {
 public:
  InTest();
  ~InTest();

 private:
  const int before_;
};

}  // namespace tritonts::test
