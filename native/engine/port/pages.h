// Completion pages: responses on their way from the threads that write them to the JS thread. Each
// page goes round:
//
//    free --PageWithRoom--> a writer's --Publish--> open, then ready --Take--> the JS thread's
//      ^                        ^                    |                             |
//      |                        '---PageWithRoom-----' (while it has room)         |
//      '------------------------------------Recycle--------------------------------'
//
// The open page is the newest one with responses. Further responses are added to it until the JS
// thread takes it. In steady state pages go round without a lock and without an allocation. All
// lists are linked through the pages, so they never allocate.
//
// Responses to requests of decoupled models have an open page of their own, so that the responses
// to one request stay in order. Only one thread at a time writes to that page. The thread holds a
// lock for one delivery.
//
// One page is reserved beforehand for errors, for when the system has no memory for another page.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "engine/memory/buffer.h"
#include "engine/port/port_layout.h"
#include "engine/request/budget.h"

namespace tritonts {

// A page of responses: words from the front, output bytes from the back. It belongs to one writer,
// or to the JS thread, or to no thread while it is in a list. CompletionPages owns its memory.
struct CompletionPage {
  // An output that is too large to be cut from the page.
  struct Large {
    BlockRef block;  // empty: JavaScript has it
    const void* data;
    size_t size;
  };

  uint32_t id = 0;
  bool reserved = false;  // the page for errors
  bool full = false;      // nothing may be added to it
  bool streams = false;   // for responses to requests of decoupled models
  BlockRef memory;
  uint32_t words = 0;                     // words used at the front
  uint32_t payload = layout::kPageBytes;  // first used byte at the back
  uint32_t finals = 0;                    // number of final responses in the page
  std::vector<Large> large;
  uint64_t large_bytes = 0;  // of large outputs that JavaScript has not taken
  uint64_t range_bytes = 0;  // of slab ranges that its requests hold until they are read
  uint64_t charged = 0;      // its charge in the budget
  uint64_t counted = 0;      // bytes of its responses that count as unread
  // The last timing record. Requests of one batch and tick share it.
  uint64_t timings_batch = 0;
  uint64_t timings_flush = 0;
  const void* timings_executor = nullptr;
  // Pairs of a slot and the number of its requests that end in this page; only with
  // TRITONTS_CHECKS.
  BlockRef ended_memory;
  uint32_t ended_count = 0;

  CompletionPage* next = nullptr;   // link of the list that it is in
  CompletionPage* older = nullptr;  // the page that was made before it

  int32_t* data() const { return static_cast<int32_t*>(memory->data()); }
  size_t room() const { return payload - size_t{words} * 4; }
  // The bytes that its contents hold.
  uint64_t held() const {
    const uint64_t used = full ? layout::kPageBytes : layout::kPageBytes - room();
    return used + large_bytes + range_bytes;
  }
  std::span<std::pair<uint32_t, uint32_t>> ended() const;
  void NoteEnded(uint32_t slot, uint32_t count);
  void Reset();
};

class CompletionPages {
 public:
  // The use that a page is needed for.
  enum class Use { kResponses, kErrors };

  // `budget` is charged for the contents of pages until they are recycled.
  explicit CompletionPages(Budget* budget) : budget_(budget) {}
  ~CompletionPages();
  CompletionPages(const CompletionPages&) = delete;
  CompletionPages& operator=(const CompletionPages&) = delete;

  // Allocates the reserved page. Called once, before any other function. False: out of memory.
  bool Prepare();

  // --- Any thread may call these. A page with at least `needed` free bytes. It belongs to the
  // caller until Publish. `needed` must fit into an empty page. Null: out of memory, and for errors
  // the reserved page is in use, too.
  CompletionPage* PageWithRoom(size_t needed, Use use);
  // The same for responses to requests of decoupled models. The caller holds the lock of
  // LockStreams until it has published the page.
  std::unique_lock<std::mutex> LockStreams() { return std::unique_lock(streams_mutex_); }
  CompletionPage* StreamsPageWithRoom(size_t needed, Use use);
  // Whether the reserved page is free.
  bool has_reserve();
  // Makes a page available to the JS thread. The charge for its contents replaces a charge of
  // `less`.
  void Publish(CompletionPage* page, uint64_t less = 0);
  // Recycles the published pages, because no thread will read them.
  void Discard();
  // Whether a page is published.
  bool any() const {
    return open_.load() != nullptr || streams_.load() != nullptr || some_ready_.load();
  }

  // --- Only the JS thread may call these. Hands out published pages, as many as `pages` has room
  // for, and returns how many. Responses to one request keep the order in which they were
  // published. Responses to different requests may not, because the open page is handed out last.
  size_t Take(std::span<CompletionPage*> pages);
  // The handed-out page with this id; null: no such page.
  CompletionPage* handed(uint32_t id) const;
  // Drops a large output that JavaScript has taken from a handed-out page.
  void ReleaseLarge(CompletionPage* page, size_t number);
  // Takes back a handed-out page. False: its memory is freed, and its id will be reused for other
  // memory.
  bool Recycle(CompletionPage* page);
  // Ends the charge for handed-out pages, because they may never come back.
  void ForgetHanded();
  // Returns the memory of free pages to the system.
  void Shrink();

 private:
  // A first-in first-out list of pages.
  struct Queue {
    CompletionPage* first = nullptr;
    CompletionPage* last = nullptr;
    void Append(CompletionPage* page);
    CompletionPage* Pop();
  };
  static constexpr uint32_t kKept = 16;  // how many free pages are kept for the next burst

  void AddReady(CompletionPage* page);
  // Charges the bytes that the page holds now. Replaces its earlier charge and a charge of `less`.
  void Charge(CompletionPage* page, uint64_t less);
  CompletionPage* MakeLocked();
  CompletionPage* NewPage(Use use);
  // False: its memory was freed.
  bool FreeLocked(CompletionPage* page);

  Budget* const budget_;
  std::atomic<CompletionPage*> open_{nullptr};
  std::atomic<CompletionPage*> spare_{nullptr};  // an empty page
  std::atomic<bool> some_ready_{false};          // whether ready_ has pages; written under the lock
  Queue handed_;                                 // only the JS thread uses it

  std::mutex streams_mutex_;  // held while a thread writes to or takes the page of streams
  std::atomic<CompletionPage*> streams_{nullptr};  // written under streams_mutex_

  std::mutex mutex_;  // guards all below
  Queue ready_;       // pages older than the open one
  CompletionPage* free_ = nullptr;
  uint32_t free_count_ = 0;
  CompletionPage* without_memory_ = nullptr;  // pages that have an id, but no memory
  CompletionPage* reserve_ = nullptr;         // the reserved page while it is free
  CompletionPage* newest_ = nullptr;          // the newest of all pages, linked by `older`
  uint32_t made_ = 0;
};

}  // namespace tritonts
