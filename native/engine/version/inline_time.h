// The time that a thread spends on batches which another instance's thread would otherwise run.
// InlineTime counts how long the thread has run such batches, and how long it had a core for them.
// The count restarts with each period, and a version's budget holds for one period. There are two
// kinds of such batches:
// - Inline batches run on the JS thread that submitted them. The period is one tick of the event
//   loop.
// - Guests run on the thread of an instance whose responses made them ready. Guests are steps of an
//   ensemble; the period is one of the instance's own batches. Calls of Python models are guests,
//   too, on the thread of the instance's channel; the period is one read of the stub's messages.
// docs/architecture.md describes both ("Inline runs", "Ensembles").
//
// Owned and used by one thread.
#pragma once

#include <cstdint>

#include "platform/thread.h"

namespace tritonts {

// Measures how long a thread had a core during its runs. Reading the thread's CPU clock is a system
// call. So one reading serves all runs of a millisecond. The clock is read again only when a run
// took too long.
class ThreadWatch {
 public:
  // `read` reads the CPU clock of the calling thread.
  explicit ThreadWatch(uint64_t (*read)() = platform::ThreadTimeNs) : read_(read) {}

  // Notes the start of a run.
  void Begin(uint64_t now_ns);
  // Returns a lower bound of the time for which the thread had a core in its last run, which took
  // `ns`.
  uint64_t Had(uint64_t ns) const;

 private:
  static constexpr uint64_t kStaleNs = 1'000'000;

  uint64_t (*read_)();
  uint64_t read_at_ns_ = 0;  // 0: not read yet
  uint64_t had_ns_ = 0;      // the reading at read_at_ns_
  uint64_t began_ns_ = 0;
};

struct InlineTime {
  uint64_t spent_ns = 0;  // in this period
  ThreadWatch watch = ThreadWatch();
  bool of_instance = false;  // its batches are guests

  // The inline time of the instance whose thread this is; null on other threads.
  static InlineTime* OfInstance();
};

// Makes `inline_time` the one of the calling instance's thread for the lifetime of this object.
class InstanceTimeScope {
 public:
  explicit InstanceTimeScope(InlineTime* inline_time);
  ~InstanceTimeScope();
  InstanceTimeScope(const InstanceTimeScope&) = delete;
  InstanceTimeScope& operator=(const InstanceTimeScope&) = delete;
};

}  // namespace tritonts
