// Assertions of the engine's rules, such as "a request ends exactly once". Only debug and sanitizer
// builds contain them.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <thread>

#if defined(TRITONTS_CHECKS)
#define TRITONTS_ASSERT(condition, rule)                                                     \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      std::fprintf(stderr, "tritonts: rule broken: %s (%s:%d)\n", rule, __FILE__, __LINE__); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
#else
#define TRITONTS_ASSERT(condition, rule) \
  do {                                   \
  } while (false)
#endif

namespace tritonts {

// Remembers the thread that constructed it, in builds that check rules.
class ThreadChecker {
 public:
  ThreadChecker() {}  // needed for the const member
#if defined(TRITONTS_CHECKS)
  bool IsCurrent() const { return std::this_thread::get_id() == thread_; }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
#endif
};

}  // namespace tritonts
