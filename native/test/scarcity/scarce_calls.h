// Makes calls for memory and threads fail. Linux only: scarce_calls.cc defines functions of the C
// library, so only the scarcity program may have it.
#pragma once

#include <climits>

namespace tritonts::test {

// From now on call number `first` for memory or a thread fails, and with `for_good` all later ones.
// With `small`, calls for small memory count, too; otherwise only those that threads within
// InEngine make count, if only one call fails. With TRITONTS_TRACE, the first call that fails
// prints its stack.
void Arm(int first, bool for_good, bool small);
void Disarm();
// How many calls were counted since Arm.
int CallsCounted();

// While this lives, calls of this thread are the engine's, or the test's own, which never fail.
// Other threads are the engine's own.
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
