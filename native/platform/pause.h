// The pause of a spinning thread between two checks.
#pragma once

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace tritonts::platform {

// Tells the processor that this thread only waits, which leaves more of the core to its other
// hardware thread. It takes ten to a hundred nanoseconds. Any thread may call it.
inline void Pause() {
#if defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))
  _mm_pause();
#elif defined(_MSC_VER) && defined(_M_ARM64)
  __yield();
#elif defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ volatile("yield" ::: "memory");
#endif
}

}  // namespace tritonts::platform
