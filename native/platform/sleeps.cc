#include "platform/sleeps.h"

#if defined(__linux__)
#include <sys/resource.h>
#endif

namespace tritonts::platform {

uint64_t Sleeps() {
#if defined(__linux__)
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_nvcsw);
#else
  return 0;
#endif
}

}  // namespace tritonts::platform
