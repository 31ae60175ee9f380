// Shared by the files of the fake driver: calls, contexts and streams.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda_driver.h"

namespace tritonts::fakes {

inline constexpr int kInvalidContext = 201;
inline constexpr int kNotReady = 600;
// No result of the driver: the call throws std::bad_alloc, as code around it may.
inline constexpr int kThrows = -1;
inline constexpr int kCaptureUnsupported = 900;
inline constexpr int kCaptureInvalidated = 901;
inline constexpr int kCaptureUnjoined = 904;
inline constexpr int kCapturedEvent = 907;

struct Context {
  int id = 0;
  int retained = 0;
  std::set<Context*> peers;  // contexts whose memory it may access
  std::atomic<bool> lost{false};
  // Held by a call that waits for all work of the device. Other calls wait for it, as may happen in
  // the real driver.
  std::shared_mutex waits;
};

struct Allocation {
  size_t size = 0;
  char* shadow = nullptr;
  Context* context = nullptr;
  int file = -1;  // whose bytes it is; it is closed with the memory
};

// Never destroyed, because streams may outlive static destructors.
struct State {
  std::mutex mutex;  // guards all
  Context contexts[kMostGpus];
  std::map<uint64_t, Allocation> device;
  std::map<void*, size_t> pinned;
  std::set<class Stream*> streams;
  std::map<int, int> priorities;  // of streams
  int events = 0;
  int graphs = 0;
  // Held by work that touches memory. The loss of a device waits for it: afterwards, the memory is
  // its owner's.
  std::shared_mutex touches;
};
State& Here();

// The calling thread's context; null: none.
Context* CurrentContext();

// A driver function: counts its calls, and fails on request. In each driver function:
//
//   static Call call("cuMemFree_v2");
//   if (const int result = call.Begin()) return result;
class Call {
 public:
  explicit Call(const char* name);
  // Returns the result that the function must return at once, or 0.
  int Begin(bool needs_context = true);
  // The number of calls so far of all functions with this name.
  static int64_t CountOf(const std::string& name);
  static void Fail(const std::string& name, int result, int after);

 private:
  const char* const name_;
  std::atomic<int64_t> count_{0};
};

// Whether a function that destroys an object does so: on a lost device, too, where it returns an
// error.
bool Ends(int result);

// The fake's own mapping of device memory. Ends the process if the address is invalid, the memory
// too small, or of another context (null: any).
char* ShadowOf(const char* function, uint64_t address, size_t size, Context* context = nullptr);

// Maps a file as device memory of the current context, and takes the file over. Returns the
// driver's result.
int MapDevice(uint64_t* address, size_t bytes, int file);
// Ends the process if there is no device memory at this address.
void UnmapDevice(const char* function, uint64_t address);

// Ends the process if work is enqueued on a stream while its device's context is not current.
void CheckContext(const char* function, const class Stream* stream);

// The kind of a piece of work, for tests that wait for it.
enum class Kind : int { kUp, kDown, kKernel, kOther };
inline constexpr int kKinds = 4;

using Work = std::function<void()>;

struct Event {
  // Work that refers to an event keeps it, because events may be destroyed before they pass.
  std::shared_ptr<Event> self;
  Context* context = nullptr;
  bool timed = true;
  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  uint64_t recorded = 0;
  uint64_t passed = 0;
  int64_t passed_ns = 0;
  // During a capture: recorded in this graph instead of a stream.
  struct Graph* captured = nullptr;
  class Stream* captured_on = nullptr;
};

// Recorded work, in a valid order of execution.
struct Graph {
  std::vector<std::pair<Kind, Work>> work;
  // streams that take part in the recording, the capturing one first
  std::vector<class Stream*> streams;
  bool invalid = false;  // a forbidden function was called during the recording
};
// The graph that the calling thread records; null: none.
void SetCapturing(Graph* graph);
// Called by functions that are forbidden during a recording. If not 0, the function must return
// this.
int RefuseInCapture();

class Stream {
 public:
  Stream(Context* context, int priority);
  ~Stream();
  void Put(Kind kind, Work work);
  // The same for work that reads or writes memory.
  void PutTouching(Kind kind, Work work);
  // Waits until all enqueued work is done; on a lost device it returns without that.
  void Synchronize();
  Context* context() const { return context_; }
  int priority() const { return priority_; }

  // Work is recorded there instead of running; null: it runs.
  Graph* capture = nullptr;
  // Recorded work that the recording's first stream does not wait for.
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

// --- Work that tests hold back (cuda_gates.cc).

// Waits while the device's opening is held back.
void AwaitOpening(int id);
// Waits until a kernel of the device may begin.
void AwaitStep(int id);
// Runs a stream's work once its kind is not held back.
void Do(Kind kind, const Work& work);

// Marks the calling thread as in a host function: calling the driver then ends the process.
void SetInHostFunction(bool in);

}  // namespace tritonts::fakes
