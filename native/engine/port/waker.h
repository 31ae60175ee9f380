// How the JS thread learns that there are answers: it is woken, or it looks for them.
//
//   JS thread      submits             sleeps in its event loop            takes
//   ---------------|===|---------------------------------------->|~~~~~~~~~~|====|---
//   instance            |--wakes--|===========run===========|====|
//                                                           writes, wakes (a system call; ~: tens
//                                                           of microseconds until it has its core)
//
// Where earlier waits were short, it looks instead, turn by turn of the event loop, so that timers
// and sockets have theirs; it is then not woken, and has the answer in a few microseconds:
//
//   JS thread      submits  look turn look turn look turn look   takes
//   ---------------|===|----|==|  ...|==|  ...|==|  ...|==|=|----|====|---
//   instance            |---|================run===========|=|
//                           '--- a wait counts from here: that is what looking could have saved
//                           ---'
//
// It sleeps when it has looked for SpinPolicy::kMostNs (and as long again as the last batch took to
// begin), when nothing is asked for, or when its core is wanted. Whether it begins to look, and
// what is learned from how a wait went, is as for instances' threads (spin.h). Each wait is decided
// once: while nothing waits, or where runs take long, no turn of the event loop is asked for.
//
// The JS thread's, but Signal (any thread).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "engine/request/response_sink.h"
#include "engine/running/spin.h"

namespace tritonts {

// What came of a look for answers.
enum class Looked {
  kAsleep,     // the JS thread is woken when there are some
  kNothing,    // it is not: it is to look again with the event loop's next turn
  kSomething,  // they are to be taken, and then it is to look again
};

class Waker {
 public:
  // `wake` asks the JS thread to come. It is called on any thread, but not when Close has returned,
  // and only to signal: it must not call back. `cores`: that threads may spin on; 0: it never
  // looks.
  Waker(std::function<void()> wake, uint32_t cores) : wake_(std::move(wake)), cores_(cores) {}
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  // Any thread: there is something. After a signal that was not taken yet, nothing.
  // `timings`: of the batch that there is something of; null: of none.
  void Signal(const BatchTimings* timings = nullptr);
  // Before the JS thread takes what there is: what comes after that signals again. Whether it was
  // signalled.
  bool TakeSignal();

  // From now on, or (0) no more, it waits for answers.
  void BeginWait(uint64_t now_ns);
  bool waits() const { return waiting_since_ns_ != 0; }
  // Looks for a few microseconds, where that is worth it: after requests were submitted, and from
  // then on as it says.
  Looked Look();

  // From now on nobody is woken, and it does not look.
  void Close();

 private:
  // What it waited for is there.
  void NoteWait();
  Looked StopLooking(Spin spin);

  const std::function<void()> wake_;
  const uint32_t cores_;
  uint64_t waiting_since_ns_ = 0;  // 0: it does not wait
  bool asked_ = false;             // whether to look in this wait was decided
  Spin looked_ = Spin::kNone;      // how this wait's looks went
  uint64_t last_look_ns_ = 0;
  uint64_t interruptions_ = 0;  // of the JS thread, when it began to look
  SpinPolicy policy_;
  std::optional<SpinCore> core_;  // while it looks

  std::atomic<bool> looking_{false};  // then it needs no waking
  std::atomic<bool> signalled_{false};
  // Of the signal's batch; 0: it had none.
  std::atomic<uint64_t> batch_began_ns_{0};
  std::atomic<uint64_t> batch_ended_ns_{0};
  std::atomic<bool> closed_{false};
  std::atomic<uint32_t> waking_{0};  // threads that are about to call `wake_`; Close waits for them
};

}  // namespace tritonts
