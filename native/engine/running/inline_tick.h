// What a thread that submits runs itself (docs/architecture.md, "On the JS thread"): how long it
// has run batches since its tick began, and how long it had a core for them.
//
// That thread's alone.
#pragma once

#include <cstdint>

#include "platform/thread.h"

namespace tritonts {

// How long a thread has had a core during its runs. To read that clock is a system call, so one
// reading serves the runs of a millisecond, and another one is made where a run took too long.
class ThreadWatch {
 public:
  // `read`: the clock of the calling thread.
  explicit ThreadWatch(uint64_t (*read)() = platform::ThreadTimeNs) : read_(read) {}

  // A run begins.
  void Begin(uint64_t now_ns);
  // How much of the `ns` that the run which began last has taken the thread had a core, at least.
  uint64_t Had(uint64_t ns) const;

 private:
  static constexpr uint64_t kStaleNs = 1'000'000;

  uint64_t (*read_)();
  uint64_t read_at_ns_ = 0;  // 0: never
  uint64_t had_ns_ = 0;      // then
  uint64_t began_ns_ = 0;
};

struct InlineTick {
  uint64_t spent_ns = 0;
  ThreadWatch watch = ThreadWatch();
};

}  // namespace tritonts
