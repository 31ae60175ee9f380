// Tells the JS thread of responses: wakes it, or lets it look for them.
//
//   JS thread   submits       sleeps in its event loop                    takes
//   ------------|===|------------------------------------------|~~~~~~~~~~|====|---
//   instance        |--wakes--|============run============|====|
//                                                         writes and wakes
//   ~ a system call, and tens of microseconds until the JS thread has its core
//
// If earlier waits were short, it spins instead. It looks for 2 us in each turn of the event loop,
// so that timers and sockets have their turns. Then it needs no wake-up, and has the response
// within a few microseconds:
//
//   JS thread   submits  look turn look turn look turn look  takes
//   ------------|===|----|==|  ...|==|  ...|==|  ...|==|==|--|====|---
//   instance        |----|==============run============|==|
//                        ^
//                        the wait counts from here, the start of the batch
//
// While it looks, this thread also takes answers from other processes (PolledSource).
//
// It sleeps when it has looked for SpinPolicy::most_ns, when no request is in flight, or when its
// core is needed. SpinPolicy decides once per wait whether it looks at all, as it does for
// instances' threads (spin.h). If it does not look, it asks for no extra turn of the event loop.
//
// The port owns the waker. Any thread may call Signal; only the JS thread may call the rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "engine/request/response_sink.h"
#include "engine/waiting/polled_source.h"
#include "engine/waiting/spin.h"

namespace tritonts {

// The result of a look.
enum class Looked {
  kAsleep,     // no look: the JS thread will be woken
  kNothing,    // look again in the next turn of the event loop
  kSomething,  // take the pages, and then look again
};

class Waker {
 public:
  // `wake` wakes the JS thread. It is called on any thread, but not after Close has returned. It
  // must only signal, and not call back. `cores`: the number of cores that threads may spin on; 0:
  // the JS thread never looks.
  Waker(std::function<void()> wake, uint32_t cores) : wake_(std::move(wake)), cores_(cores) {}
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  // Signals that there are responses. Does nothing if an earlier signal was not taken yet.
  // `timings` belong to the delivered batch; null: no batch ran.
  void Signal(const BatchTimings* timings = nullptr);
  // Returns whether there was a signal, and clears it. Called before the JS thread takes pages, so
  // that later pages signal again.
  bool TakeSignal();

  // From now on the JS thread waits for responses; with `now_ns` 0, it does not.
  void BeginWait(uint64_t now_ns);
  bool waits() const { return waiting_since_ns_ != 0; }
  // Looks for a few microseconds, if SpinPolicy expects a gain. Called after requests were
  // submitted, and again as the result says.
  Looked Look();

  // From now on the JS thread is not woken, and does not look.
  void Close();

 private:
  // Reports the result of the wait to the policy.
  void NoteWait();
  Looked StopLooking(Spin spin);

  const std::function<void()> wake_;
  const uint32_t cores_;
  uint64_t waiting_since_ns_ = 0;  // 0: it does not wait
  bool asked_ = false;             // whether the policy was asked for this wait
  Spin looked_ = Spin::kNone;      // the result of this wait's looks
  uint64_t last_look_ns_ = 0;
  uint64_t preemptions_ = 0;  // of the JS thread, when the wait began
  SpinPolicy policy_;
  std::optional<SpinCore> core_;  // held while it looks
  Polling polling_;               // likewise

  std::atomic<bool> looking_{false};  // the JS thread looks and needs no waking
  std::atomic<bool> signalled_{false};
  // Times of the signal's batch; 0: it had none.
  std::atomic<uint64_t> batch_began_ns_{0};
  std::atomic<uint64_t> batch_ended_ns_{0};
  std::atomic<bool> closed_{false};
  std::atomic<uint32_t> waking_{0};  // threads that are about to call `wake_`; Close waits for them
};

}  // namespace tritonts
