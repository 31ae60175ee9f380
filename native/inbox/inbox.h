// Passes batches to one instance of a model in JavaScript or Python: from the engine to what runs
// the model. That is an environment (a worker, or the one that created the server), or the channel
// of a process (python/channel.h), which takes the environment's part.
//
//           Attach           Up                     Detach
//   down ----------> down ------> up (serves) ------------------> down, until the next Attach
//     any of them --Terminate--> terminated     any of them --Close--> closed
//
// Push never blocks. While the instance is down, Push requeues the requests at the model, where
// other instances may take them, and the instance is not free until it is up. Batches that the
// environment had taken when it ended fail.
//
// A batch of a decoupled model continues after the model has returned from it: its responses follow
// as their callers read. Such a batch is "parted": it keeps its slot, and the instance gets others.
//
//   pushed: waiting --Take--> entered <--Leave, Enter--> taken --Leave(last)--> free
//                                             '--Part: no longer counts as the instance's batch
//
// Ownership: shared by the model's instance, the environment, the listeners for callers who read,
// and the backend's table. A batch has a slot and a reference to its run from Push until it has
// ended.
//
// Threads: Push, Terminate, Close, Settle and listeners may be called on any thread, all other
// functions on the environment's thread. While that thread is inside a batch (Enter to Leave),
// Terminate leaves the batch to it: only one thread at a time reads a run's requests or answers
// them.
//
// Locking: `mutex_` guards all state, briefly. Runs, sinks and the wake-up are called without it.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/backend.h"

namespace tritonts {

class Inbox : public std::enable_shared_from_this<Inbox> {
 public:
  // At most `concurrency` batches run at once; each has one of the version's call places. `runner`
  // is the word for the environment in error messages. Throws std::bad_alloc.
  Inbox(std::string model, std::string name, uint32_t concurrency,
        std::shared_ptr<CallPlaces> places, const std::string& runner = "thread");
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;
  ~Inbox();

  const std::string& model() const { return model_; }
  const std::string& name() const { return name_; }

  // --- For the engine.
  void Push(Run& run);
  // Fails all batches, present and future.
  void Terminate();
  // No batches follow.
  void Close();
  // The version ends: an instance that is down no longer delays that.
  void Settle();

  // --- For the environment. `wake` is called on any thread: at most once after each Sleep and once
  // after TakeReader returned kNone, never after Detach has returned. It must only signal. Returns
  // false if the inbox has another environment or is closed.
  bool Attach(std::function<void()> wake);
  // The model is ready for batches.
  void Up();
  // The environment ends.
  void Detach();

  enum class Next { kBatch, kNone, kClosed };
  // Takes the next batch and enters it.
  Next Take(uint32_t* slot, Run** run);
  // Enters a batch that was taken. Null if it has ended.
  Run* Enter(uint32_t slot);
  // Requires an entered batch. Records which of its requests are calls, and which are traced.
  void NoteServed(uint32_t slot, std::vector<ServedCall> served);
  // Marks a taken batch as unseen by the model: Detach requeues it, like a waiting one.
  void Untake(uint32_t slot);
  // Returns a number for calls that a request of a batch makes (~0u: any of its requests); 0 if the
  // batch has ended. Requests that serve no call and are not traced share one, so that the calls of
  // a batch can share a header. Throws std::bad_alloc.
  uint32_t NameCaller(uint32_t slot, uint32_t position);
  // Leaves a batch. `last` ends it: unanswered requests fail, and the instance may get another
  // batch. Returns whether the batch continues.
  bool Leave(uint32_t slot, bool last);
  // The model has returned from a batch whose responses follow, so the instance may get another
  // one. Without memory nothing changes: the batch then counts until it has ended.
  void Part(uint32_t slot);
  // Creates a listener that lists a request of a batch for TakeReader. It may fire late, when the
  // slot has another batch. Throws std::bad_alloc.
  std::shared_ptr<ReadListener> MakeReader(uint32_t slot, uint32_t request);
  enum class Readers { kOne, kAll, kNone };
  // Takes a request whose caller has read or left. kAll: the engine has ended batches, so every
  // waiting request must be checked.
  Readers TakeReader(uint32_t* slot, uint32_t* request);
  // Requests a call of `wake`. Returns false if there already is a batch or a reader to take.
  bool Sleep();
  // Whether TakeReader would return something.
  bool has_readers();
  // A hint, without the lock: a batch or reader may be available.
  const std::atomic<bool>& rung() const { return rung_; }
  // The time of the last Push, by NowNs.
  uint64_t pushed_ns() const { return pushed_ns_.load(std::memory_order_relaxed); }

 private:
  enum class Phase : uint8_t { kFree, kWaiting, kTaken, kEntered };
  struct Slot {
    RunRef run;
    Phase phase = Phase::kFree;
    bool ending = false;  // Terminate was called while the environment was inside
    bool parted = false;
    std::vector<ServedCall> served;
    TraceMarks<TraceParent> traces;
    std::shared_ptr<Caller> caller;  // null: the batch has made no calls
    uint32_t shared_number = 0;      // for calls of any request; 0: not assigned
  };
  // Lists its request in the inbox, which owns it while it is listed.
  struct Reader;
  using Lock = std::unique_lock<std::mutex>;

  // Frees a slot and returns its run. Requires the lock.
  RunRef Vacate(uint32_t number);
  // Call it after a batch has ended. Returns the run that must now report the instance free.
  RunRef TakeUnfreed();
  // Ends all batches. With `again`, batches that were not taken are requeued; all others fail.
  void EndAll(const Status& status, bool again, Lock* lock);
  void Wake(Lock* lock);
  // Wakes the environment because of a reader.
  void WakeForReaders(Lock* lock);
  void Signal(Lock* lock);
  void List(std::shared_ptr<Reader> reader);
  // Clears the list of readers. Requires the lock.
  void DropReaders();

  const std::string model_;
  const std::string name_;
  // Created in advance, so that failing needs no memory.
  const Status terminated_status_;
  const Status died_status_;
  const Status unanswered_status_;

  const size_t concurrency_;
  const std::shared_ptr<CallPlaces> places_;

  std::mutex mutex_;                 // guards all below
  std::deque<Slot> slots_;           // for all busy batches and the parted ones
  std::vector<uint32_t> free_;       // slots; has capacity for all
  std::vector<uint32_t> waiting_;    // slots, oldest first; has capacity for all busy ones
  size_t busy_ = 0;                  // number of slots neither free nor parted
  std::shared_ptr<Reader> readers_;  // head of the list
  Reader* last_reader_ = nullptr;
  bool ended_all_ = false;        // see Readers::kAll
  bool told_of_readers_ = false;  // `wake_` was called because of readers
  RunRef unfreed_;                // has not yet reported the instance free
  bool attached_ = false;
  bool up_ = false;
  bool was_up_ = false;
  bool settling_ = false;
  bool terminated_ = false;
  bool closed_ = false;
  bool asleep_ = false;
  std::function<void()> wake_;
  std::atomic<uint32_t> waking_{
      0};  // threads that are about to call `wake_`; Detach waits for them
  std::atomic<bool> rung_{false};
  std::atomic<uint64_t> pushed_ns_{0};
};

}  // namespace tritonts
