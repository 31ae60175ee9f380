// What the batches cost that a thread runs for others: how long it has run them since its tick
// began, and how long it had a core for them. There are two kinds of such batches:
// - inline ones run on the JS thread that submitted them. Its tick is a turn of the event loop.
// - guests run on the thread of an instance whose answers made them ready: steps of an ensemble.
//   Its tick is one of the instance's own batches. So do calls of Python models, on the thread of
//   the instance's channel; its tick is one look at what the stub has sent.
// docs/architecture.md has more of both ("Inline runs", "Ensembles").
//
// Owned and used by that thread alone.
#pragma once

#include <cstdint>

#include "platform/thread.h"

namespace tritonts {

// Measures how long a thread had a core during its runs. Reading that clock is a system call. So
// one reading serves the runs of a millisecond, and a second one is made only when a run took too
// long.
class ThreadWatch {
 public:
  // `read` reads the CPU clock of the calling thread.
  explicit ThreadWatch(uint64_t (*read)() = platform::ThreadTimeNs) : read_(read) {}

  // Notes that a run begins.
  void Begin(uint64_t now_ns);
  // The last run took `ns`. Returns for how much of that the thread had a core, at least.
  uint64_t Had(uint64_t ns) const;

 private:
  static constexpr uint64_t kStaleNs = 1'000'000;

  uint64_t (*read_)();
  uint64_t read_at_ns_ = 0;  // 0: not read yet
  uint64_t had_ns_ = 0;      // the reading at read_at_ns_
  uint64_t began_ns_ = 0;
};

struct InlineTick {
  uint64_t spent_ns = 0;
  ThreadWatch watch = ThreadWatch();
  bool of_instance = false;  // its batches are guests

  // The tick of the instance whose thread this is; null on other threads.
  static InlineTick* OfInstance();
};

// Makes a tick that of this thread, which is an instance's, until it returns.
class InstanceTickScope {
 public:
  explicit InstanceTickScope(InlineTick* tick);
  ~InstanceTickScope();
  InstanceTickScope(const InstanceTickScope&) = delete;
  InstanceTickScope& operator=(const InstanceTickScope&) = delete;
};

}  // namespace tritonts
