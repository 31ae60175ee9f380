#include "thread.h"

#if defined(__linux__)
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <pthread.h>
#endif

namespace tritonts::platform {

#if defined(__linux__)
namespace {

// The kernel's struct sched_attr in its first size, which not every C library declares.
struct SchedulingAttributes {
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime;
  uint64_t deadline;
  uint64_t period;
};
constexpr uint32_t kOtherPolicy = 0;  // SCHED_OTHER

// The scheduler prefers whoever has less left of a slice; event loops have the usual 3 ms or less.
constexpr uint64_t kSliceNs = 10'000'000;

}  // namespace

void NameThread(const char* name) {
  pthread_setname_np(pthread_self(), name);
}
void WakeOnTime() {
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}
void ComputeForLong() {
  SchedulingAttributes attributes{};
  constexpr unsigned kSize = sizeof(attributes);
  if (syscall(SYS_sched_getattr, 0, &attributes, kSize, 0) != 0) return;
  // Whoever chose another policy for the process meant it.
  if (attributes.policy != kOtherPolicy) return;
  attributes.size = kSize;
  attributes.runtime = kSliceNs;
  // A sandbox may forbid it; then slices stay as they are.
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}
uint64_t Interruptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_nivcsw);
}
#elif defined(__APPLE__)
void NameThread(const char* name) {
  pthread_setname_np(name);
}
void WakeOnTime() {}
void ComputeForLong() {}
uint64_t Interruptions() {
  return 0;
}
#else
void NameThread(const char*) {}
void WakeOnTime() {}
void ComputeForLong() {}
uint64_t Interruptions() {
  return 0;
}
#endif

}  // namespace tritonts::platform
