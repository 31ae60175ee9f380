// A port connects one JavaScript environment with a server. It holds the memory that the
// environment shares with the engine, the environment's requests, and the responses to them.
//
//   Server::Attach
//         |
//         v
//     attached ---Detach---> detached: freed when its environment drops it
//         |                     ^
//         | Submit              | the last request has ended
//         v                     |
//      in use ---Detach---> leaving ---a run was abandoned---> abandoned
//
// Attached: only its environment owns it. In use: it owns itself, too, because runs read its memory
// and deliver to it. Leaving: its requests are cancelled, and their responses are dropped. The port
// shares ownership of its server. The engine reaches an environment only through its port.
//
// JavaScript sees this memory, as external ArrayBuffers, or as copies if the runtime forbids
// external ArrayBuffers: the header words, the submission words, slabs of input bytes, and
// completion pages. The layouts are in port_layout.h and src/addon/layout.ts.
//
// Its parts: reader (words of a submission), slots (requests), input_memory (slabs and blocks),
// budget (bytes in flight), writer and pages (responses), waker (tells the JS thread of responses).
// groups.cc turns submission words into requests, regions.cc does so where they name regions,
// submit.cc submits and cancel.cc cancels them, deliver.cc delivers responses, and port.cc has the
// rest.
//
// Threads: only the environment's JS thread, which made the port, may call a function, unless its
// comment says otherwise. Any thread may call Deliver and DeliverAlike. Only the constructor
// throws. Elsewhere, if there is no memory, requests end as UNAVAILABLE.
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
#include "engine/port/input_memory.h"
#include "engine/port/pages.h"
#include "engine/port/port_host.h"
#include "engine/port/port_layout.h"
#include "engine/port/reader.h"
#include "engine/port/slots.h"
#include "engine/port/waker.h"
#include "engine/request/budget.h"
#include "engine/request/request_chain.h"
#include "engine/request/response_sink.h"
#include "engine/version/inline_time.h"

namespace tritonts {

class Executor;
struct InputTensor;
class RequestBuilder;

class Port final : public ResponseSink, public std::enable_shared_from_this<Port> {
 public:
  // `wake` is as for Waker. Throws std::bad_alloc.
  Port(std::shared_ptr<PortHost> host, std::function<void()> wake);
  ~Port() override;

  // Whether the constructor got the memory that the port needs.
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

  // Stages memory for an input of a request to the version `uid` (InputMemory::Stage).
  Block* StageInput(size_t size, uint32_t uid, uint32_t* id);

  // Submits a tick's requests; port_layout.h has the records. `slab_sources` is null if JavaScript
  // writes directly to the slabs. Else it has JavaScript's copies of the slabs, and the bytes are
  // copied from there now. Requests to versions that are gone end as UNAVAILABLE, marked as
  // unserved. Returns INTERNAL if the records are malformed, and UNAVAILABLE if there is no memory
  // for them. After either, no request was taken, and the blocks named in the records are still
  // staged.
  //
  // With `run`, batches that are known to be short run before this returns. Responses delivered
  // before it returns are not signalled: `*responded` says whether there are any, and the caller
  // takes the pages itself.
  Status Submit(const int32_t* words, size_t count, const char* const* slab_sources,
                bool run = false, bool* responded = nullptr);

  // Cancels `count` requests of the group in `slot`, from `first` on, if the slot still has that
  // generation.
  void Cancel(uint32_t slot, uint32_t generation, uint32_t first, uint32_t count);
  // Cancels many requests; port_layout.h has the records. Each version's lock is taken once.
  void CancelMany(const int32_t* words, size_t count);

  // Looks for responses (Waker::Look).
  Looked Look() {
    CheckThread();
    return waker_.Look();
  }
  // Hands out published pages, as many as there is room for, and returns how many. Signals if more
  // are left. Each page must be returned with Recycle.
  size_t TakePages(std::span<CompletionPage*> pages);
  // False: the page's memory is freed, and its id will be reused for other memory.
  bool Recycle(CompletionPage* page);
  // The handed-out page with this id; null: no such page.
  CompletionPage* page(uint32_t id) const { return pages_.handed(id); }
  // Drops a large output that JavaScript has taken from a handed-out page.
  void ReleaseLarge(CompletionPage* page, size_t number) { pages_.ReleaseLarge(page, number); }

  // JavaScript's callers have read `responses` of `bytes` to a request of a decoupled model
  // (StreamCount). The request may have ended, and another group may have its slot.
  void Read(uint32_t slot, uint32_t generation, uint32_t position, uint32_t responses,
            uint64_t bytes);

  // Frees memory that is left from a burst: requests of free slots, idle blocks, and free pages.
  // JavaScript must forget pages that are not handed out.
  void Shrink();
  // The number of requests that the port has memory for.
  size_t request_capacity() const { return slots_.capacity(); }

  // The next three may be called by any thread. JavaScript reads the epoch word whenever it uses
  // the port. AskEpoch wakes it, so that it acknowledges the epoch even if it is idle.
  void ShowEpoch(uint32_t epoch);
  void AskEpoch() { waker_.Signal(); }
  void ShowClosed();
  // The JS thread has submitted every request that it prepared before it saw `epoch`.
  void Acknowledge(uint32_t epoch);
  uint32_t acknowledged() const { return acknowledged_.load(std::memory_order_acquire); }

  // Cancels all requests and drops their responses. Idempotent.
  void Detach();
  bool detached() const { return detached_.load(std::memory_order_acquire); }

  void Deliver(std::span<const Response> responses) override;
  void DeliverAlike(const AlikeResponses& responses) override;
  // The place of an output that goes to a region.
  Buffer Place(const Request& request, uint32_t output, size_t size, MemoryKind preferred) override;
  // Memory shared with another process is accepted, because JavaScript copies it. Memory of a
  // device is accepted for a region on that device.
  bool Takes(const Request& request, uint32_t output, MemoryKind kind, int device) const override;

 private:
  void CheckThread() const {
    TRITONTS_ASSERT(thread_.IsCurrent(), "a port was used by a thread that is not its own");
  }

  // The requests of one call of Submit or Cancel for one version.
  struct VersionRequests {
    uint32_t uid;
    std::shared_ptr<Executor> executor;  // null: the requests will be refused
    Status refusal;                      // why; ok: the version is gone
    std::vector<Request*> requests;
    uint64_t bytes;  // their charge in the budget
    bool has_calls;  // a model's batch made some of the requests
  };
  // A staged block that a request of the call uses.
  struct StagedBlock {
    const Request* request;
    uint32_t id;
  };

  // --- Submitting and cancelling, on the JS thread. The Parse functions, RequestsOf and AddVersion
  // throw std::bad_alloc.
  Status Parse(SubmissionReader reader, const char* const* slab_sources, uint64_t now_ns);
  Status ParseGroup(SubmissionReader* reader, const char* const* slab_sources, uint64_t now_ns);
  // Parses the inputs of a group. Adds the bytes that the inputs of one request hold to `*bytes`.
  // `refusal` is set if the group's requests cannot be served.
  Status ParseInputs(SubmissionReader* reader, const GroupRecord& record,
                     const char* const* slab_sources, const Slots::Slot& slot,
                     RequestBuilder* builder, uint64_t* bytes, Status* refusal);
  // Parses the targets of a group. `refusal` is as for ParseInputs.
  Status ParseTargets(SubmissionReader* reader, const GroupRecord& record, RequestBuilder* builder,
                      Status* refusal);
  // Sets the source of an input to a region, or to a copy of the bytes there. Adds the copy's bytes
  // for one request to `*bytes`. Bytes that do not fit the shape are not copied: CheckRequest
  // refuses them. Not ok: the requests cannot be served.
  Status ReadRegion(const GroupRecord& record, const InputRecord& input, InputTensor* tensor,
                    RequestBuilder* builder, uint64_t* bytes);
  // A range of a region, for all requests of a group. `found` gets the region. Not ok: there is no
  // such region or range.
  StatusOr<Buffer> RangeOf(uint32_t region, uint64_t offset, uint64_t size_of_one,
                           uint32_t requests, std::shared_ptr<const Region>* found) const;
  // Moves the version's requests from number `first` on to requests that will be refused.
  void RefuseFrom(VersionRequests* version, size_t first, const Status& refusal);
  // Parses a group's priority, time-out, parameters and caller. `*bytes` is what a request is
  // charged; its share of the group's parameters is added.
  static Status ParseAttributes(SubmissionReader* reader, const GroupRecord& record,
                                const std::string& model, RequestBuilder* builder, uint64_t* bytes);
  // Parses the sequences of a group's requests.
  static Status ParseMarks(SubmissionReader* reader, const GroupRecord& record,
                           RequestBuilder* builder);
  // The requests of this call for a version. Null: no such version ever existed.
  VersionRequests* RequestsOf(uint32_t uid);
  VersionRequests* AddVersion(uint32_t uid, std::shared_ptr<Executor> executor);
  // The same for a cancellation. Null: the port does not know the version any more.
  VersionRequests* CancelledOf(uint32_t uid);
  // Undoes Parse: the parsed requests become idle again.
  void DropParsed();
  // Refuses requests to versions that are gone, and requests that cannot be served.
  void RefuseSome();
  // Charges the parsed requests, and refuses requests that exceed the limit.
  void Charge();
  // Frees the ids of blocks whose requests were not refused as unserved.
  void ReleaseBlocks();
  // Adds the slot's requests that have not ended to the requests to cancel.
  void CollectCancelled(const Slots::Slot& slot, size_t first, size_t count);
  void CancelCollected();
  // Adds to the bytes of streams that JavaScript has and its callers have not read (unread_).
  void NoteUnread(int64_t bytes);

  // --- Delivering. Any thread. Makes a request idle again, after its final response was written.
  static void TakeBack(Request* request);
  // Copies the outputs of a response to their regions. Returns the response, or `*failed`, with the
  // reason why they could not be copied. Allocates only for requests that use regions.
  static const Response& Store(const Response& response, Response* failed);
  // Ends a request: its final response was written, or cannot be written, or will not be read.
  struct Ended;
  void End(const Response& response, Ended* ended);
  // Delivers one of alike responses, whose request uses regions.
  void DeliverApart(const AlikeResponses& alike, size_t number, Ended* ended);
  // Ends a delivery: publishes the pages, and queues requests without memory for their response.
  void Finish(Ended* ended, const BatchTimings* timings);
  // Writes errors for the waiting requests, as many as there is memory for now.
  void RespondToWaiting();
  void AbandonSelf();
  // Whether the calling thread is the JS thread within Submit, which needs no signal.
  bool IsHere() const { return std::this_thread::get_id() == js_thread_ && running_here_; }
  // Drops references. The last reference ends the port's ownership of itself.
  void Drop(uint64_t references);

  [[no_unique_address]] const ThreadChecker thread_;
  const std::thread::id js_thread_ = std::this_thread::get_id();
  const std::shared_ptr<PortHost> host_;  // the server
  Budget& budget_;                        // the server's
  // Made beforehand, for when there is no memory for a message.
  const Status no_memory_;
  const Status no_response_;
  bool ready_ = false;
  BlockRef header_;
  BlockRef submission_;
  InputMemory inputs_;
  uint64_t copied_ = 0;  // the bytes of regions that the present call of Submit has copied
  Slots slots_;
  CompletionPages pages_;
  Waker waker_;
  std::unordered_map<uint32_t, std::shared_ptr<Executor>> executors_;
  // One for each version of the call. Only the first version_count_ are used. Kept allocated.
  std::vector<VersionRequests> versions_;
  size_t version_count_ = 0;
  std::vector<StagedBlock> staged_blocks_;
  uint64_t flushes_ = 0;
  // Bytes of streams that JavaScript has and its callers have not read, and their charge in the
  // budget. Negative while a caller has read a response whose page was not recycled yet.
  int64_t unread_ = 0;
  uint64_t unread_charge_ = 0;
  uint64_t untaken_ = 0;  // requests whose final response JavaScript has not taken
  // Whether the JS thread is within Submit, and whether a response was delivered there.
  bool running_here_ = false;
  bool responded_here_ = false;
  InlineTime inline_time_;
  std::atomic<uint32_t> acknowledged_{0};
  std::atomic<bool> detached_{false};

  // Counts requests without a final response, and one more from the first submission until Detach.
  // `self_` is set while it is not 0.
  std::atomic<uint64_t> references_{0};
  std::shared_ptr<Port> self_;

  // Requests that ended without memory for their response. They get an error when a page is
  // recycled.
  std::mutex waiting_mutex_;  // guards waiting_
  RequestChain waiting_;
  std::atomic<bool> some_wait_{false};  // whether waiting_ has requests; written under the lock
};

}  // namespace tritonts
