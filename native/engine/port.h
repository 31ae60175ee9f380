// What one JavaScript environment has of a server: memory it shares with the engine, its requests,
// and the list of what finished.
//
// Life: made by its environment with Server::Attach; Detach when the environment ends or closes it.
// It stays alive until its last request has ended, because runs read its memory, and for ever when
// one of its requests was given up while it ran; nothing else of an environment is reachable from
// the engine.
//
// Memory that JavaScript sees (as external ArrayBuffers, or as copies of its own where those are
// forbidden): the header words, the submission words, slabs of input bytes, and pages of finished
// requests. Layouts are in port_layout.h and src/addon/layout.ts.
//
// Threads: everything is for the environment's JS thread, which is the one that attached it, but
// Deliver (any) and what says otherwise.
//
// port.cc has its life and memory, port_submit.cc the way in, port_deliver.cc the way out, and
// port_look.cc what the JS thread does while it waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "buffer.h"
#include "pool.h"
#include "port_layout.h"
#include "response_sink.h"
#include "rules.h"
#include "spin.h"
#include "status.h"

namespace tritonts {

class ModelVersion;
class Server;

// A stretch of finished requests: words from the front, output bytes from the back.
struct CompletionPage {
  // An output that is too big to be cut from the page.
  struct Large {
    BlockRef block;
    const void* data;
    size_t size;
  };

  uint32_t id = 0;
  BlockRef memory;
  uint32_t words = 0;                     // used at the front
  uint32_t payload = layout::kPageBytes;  // first used byte at the back
  uint32_t finals = 0;                    // parts of requests that end with them
  std::vector<Large> large;
  // Last timing record written, so that requests of one batch and tick share it.
  uint64_t timings_batch = 0;
  uint64_t timings_flush = 0;
  const void* timings_version = nullptr;
#if defined(TRITONTS_CHECKS)
  std::vector<std::pair<uint32_t, uint32_t>> ended;  // slots, and how many parts end here
#endif

  int32_t* data() const { return static_cast<int32_t*>(memory->data()); }
  size_t room() const { return payload - size_t{words} * 4; }
  void Reset();
};

class Port final : public ResponseSink, public std::enable_shared_from_this<Port> {
 public:
  // `wake` asks the JS thread to take what finished. It is called on any thread, but not when
  // Detach has returned, and only to signal: it must not call back.
  Port(std::shared_ptr<Server> server, std::function<void()> wake);
  ~Port() override;

  Server& server() { return *server_; }
  Block* header() const { return header_.get(); }
  Block* submission() const { return submission_.get(); }

  // One more slab of layout::kSlabBytes; null without memory.
  Block* AddSlab();
  size_t slabs() const { return slabs_.size(); }
  Block* slab(size_t number) const {
    return number < slabs_.size() ? slabs_[number].get() : nullptr;
  }

  // A block for one large input, to be filled before Submit; null without memory.
  Block* Stage(size_t size, uint32_t* id);
  // Forgets a block that will not be submitted.
  void Unstage(uint32_t id);

  // Takes a tick's requests, written as port_layout.h says. `slab_sources` is null where JavaScript
  // writes to the slabs themselves, else its copies of them, from which the bytes are taken now.
  // Requests to versions that are gone are answered with UNAVAILABLE. INTERNAL when the records
  // make no sense; then no request was taken, and blocks that the records name may be gone.
  //
  // `run`: batches that are known to be short are run here and now, and what is answered before
  // this returns is not signalled: the caller takes the pages itself. `answered` says whether there
  // was anything.
  Status Submit(const int32_t* words, size_t count, const char* const* slab_sources,
                bool run = false, bool* answered = nullptr);

  // Cancels the request in `slot`, if it is still that generation's.
  void Cancel(uint32_t slot, uint32_t generation);

  // What came of a look for finished pages.
  enum class Looked {
    kAsleep,     // the JS thread is woken when there are some
    kNothing,    // it is not: it is to look again with the event loop's next turn
    kSomething,  // they are to be taken, and then it is to look again
  };
  // Looks for finished pages, for a few microseconds, where that is worth it: after requests were
  // submitted, and from then on as it says.
  Looked Look();

  // Hands out finished pages, at most so many, and signals where more are left; each must come back
  // with Recycle.
  void TakePages(std::vector<CompletionPage*>* pages, size_t most = SIZE_MAX);
  // False: the page is not kept, and its id will stand for another one.
  bool Recycle(CompletionPage* page);
  // A page that is handed out; null for any other.
  CompletionPage* page(uint32_t id) const { return id < handed_.size() ? handed_[id] : nullptr; }

  // Any thread. A port looks at the epoch when it is asked for something; that it has is told only
  // where somebody asks for that.
  void ShowEpoch(uint32_t epoch);
  void AskEpoch();
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
  static constexpr size_t kSlotsTogether = 64;

  void CheckThread() const {
    TRITONTS_ASSERT(thread_.IsCurrent(), "a port was used by a thread that is not its own");
  }

  // The requests of a tick for one version.
  struct Group {
    uint32_t uid;
    std::shared_ptr<ModelVersion> version;  // null: it is gone
    std::vector<Request*> requests;
  };

  Status Parse(const int32_t* words, size_t count, const char* const* slab_sources,
               uint64_t now_ns);
  Status ParseInput(const int32_t* words, size_t count, size_t* position,
                    const ModelVersion* version, const char* const* slab_sources, Request* request,
                    uint64_t* bytes);
  Status ParseOne(const int32_t* words, size_t count, size_t* position,
                  const char* const* slab_sources, uint64_t now_ns);
  // Where the bytes of an input are, which a record says is a range of a slab; null: there is none.
  char* SlabRange(uint32_t slab, uint32_t offset, uint64_t size,
                  const char* const* slab_sources) const;
  // The request of a slot, submitted; null, with `fault`, where the slot is not free.
  Request* TakeSlot(uint32_t slot, uint32_t generation, const char** fault);
  // Null where a slot was never used.
  Request* RequestOf(uint32_t slot) const {
    const size_t chunk = slot / kSlotsTogether;
    if (chunk >= slots_.size() || !slots_[chunk]) return nullptr;
    return &slots_[chunk][slot % kSlotsTogether];
  }
  // Null where there never was such a version.
  Group* GroupOf(uint32_t uid);
  // Makes the requests of this tick the port's again, unsubmitted.
  void DropGroups();
  // Answers requests to versions that are gone.
  void RefuseGone(std::vector<Response>* refused);
  // Charges the requests of this tick against the limit, and answers those beyond it; what is
  // refused only of some parts of a request goes to `refused_parts`.
  void Charge(std::vector<Response>* refused, std::vector<std::unique_ptr<Request>>* refused_parts);

  CompletionPage* PageWithRoom(size_t needed, CompletionPage* full);
  // Any thread: lets the JS thread have a page, and asks it to come for what there is.
  void Publish(CompletionPage* page);
  // `timings`: of the batch that there is something of; null: of none.
  void Signal(const BatchTimings* timings = nullptr);
  // The JS thread: what it waited for is there.
  void NoteWait();
  // What is not answered yet, it waits for from then on.
  void BeginWait(uint64_t now_ns);
  Looked StopLooking(Spin spin);
  // One part of what keeps the port alive is gone.
  void Drop(uint64_t references);
  void Append(CompletionPage** page, const Response& response);
  void AppendTimings(CompletionPage* page, const Request& request, const BatchTimings& timings);
  // How far answers that are alike are written: a request, a part of it, and the parts before.
  struct AlikePlace {
    size_t request = 0;
    uint32_t part = 0;
    size_t parts = 0;
  };
  // As many as a page has room for.
  void AppendAlike(CompletionPage** page, const AlikeResponses& responses, AlikePlace* place);
  // Takes a request back whose final answer is in a page.
  static void TakeBack(Request* request) {
    for (InputTensor& input : request->inputs()) input.chunks.clear();
    request->set_state(Request::State::kIdle);
  }
  // A page is written; `here`: by a run within Submit. `timings`: as for Signal.
  void HandOver(CompletionPage* page, bool here, const BatchTimings* timings);

  [[no_unique_address]] const ThreadChecker thread_;
  const std::thread::id js_thread_ = std::this_thread::get_id();
  const std::shared_ptr<Server> server_;
  const std::function<void()> wake_;
  BlockRef header_;
  BlockRef submission_;
  BlockPool staging_;
  std::vector<BlockRef> slabs_;
  std::vector<BlockRef> staged_;  // by id
  std::vector<uint32_t> free_stages_;
  std::vector<std::unique_ptr<Request[]>> slots_;  // so many together
#if defined(TRITONTS_CHECKS)
  // By slot: parts from Submit until the page with their final responses is taken.
  std::vector<uint32_t> taken_parts_;
#endif
  std::unordered_map<uint32_t, std::shared_ptr<ModelVersion>> versions_;
  std::vector<Group> groups_;  // of the tick being parsed; kept allocated
  size_t group_count_ = 0;
  uint64_t flushes_ = 0;
  // The JS thread's: what it delivers itself needs no signal while it submits, and there was some.
  bool running_here_ = false;
  bool answered_here_ = false;
  // The JS thread's: the wait for answers. It begins with a submission, or when pages were taken
  // and requests are left.
  uint64_t unanswered_ = 0;        // parts of requests whose final responses were not taken
  uint64_t waiting_since_ns_ = 0;  // 0: it does not wait
  bool asked_ = false;             // whether to look in this wait was decided
  Spin looked_ = Spin::kNone;      // how this wait's looks went
  uint64_t last_look_ns_ = 0;
  uint64_t interruptions_ = 0;  // of the JS thread, when it began to look
  SpinPolicy look_policy_;
  std::optional<SpinCore> look_core_;  // while it looks
  std::atomic<bool> looking_{false};   // then it needs no signal
  // Of the last signal's batch; 0: it had none.
  std::atomic<uint64_t> batch_began_ns_{0};
  std::atomic<uint64_t> batch_ended_ns_{0};
  std::atomic<uint32_t> acknowledged_{0};
  std::atomic<bool> detached_{false};

  std::vector<CompletionPage*> handed_;  // by id: pages that the JS thread has

  // Parts of requests that are not finally answered, and one more from the first submission until
  // Detach: `self_` is there while it is not 0.
  std::atomic<uint64_t> references_{0};
  std::shared_ptr<Port> self_;

  // In steady state pages go round without a lock: the newest one with answers, which takes more of
  // them until the JS thread has it, and one that is empty.
  std::atomic<CompletionPage*> open_{nullptr};
  std::atomic<CompletionPage*> spare_{nullptr};
  std::atomic<bool> wake_pending_{false};
  // Threads that are about to call `wake_`; Detach waits for them.
  std::atomic<uint32_t> signalling_{0};

  std::mutex mutex_;                                    // guards all below
  std::vector<std::unique_ptr<CompletionPage>> pages_;  // by id; null: not kept
  std::vector<uint32_t> free_page_ids_;                 // of those
  std::vector<CompletionPage*> ready_;                  // older than the open one
  std::vector<CompletionPage*> free_pages_;
  std::atomic<bool> some_ready_{false};  // whether ready_ has any; written under the lock
};

}  // namespace tritonts
