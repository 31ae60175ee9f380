// What the files of the fake driver share about its calls, contexts and streams.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda_driver.h"

namespace tritonts::fakes {

inline constexpr int kOutOfMemory = 2;
inline constexpr int kInvalidContext = 201;
inline constexpr int kNotReady = 600;
inline constexpr int kLaunchFailed = 719;
inline constexpr int kCaptureUnsupported = 900;
inline constexpr int kCaptureInvalidated = 901;
inline constexpr int kCaptureUnjoined = 904;
inline constexpr int kCapturedEvent = 907;

struct Context {
  int id = 0;
  int retained = 0;
  std::set<Context*> peers;  // whose memory it may access
  std::atomic<bool> lost{false};
  // Held by a call that waits for all that the device does. Other calls wait for it, as they may in
  // the real driver.
  std::shared_mutex waits;
};

struct Allocation {
  size_t size = 0;
  char* shadow = nullptr;
  Context* context = nullptr;
};

// Never destroyed, as streams may outlive static destructors.
struct State {
  std::mutex mutex;  // guards all
  Context contexts[kMostGpus];
  std::map<uint64_t, Allocation> device;
  std::map<void*, size_t> pinned;
  std::set<class Stream*> streams;
  std::map<int, int> priorities;  // of streams
  int events = 0;
  int graphs = 0;
};
State& Here();

// The context of the calling thread; null: none.
Context* CurrentContext();

// A function of the driver: how often it was called, and whether it is to fail. Each call is
//
//   static Call call("cuMemFree_v2");
//   if (const int result = call.Begin()) return result;
class Call {
 public:
  explicit Call(const char* name);
  // What the call returns before it does anything.
  int Begin(bool needs_context = true);
  // Of all functions of this name that were called so far.
  static int64_t CountOf(const std::string& name);
  static void Fail(const std::string& name, int result, int after);

 private:
  const char* const name_;
  std::atomic<int64_t> count_{0};
};

// Whether a call that destroys something does so: also on a lost device, which it then tells.
bool Ends(int result);

// The fake's own address of device memory. The process ends if it is none, or too small, or not of
// this context (null: of any).
char* ShadowOf(const char* function, uint64_t address, size_t size, Context* context = nullptr);

// The process ends where something is put on a stream without the context of its device.
void CheckContext(const char* function, const class Stream* stream);

// What a piece of work is, for those who look when it was done.
enum class Kind : int { kUp, kDown, kKernel, kOther };
inline constexpr int kKinds = 4;

using Work = std::function<void()>;

struct Event {
  Context* context = nullptr;
  bool timed = true;
  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  uint64_t recorded = 0;
  uint64_t passed = 0;
  int64_t passed_ns = 0;
  // Of a capture: recorded there, and not in a stream.
  struct Graph* captured = nullptr;
  class Stream* captured_on = nullptr;
};

// Work that was recorded, in an order in which it may run.
struct Graph {
  std::vector<std::pair<Kind, Work>> work;
  std::vector<class Stream*> streams;  // that take part in the recording, the first one first
  bool invalid = false;                // something was called that must not be
};
// What the calling thread records; null: nothing.
void SetCapturing(Graph* graph);
// At what must not be called while the thread records. Not 0: what the call returns.
int RefuseInCapture();

class Stream {
 public:
  Stream(Context* context, int priority);
  ~Stream();
  void Put(Kind kind, Work work);
  // Until all that was put so far is done; on a lost device, not done any more.
  void Synchronize();
  Context* context() const { return context_; }
  int priority() const { return priority_; }

  // What is put goes there instead, and does not run; null: it runs.
  Graph* capture = nullptr;
  // It was given something to record that the first stream of the recording does not wait for.
  bool unjoined = false;

 private:
  void Run();

  Context* const context_;
  const int priority_;
  std::mutex mutex_;  // guards the three below
  std::condition_variable changed_;
  std::deque<std::pair<Kind, Work>> work_;
  uint64_t put_ = 0;
  uint64_t done_ = 0;
  std::thread thread_;
};

// --- What tests hold back (cuda_gates.cc).

// Waits while the opening of the device is held back.
void AwaitOpening(int id);
// Waits until a kernel of the device may begin.
void AwaitStep(int id);
// Does the work of a stream, when its kind is not held back.
void Do(Kind kind, const Work& work);

// The process ends where a thread in a host function calls the driver.
void SetInHostFunction(bool in);

}  // namespace tritonts::fakes
