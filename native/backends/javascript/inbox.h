// Where one instance of a JavaScript model gets its batches: between the engine and the environment
// that runs the model (a worker, or the environment that created the server).
//
//           Attach           Up                     Detach
//   down ----------> down ------> up (serves) ------------------> down, until the next Attach
//     any of them --Terminate--> terminated     any of them --Close--> closed
//
// Push never waits. While the instance is down, it queues the requests again at the model, where
// other instances may take them, and the instance is not free until it is up. What the environment
// had taken when it ended fails.
//
// A batch of a decoupled model goes on when the model has returned from it: its responses follow as
// their callers read. Such a batch has parted: it keeps its slot, and the instance gets others.
//
//   pushed: waiting --Take--> entered <--Leave, Enter--> taken --Leave(last)--> free
//                                             '--Part: counts no more as one of the instance's
//
// Ownership: shared by the model's instance, by the environment, by listeners of callers who read
// and by the backend's table. A batch has a slot from Push until it has ended, and a reference to
// its run as long.
//
// Threads: Push, Terminate, Close, Settle and a listener may be called by any thread. All other
// functions are for the environment's thread. While that thread is inside of a batch (Enter to
// Leave), Terminate leaves the batch to it: only one thread reads a request's memory or answers it.
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
  // At most `concurrency` batches are under way at once, in the version's places for batches.
  // `runner` is what the environment is called in messages. Throws std::bad_alloc.
  Inbox(std::string model, std::string name, uint32_t concurrency,
        std::shared_ptr<CallPlaces> places, const std::string& runner = "thread");
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;
  ~Inbox();

  const std::string& model() const { return model_; }
  const std::string& name() const { return name_; }

  // --- For the engine.
  void Push(Run& run);
  // Ends all batches with errors, now and later.
  void Terminate();
  // There will be no more batches.
  void Close();
  // The version ends: an instance that is down holds nothing up any more.
  void Settle();

  // --- For the environment. `wake` is called on any thread, at most once after each Sleep and once
  // after TakeReader has found nothing, and not after Detach has returned. It must only signal.
  // False: another environment has the inbox, or it is closed.
  bool Attach(std::function<void()> wake);
  // The model can take batches.
  void Up();
  // The environment ends.
  void Detach();

  enum class Next { kBatch, kNone, kClosed };
  // Takes the next batch and enters it.
  Next Take(uint32_t* slot, Run** run);
  // Enters a batch that was taken. Null: it has ended.
  Run* Enter(uint32_t slot);
  // Inside of a batch: notes which of its requests are calls.
  void NoteServed(uint32_t slot, std::vector<ServedCall> served);
  // The model has not seen a batch that was taken: with Detach it is queued again, as one that
  // waits.
  void Untake(uint32_t slot);
  // A number for calls that a request of a batch makes (~0u: any of them). 0: the batch has ended.
  // Throws std::bad_alloc.
  uint32_t NameCaller(uint32_t slot, uint32_t position);
  // Leaves a batch. With `last` it has ended: what is not answered fails, and the instance may get
  // another one. Returns whether the batch goes on.
  bool Leave(uint32_t slot, bool last);
  // The model has returned from a batch whose responses follow, so the instance may get another
  // one. Without memory nothing changes: then the batch counts until it has ended.
  void Part(uint32_t slot);
  // A listener that has a request of a batch listed for TakeReader. It may be called late, when the
  // slot has another batch. Throws std::bad_alloc.
  std::shared_ptr<ReadListener> MakeReader(uint32_t slot, uint32_t request);
  enum class Readers { kOne, kAll, kNone };
  // Takes a request whose caller has read, or has left. All: batches were ended from outside, so
  // each one is to be looked at.
  Readers TakeReader(uint32_t* slot, uint32_t* request);
  // From now on `wake` is needed. False: there is something to take.
  bool Sleep();
  // Whether TakeReader has something.
  bool has_readers();
  // A hint, without the lock: something may be there to take.
  const std::atomic<bool>& rung() const { return rung_; }
  // When the last batch came, by the clock of NowNs.
  uint64_t pushed_ns() const { return pushed_ns_.load(std::memory_order_relaxed); }

 private:
  enum class Phase : uint8_t { kFree, kWaiting, kTaken, kEntered };
  struct Slot {
    RunRef run;
    Phase phase = Phase::kFree;
    bool ending = false;  // Terminate came while the environment was inside
    bool parted = false;
    std::vector<ServedCall> served;
    std::shared_ptr<Caller> caller;  // null: it has made no calls
  };
  // Lists its request in the inbox, which then owns it.
  struct Reader;
  using Lock = std::unique_lock<std::mutex>;

  // Frees a slot. Returns its run. With the lock.
  RunRef Vacate(uint32_t number);
  // What is to be told of it when a batch has ended: the run that may say the instance is free.
  RunRef TakeUnfreed();
  // Ends all batches: those that were not taken are queued again if `again`, the others fail.
  void EndAll(const Status& status, bool again, Lock* lock);
  void Wake(Lock* lock);
  // The same for readers.
  void WakeForReaders(Lock* lock);
  void Signal(Lock* lock);
  void List(std::shared_ptr<Reader> reader);
  // Forgets who is listed. With the lock.
  void DropReaders();

  const std::string model_;
  const std::string name_;
  // Made beforehand, so that want of memory changes nothing.
  const Status terminated_status_;
  const Status died_status_;
  const Status unanswered_status_;

  const size_t concurrency_;
  const std::shared_ptr<CallPlaces> places_;

  std::mutex mutex_;                 // guards all below
  std::deque<Slot> slots_;           // as many as may be busy, and the parted ones
  std::vector<uint32_t> free_;       // slots; has capacity for all
  std::vector<uint32_t> waiting_;    // slots, oldest first; has capacity for all that may be busy
  size_t busy_ = 0;                  // slots that are neither free nor parted
  std::shared_ptr<Reader> readers_;  // the list's first
  Reader* last_reader_ = nullptr;
  bool ended_all_ = false;        // see Readers::kAll
  bool told_of_readers_ = false;  // `wake_` was called for them
  RunRef unfreed_;                // has not said yet that the instance is free
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
