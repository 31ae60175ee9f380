// Memory and threads that a test takes away, at the calls that it says. Linux only: functions of
// the C library are defined in scarce_calls.cc, in front of its own, so no other program may have
// them.
#pragma once

#include <climits>

namespace tritonts::test {

// From now on call number `first` for memory or a thread fails, and (`for_good`) all after it.
// `small`: calls for small memory count, too, which else are only those that threads within
// InEngine make, where one call fails. With TRITONTS_TRACE the first one that fails tells where.
void Arm(int first, bool for_good, bool small);
void Disarm();
// Calls that were counted since Arm.
int CallsCounted();

// Whose the calls of a thread are, while this lives: the engine's, on a thread that enters it, or
// the test's own, which never fail. Threads begin as the engine's own.
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
