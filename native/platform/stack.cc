#include "platform/stack.h"

#include <algorithm>
#include <cstdint>

#if defined(_MSC_VER)
#include <intrin.h>
#endif
#if defined(_WIN32)
#include <windows.h>
#else
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tritonts::platform {

namespace {

// Only of plain values, so that a thread that ends has nothing to destroy.
struct StackBounds {
  uintptr_t low = 0;
  uintptr_t high = 0;  // 0: the system does not tell
};

#if defined(_WIN32)
StackBounds StackBoundsHere() {
  ULONG_PTR low = 0;
  ULONG_PTR high = 0;
  GetCurrentThreadStackLimits(&low, &high);
  return {low, high};
}
#else
#if defined(__APPLE__)
StackBounds StackBoundsHere() {
  const auto high = reinterpret_cast<uintptr_t>(pthread_get_stackaddr_np(pthread_self()));
  return {high - pthread_get_stacksize_np(pthread_self()), high};
}
#else
#if !defined(__GLIBC__)
// Other C libraries than glibc say how far the main thread's stack has grown, not how far it may.
StackBounds WithLimit(StackBounds bounds) {
  if (syscall(SYS_gettid) != getpid()) return bounds;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return bounds;
  bounds.low = bounds.high - std::min<uintptr_t>(bounds.high, limit.rlim_cur);
  return bounds;
}
#else
StackBounds WithLimit(StackBounds bounds) {
  return bounds;
}
#endif
StackBounds StackBoundsHere() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  size_t size = 0;
  size_t guard = 0;
  const bool known = pthread_attr_getstack(&attributes, &low, &size) == 0 &&
                     pthread_attr_getguardsize(&attributes, &guard) == 0;
  pthread_attr_destroy(&attributes);
  if (!known) return {};
  const auto begin = reinterpret_cast<uintptr_t>(low);
  // Older versions of glibc count the guard as part of the stack.
  return WithLimit({begin + std::min(guard, size), begin + size});
}
#endif
#endif

uintptr_t StackPointer() {
#if defined(_MSC_VER)
  return reinterpret_cast<uintptr_t>(_AddressOfReturnAddress());
#else
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
#endif
}

}  // namespace

size_t StackLeft() noexcept {
  thread_local bool is_known = false;
  thread_local StackBounds bounds;
  if (!is_known) {
    bounds = StackBoundsHere();
    is_known = true;
  }
  const uintptr_t here = StackPointer();
  return here > bounds.low && here <= bounds.high ? here - bounds.low : 0;
}

}  // namespace tritonts::platform
