// Pages of finished requests, and their way round between the threads that write and the JS thread:
//
//    free --PageWithRoom--> a writer's --Publish--> open, then ready --Take--> the JS thread's
//      ^                        ^                    |                             |
//      |                        '---PageWithRoom-----' (while it has room)         |
//      '------------------------------------Recycle--------------------------------'
//
// The open page is the newest one with answers: the next ones are added to it until the JS thread
// has it. In steady state pages go round without a lock and without an allocation. All lists are
// linked through the pages, so that none needs memory to grow.
//
// One page is made beforehand: where the system has no memory for another one, errors go there.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "engine/memory/buffer.h"
#include "engine/port/budget.h"
#include "engine/port/port_layout.h"

namespace tritonts {

// A stretch of finished requests: words from the front, output bytes from the back. Belongs to one
// writer, or to the JS thread, or to nobody while it is in a list.
struct CompletionPage {
  // An output that is too big to be cut from the page.
  struct Large {
    BlockRef block;  // empty: JavaScript has it
    const void* data;
    size_t size;
  };

  uint32_t id = 0;
  bool reserved = false;    // made beforehand, for errors alone
  bool full = false;        // nothing is added to it any more
  bool unfinished = false;  // has responses that others to the same requests follow
  BlockRef memory;
  uint32_t words = 0;                     // used at the front
  uint32_t payload = layout::kPageBytes;  // first used byte at the back
  uint32_t finals = 0;                    // requests that end with them
  std::vector<Large> large;
  uint64_t large_bytes = 0;  // of those that JavaScript does not have
  uint64_t range_bytes = 0;  // of slabs, which these requests have until they are read
  uint64_t charged = 0;      // what the budget counts for it
  // Last timing record written, so that requests of one batch and tick share it.
  uint64_t timings_batch = 0;
  uint64_t timings_flush = 0;
  const void* timings_executor = nullptr;
  // Slots, and how many of their requests end here; with TRITONTS_CHECKS.
  BlockRef ended_memory;
  uint32_t ended_count = 0;

  CompletionPage* next = nullptr;   // in the list it is in
  CompletionPage* older = nullptr;  // made before it

  int32_t* data() const { return static_cast<int32_t*>(memory->data()); }
  size_t room() const { return payload - size_t{words} * 4; }
  // Bytes that what is in it holds.
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
  // What a page is wanted for.
  enum class Use { kAnswers, kErrors };

  // `budget` counts what is in pages until they come back.
  explicit CompletionPages(Budget* budget) : budget_(budget) {}
  ~CompletionPages();
  CompletionPages(const CompletionPages&) = delete;
  CompletionPages& operator=(const CompletionPages&) = delete;

  // Makes what must be there beforehand; false without memory. Once, before anything else.
  bool Prepare();

  // --- Any thread.
  // A page with at least `needed` bytes free, which is at most an empty page's, that is the
  // caller's until Publish. Null without memory, and for errors when the reserved page is in use,
  // too.
  CompletionPage* PageWithRoom(size_t needed, Use use);
  // Whether the reserved page is free.
  bool has_reserve();
  // Lets the JS thread have a page. What it holds is counted in place of `less` that was.
  void Publish(CompletionPage* page, uint64_t less = 0);
  // Takes back what is published: nobody will read it.
  void Discard();
  // Whether something is published.
  bool any() const { return open_.load() != nullptr || some_ready_.load(); }

  // --- The JS thread.
  // Hands out as many published pages as there is room for; the others stay. How many. Responses to
  // a request come in the order they were published in. Others need not: a page of final responses
  // takes more of them until it is handed out, and comes last.
  size_t Take(std::span<CompletionPage*> pages);
  // A page that is handed out; null for any other.
  CompletionPage* handed(uint32_t id) const;
  // JavaScript has a large output of a page that is handed out.
  void ReleaseLarge(CompletionPage* page, size_t number);
  // Takes back a page that was handed out. False: it is not kept, and its id will stand for another
  // one.
  bool Recycle(CompletionPage* page);
  // Nobody counts on being told of what is handed out any more.
  void ForgetHanded();
  // Gives free pages' memory back to the system.
  void Shrink();

 private:
  // First in, first out.
  struct Queue {
    CompletionPage* first = nullptr;
    CompletionPage* last = nullptr;
    void Append(CompletionPage* page);
    CompletionPage* Pop();
  };
  static constexpr uint32_t kKept = 16;  // free pages that are kept for the next burst

  void AddReady(CompletionPage* page);
  // Counts what the page holds now, in place of what it held and of `less`.
  void Charge(CompletionPage* page, uint64_t less);
  CompletionPage* MakeLocked();
  // False: it is not kept.
  bool FreeLocked(CompletionPage* page);

  Budget* const budget_;
  std::atomic<CompletionPage*> open_{nullptr};
  std::atomic<CompletionPage*> spare_{nullptr};  // one that is empty
  std::atomic<bool> some_ready_{false};          // whether ready_ has any; written under the lock
  Queue handed_;                                 // the JS thread's

  std::mutex mutex_;  // guards all below
  Queue ready_;       // older than the open one
  CompletionPage* free_ = nullptr;
  uint32_t free_count_ = 0;
  CompletionPage* hollow_ = nullptr;     // have no memory, but a number
  CompletionPage* reserve_ = nullptr;    // the reserved one, while it is free
  CompletionPage* made_last_ = nullptr;  // of all there are, linked by `older`
  uint32_t made_ = 0;
};

}  // namespace tritonts
