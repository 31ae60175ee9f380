#include "thread.h"

#if defined(__linux__)
#include <pthread.h>
#include <sys/prctl.h>
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
#elif defined(__APPLE__)
void NameThread(const char* name) {
  pthread_setname_np(name);
}
void WakeOnTime() {}
#else
void NameThread(const char*) {}
void WakeOnTime() {}
#endif

}  // namespace tritonts::platform
