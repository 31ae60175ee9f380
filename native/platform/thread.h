// The engine's threads, and the few things about threads that differ between systems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace tritonts::platform {

// A thread whose start may fail without an exception. Its stack is 8 MiB on every system, as it is
// on Linux, where runtimes are tested most. The default is 512 KiB on macOS and 1 MiB on Windows.
//
// It has one owner, which starts it once and then joins or detaches it. Not thread-safe.
class Thread {
 public:
  static constexpr size_t kStackBytes = size_t{8} << 20;

  Thread() = default;
  ~Thread();  // it must have been joined or detached, or never started
  Thread(Thread&& other) noexcept;
  Thread& operator=(Thread&& other) noexcept;

  // Runs `body`, which must not throw, on a new thread. False: the system has no thread or no
  // memory for it.
  [[nodiscard]] bool Start(std::function<void()> body);
  // Whether the thread was started, and neither joined nor detached.
  bool joinable() const { return joinable_; }
  // Waits until the thread has ended. Not called on the thread itself.
  void Join();
  // Lets the thread go on without an owner.
  void Detach();

 private:
#if defined(_WIN32)
  void* handle_ = nullptr;
#else
  pthread_t handle_{};
#endif
  bool joinable_ = false;
};

// --- These functions concern the calling thread.

// Sets the name that debuggers and `top -H` show, at most 15 characters.
void NameThread(const char* name);

// Lets timed waits end on time. Otherwise Linux rounds them up by 50 µs, and Windows to 15.6 ms;
// there it is a setting of the whole process, which stays.
void UseExactTimers();

// Gives a thread that computes for long longer scheduling slices. A thread that wakes for a moment,
// as an event loop does for a timer, then gets this thread's core at once, not only at the end of a
// slice. This thread's share of the cores stays the same. Threads that it starts inherit the
// setting. It has an effect on Linux from 6.12 on.
void UseLongSlices();

// How often this thread was preempted; always 0 on systems other than Linux.
uint64_t Preemptions();

// The CPU time of this thread, in nanoseconds; 0 if the system does not tell.
uint64_t ThreadTimeNs();

}  // namespace tritonts::platform
