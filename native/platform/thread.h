// Threads of ours, and the few things about threads that differ per system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace tritonts::platform {

// A thread with a stack of the same size on every system (a runtime's own thread has 8 MiB on
// Linux, where its authors test it; the default is 512 KiB on macOS and 1 MiB on Windows), whose
// start may fail without an exception.
//
// It belongs to one owner, who starts it once and then joins or detaches it: neither is for two
// threads at a time.
class Thread {
 public:
  static constexpr size_t kStackBytes = size_t{8} << 20;

  Thread() = default;
  ~Thread();  // joined or detached, or never started
  Thread(Thread&& other) noexcept;
  Thread& operator=(Thread&& other) noexcept;

  // Runs `body`, which must not throw, on a new thread. False: the system has none, or no memory
  // for it, and `body` does not run.
  [[nodiscard]] bool Start(std::function<void()> body);
  // Whether it was started, and neither joined nor detached.
  bool joinable() const { return joinable_; }
  // Waits until it has ended. Not on the thread itself.
  void Join();
  // It goes on without an owner.
  void Detach();

 private:
#if defined(_WIN32)
  void* handle_ = nullptr;
#else
  pthread_t handle_{};
#endif
  bool joinable_ = false;
};

// --- What follows applies to the calling thread.

// Shown by debuggers and `top -H`; at most 15 characters.
void NameThread(const char* name);

// Lets timed waits of this thread end on time: Linux rounds them up by 50 µs otherwise.
void WakeOnTime();

// For threads that compute for long: whoever wakes up for a moment, as an event loop does for a
// timer, gets this thread's core at once and not when its slice is over; in return slices are
// longer. The share of the cores stays the same. Threads that this one starts do the same. Linux
// from 6.12 on; without effect elsewhere.
void ComputeForLong();

// How often the system took the core from this thread while it wanted to go on; always 0 where that
// is not told (all but Linux).
uint64_t Interruptions();

// How long this thread has had a core, in nanoseconds; always 0 where that is not told.
uint64_t ThreadTimeNs();

}  // namespace tritonts::platform
