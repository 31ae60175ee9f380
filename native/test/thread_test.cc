// What threads ask of the system's scheduler.
#include "platform/thread.h"

#include <cstdint>
#include <thread>

#include "check.h"

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tritonts::test {

#if defined(__linux__)
namespace {

// The slice of the calling thread in nanoseconds; 0 where the kernel does not tell.
uint64_t Slice() {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes{};
  return syscall(SYS_sched_getattr, 0, &attributes, unsigned{sizeof(attributes)}, 0) == 0
             ? attributes.runtime
             : 0;
}

}  // namespace

TEST(threads_that_compute_for_long_have_longer_slices_and_so_have_those_they_start) {
  uint64_t before = 0;
  uint64_t after = 0;
  uint64_t started = 0;
  std::thread([&] {
    before = Slice();
    platform::ComputeForLong();
    after = Slice();
    std::thread([&] { started = Slice(); }).join();
  }).join();
  if (before == 0) SKIP("this kernel has no slices of threads' own");
  CHECK_EQ(after, uint64_t{10'000'000});
  CHECK_EQ(started, after);
  // Nobody else has.
  CHECK_EQ(Slice(), before);
}
#endif

}  // namespace tritonts::test
