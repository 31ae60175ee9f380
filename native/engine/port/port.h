// What one JavaScript environment has of a server: memory it shares with the engine, its requests,
// and the answers to them.
//
//            Server::Attach
//                  |
//               attached ---Detach-----------------------.
//                  |                                     |
//                Submit                                  v
//                  v                                  detached: freed when nobody holds it
//     .--------- in use ---Detach---> leaving               ^
//     |            ^                     |  the last request |
//     '-Submit,----'                     '------has ended----'
//       answers,                         |
//       Cancel                           '--a run was abandoned--> kept for the life of the process
//
// Attached: nothing refers to it but its environment. In use: it keeps itself, because runs read
// its memory and deliver to it. Leaving: its requests are cancelled, and what still comes of them
// is dropped. Nothing else of an environment is reachable from the engine.
//
// Memory that JavaScript sees (as external ArrayBuffers, or as copies of its own where those are
// forbidden): the header words, the submission words, slabs of input bytes, and pages of finished
// requests. Layouts are in port_layout.h and src/addon/layout.ts.
//
// Its parts: reader (words of a submission), slots (requests), input_memory (slabs and blocks),
// budget (bytes in flight), writer and pages (answers), waker (how the JS thread learns of them).
// port.cc has its life, submit.cc the way in, deliver.cc the way out.
//
// Threads: everything is for the environment's JS thread, which is the one that attached it, but
// Deliver (any) and what says otherwise. Nothing here throws: without memory, requests end as
// UNAVAILABLE.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/base/rules.h"
#include "engine/base/status.h"
#include "engine/memory/buffer.h"
#include "engine/port/budget.h"
#include "engine/port/input_memory.h"
#include "engine/port/pages.h"
#include "engine/port/port_layout.h"
#include "engine/port/reader.h"
#include "engine/port/slots.h"
#include "engine/port/waker.h"
#include "engine/request/response_sink.h"
#include "engine/running/inline_tick.h"

namespace tritonts {

class ModelVersion;
class Server;

class Port final : public ResponseSink, public std::enable_shared_from_this<Port> {
 public:
  // `wake`: as for Waker. Throws std::bad_alloc.
  Port(std::shared_ptr<Server> server, std::function<void()> wake);
  ~Port() override;

  Server& server() { return *server_; }
  // Whether it has the memory it needs.
  bool ready() const { return ready_; }
  Block* header() const { return header_.get(); }
  std::atomic<int32_t>& header_word(size_t index) const {
    return static_cast<std::atomic<int32_t>*>(header_->data())[index];
  }
  Block* submission() const { return submission_.get(); }
  InputMemory& inputs() {
    CheckThread();
    return inputs_;
  }

  // Takes a tick's requests, written as port_layout.h says. `slab_sources` is null where JavaScript
  // writes to the slabs themselves, else its copies of them, from which the bytes are taken now.
  // Requests to versions that are gone are answered with UNAVAILABLE, as unserved. INTERNAL when
  // the records make no sense, UNAVAILABLE without memory for them; then no request was taken, and
  // blocks that they name are still staged.
  //
  // `run`: batches that are known to be short are run here and now, and what is answered before
  // this returns is not signalled: the caller takes the pages itself. `answered` says whether there
  // was anything.
  Status Submit(const int32_t* words, size_t count, const char* const* slab_sources,
                bool run = false, bool* answered = nullptr);

  // Cancels `count` requests of the group in `slot`, from `first` on, if it is still that
  // generation's.
  void Cancel(uint32_t slot, uint32_t generation, uint32_t first, uint32_t count);
  // Cancels many, as port_layout.h says, under one lock a version.
  void CancelMany(const int32_t* words, size_t count);

  // Looks for answers; see Waker.
  Looked Look() {
    CheckThread();
    return waker_.Look();
  }
  // Hands out finished pages, as many as there is room for, and signals where more are left; each
  // must come back with Recycle. How many.
  size_t TakePages(std::span<CompletionPage*> pages);
  // False: the page is not kept, and its id will stand for another one.
  bool Recycle(CompletionPage* page);
  // A page that is handed out; null for any other.
  CompletionPage* page(uint32_t id) const { return pages_.handed(id); }
  // JavaScript has a large output of a page that is handed out.
  void ReleaseLarge(CompletionPage* page, size_t number) { pages_.ReleaseLarge(page, number); }

  // Gives back memory that a burst left: requests of free slots, blocks and pages beyond those of a
  // working port. What JavaScript has seen of pages that are not handed out is stale afterwards.
  void Shrink();
  // Requests that there is memory for.
  size_t request_capacity() const { return slots_.capacity(); }

  // Any thread. A port looks at the epoch when it is asked for something; that it has is told only
  // where somebody asks for that.
  void ShowEpoch(uint32_t epoch);
  void AskEpoch() { waker_.Signal(); }
  void ShowClosed();
  // The JS thread has submitted everything it knew before `epoch`.
  void Acknowledge(uint32_t epoch);
  uint32_t acknowledged() const { return acknowledged_.load(std::memory_order_acquire); }

  // Cancels all requests and drops what comes of them. Idempotent.
  void Detach();
  bool detached() const { return detached_.load(std::memory_order_acquire); }

  void Deliver(std::span<const Response> responses) override;
  void DeliverAlike(const AlikeResponses& responses) override;

 private:
  void CheckThread() const {
    TRITONTS_ASSERT(thread_.IsCurrent(), "a port was used by a thread that is not its own");
  }

  // Requests that are in no queue, linked as if they were.
  struct RequestChain {
    Request* first = nullptr;
    Request* last = nullptr;
    void Append(RequestChain chain) {
      if (!chain.first) return;
      (last ? last->next : first) = chain.first;
      last = chain.last;
    }
  };
  // The requests of a tick, or of a cancellation, for one version.
  struct Tick {
    uint32_t uid;
    std::shared_ptr<ModelVersion> version;  // null: it is gone
    std::vector<Request*> requests;
    uint64_t bytes;  // what they count against the limit
  };
  // A block that a request of the tick has.
  struct TickBlock {
    const Request* request;
    uint32_t id;
  };

  // --- The way in. Parse* throw std::bad_alloc.
  Status Parse(SubmissionReader reader, const char* const* slab_sources, uint64_t now_ns);
  Status ParseGroup(SubmissionReader* reader, const char* const* slab_sources, uint64_t now_ns);
  // The inputs of a group; adds what a request's take to `*bytes`.
  Status ParseInputs(SubmissionReader* reader, const GroupRecord& record,
                     const ModelVersion* version, const char* const* slab_sources,
                     const Slots::Slot& slot, uint64_t* bytes);
  // Null where there never was such a version.
  Tick* TickOf(uint32_t uid);
  Tick* AddTick(uint32_t uid, std::shared_ptr<ModelVersion> version);
  // The one for requests that were submitted to a version; null where that is known no more.
  Tick* CancelTickOf(uint32_t uid);
  // Makes the requests of this tick the port's again, unsubmitted.
  void DropTick();
  // Answers requests to versions that are gone.
  void RefuseGone();
  // Charges the requests of this tick against the limit, and answers those beyond it.
  void Charge();
  // Charges those of one version one by one, and answers those beyond the limit.
  void ChargeEach(Tick* tick);
  // What is wrong with a request of so many bytes, that the limit does not allow at present.
  Status BeyondLimit(const ModelVersion& version, uint64_t bytes) const;
  // Answers requests that were not submitted. `like` says all of the answer but its request.
  void Refuse(std::span<Request* const> requests, const Response& like);
  // Submits, and answers what the version had no memory for.
  void SubmitTo(Tick* tick, uint64_t now_ns, InlineTick* spent);
  // Lets go of the blocks of what was accepted.
  void ReleaseBlocks();
  // Adds a slot's requests that have not ended to those to be cancelled.
  void CollectCancelled(const Slots::Slot& slot, size_t first, size_t count);
  void CancelCollected();

  // --- The way out. Any thread.
  // Takes a request back whose final answer is in a page.
  static void TakeBack(Request* request);
  // The writing thread: a final response is in a page, or else nobody will have it.
  struct Ended;
  void End(const Response& response, Ended* ended);
  // The end of a delivery: of what was written, and of what there was no memory for.
  void Finish(Ended* ended, const BatchTimings* timings);
  // Writes errors for requests whose answers there was no memory for, as many as there is now.
  void AnswerUnanswered();
  void AbandonSelf();
  // Pages are written. `timings`: as for Waker.
  void HandOver(bool here, const BatchTimings* timings);
  // Whether this is the JS thread within Submit, which takes what is answered then itself.
  bool IsHere() const { return std::this_thread::get_id() == js_thread_ && running_here_; }
  // One part of what keeps the port alive is gone.
  void Drop(uint64_t references);

  [[no_unique_address]] const ThreadChecker thread_;
  const std::thread::id js_thread_ = std::this_thread::get_id();
  const std::shared_ptr<Server> server_;
  Budget& budget_;  // the server's
  // Made beforehand: what is said where there is no memory to say anything.
  const Status no_memory_;
  const Status no_answer_;
  bool ready_ = false;
  BlockRef header_;
  BlockRef submission_;
  InputMemory inputs_;
  Slots slots_;
  CompletionPages pages_;
  Waker waker_;
  std::unordered_map<uint32_t, std::shared_ptr<ModelVersion>> versions_;
  std::vector<Tick> ticks_;  // of what is being done, by version; kept allocated
  size_t tick_count_ = 0;
  std::vector<TickBlock> tick_blocks_;
  uint64_t flushes_ = 0;
  uint64_t unanswered_ = 0;  // requests whose final responses were not taken
  // What the JS thread delivers itself needs no signal while it submits, and there was some.
  bool running_here_ = false;
  bool answered_here_ = false;
  InlineTick inline_tick_;
  std::atomic<uint32_t> acknowledged_{0};
  std::atomic<bool> detached_{false};

  // Requests that are not finally answered, and one more from the first submission until
  // Detach: `self_` is there while it is not 0.
  std::atomic<uint64_t> references_{0};
  std::shared_ptr<Port> self_;

  // Requests that ended and whose answers there was no memory for, linked through themselves. They
  // are answered when a page comes back.
  std::mutex waiting_mutex_;  // guards the list
  RequestChain waiting_;
  std::atomic<bool> some_wait_{false};  // whether there are any; written under the lock
};

}  // namespace tritonts
