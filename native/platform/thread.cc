#include "thread.h"

#if defined(__linux__)
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#elif defined(__APPLE__)
#include <pthread.h>
#endif

namespace tritonts::platform {

#if defined(__linux__)
void NameThread(const char* name) {
  pthread_setname_np(pthread_self(), name);
}
void WakeOnTime() {
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
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
uint64_t Interruptions() {
  return 0;
}
#else
void NameThread(const char*) {}
void WakeOnTime() {}
uint64_t Interruptions() {
  return 0;
}
#endif

}  // namespace tritonts::platform
