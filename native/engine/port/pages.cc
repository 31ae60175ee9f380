#include "engine/port/pages.h"

#include <new>

#include "engine/memory/port_memory.h"

namespace tritonts {

namespace {

// An upper bound of the records with final responses in a page: every record has more than three
// words.
constexpr size_t kMostEnded = layout::kPageBytes / (3 * sizeof(int32_t));

using EndedPair = std::pair<uint32_t, uint32_t>;

// Allocates the page's memory. False: out of memory.
bool GiveMemory(CompletionPage* page) {
  page->memory = PortMemory::Create(layout::kPageBytes);
#if defined(TRITONTS_CHECKS)
  page->ended_memory = PortMemory::Create(kMostEnded * sizeof(EndedPair));
  if (!page->ended_memory) page->memory.reset();
#endif
  return static_cast<bool>(page->memory);
}

}  // namespace

std::span<EndedPair> CompletionPage::ended() const {
  if (!ended_memory) return {};
  return {static_cast<EndedPair*>(ended_memory->data()), ended_count};
}

void CompletionPage::NoteEnded([[maybe_unused]] uint32_t slot, [[maybe_unused]] uint32_t count) {
#if defined(TRITONTS_CHECKS)
  new (static_cast<EndedPair*>(ended_memory->data()) + ended_count++) EndedPair(slot, count);
#endif
}

void CompletionPage::Reset() {
  full = streams = false;
  words = 0;
  payload = layout::kPageBytes;
  finals = 0;
  large.clear();
  large_bytes = range_bytes = charged = counted = 0;
  timings_executor = nullptr;
  ended_count = 0;
}

void CompletionPages::Queue::Append(CompletionPage* page) {
  page->next = nullptr;
  (last ? last->next : first) = page;
  last = page;
}

CompletionPage* CompletionPages::Queue::Pop() {
  CompletionPage* page = first;
  if (!page) return nullptr;
  first = page->next;
  if (!first) last = nullptr;
  return page;
}

CompletionPages::~CompletionPages() {
  for (CompletionPage* page = newest_; page;) {
    budget_->Release(page->charged);
    delete std::exchange(page, page->older);
  }
}

bool CompletionPages::Prepare() {
  std::lock_guard lock(mutex_);
  reserve_ = MakeLocked();
  if (reserve_) reserve_->reserved = true;
  return reserve_ != nullptr;
}

CompletionPage* CompletionPages::MakeLocked() {
  CompletionPage* page = without_memory_;
  if (page) {
    if (!GiveMemory(page)) return nullptr;
    without_memory_ = page->next;
    return page;
  }
  page = new (std::nothrow) CompletionPage();
  if (!page) return nullptr;
  if (!GiveMemory(page)) {
    delete page;
    return nullptr;
  }
  page->id = made_++;
  page->older = std::exchange(newest_, page);
  return page;
}

CompletionPage* CompletionPages::PageWithRoom(size_t needed, Use use) {
  if (CompletionPage* page = open_.exchange(nullptr)) {
    const bool fits = page->room() >= needed;
    if (fits && (use == Use::kErrors || !page->reserved)) return page;
    if (!fits) page->full = true;
    Charge(page, 0);
    AddReady(page);
  }
  return NewPage(use);
}

CompletionPage* CompletionPages::StreamsPageWithRoom(size_t needed, Use use) {
  if (CompletionPage* page = streams_.exchange(nullptr)) {
    const bool fits = page->room() >= needed;
    if (fits && (use == Use::kErrors || !page->reserved)) return page;
    if (!fits) page->full = true;
    Charge(page, 0);
    AddReady(page);
  }
  CompletionPage* page = NewPage(use);
  if (page) page->streams = true;
  return page;
}

CompletionPage* CompletionPages::NewPage(Use use) {
  if (CompletionPage* page = spare_.exchange(nullptr)) return page;
  std::lock_guard lock(mutex_);
  if (CompletionPage* page = free_) {
    free_ = page->next;
    free_count_--;
    return page;
  }
  if (CompletionPage* page = MakeLocked()) return page;
  return use == Use::kErrors ? std::exchange(reserve_, nullptr) : nullptr;
}

bool CompletionPages::has_reserve() {
  std::lock_guard lock(mutex_);
  return reserve_ != nullptr;
}

void CompletionPages::Charge(CompletionPage* page, uint64_t less) {
  const uint64_t held = page->held();
  budget_->Exchange(held, page->charged + less);
  page->charged = held;
}

void CompletionPages::AddReady(CompletionPage* page) {
  std::lock_guard lock(mutex_);
  ready_.Append(page);
  some_ready_ = true;
}

void CompletionPages::Publish(CompletionPage* page, uint64_t less) {
  // Charge the page before it is visible, because the JS thread may recycle it at once.
  Charge(page, less);
  if (page->streams) {
    if (page->full) return AddReady(page);
    streams_.store(page);
    return;
  }
  // Another thread may have published an open page meanwhile.
  if (CompletionPage* before = open_.exchange(page)) AddReady(before);
}

size_t CompletionPages::Take(std::span<CompletionPage*> pages) {
  if (pages.empty()) return 0;
  size_t count = 0;
  // Take the open page first and hand it out last: all earlier pages are in the ready list by now.
  CompletionPage* open = open_.exchange(nullptr);
  // The page of streams comes after the full pages before it. No later page of streams may come
  // between, so the lock is held until all of them are taken.
  std::unique_lock<std::mutex> writing;
  CompletionPage* streams = nullptr;
  if (streams_.load()) {
    writing = LockStreams();
    streams = streams_.exchange(nullptr);
  }
  if (streams || some_ready_) {
    std::lock_guard lock(mutex_);
    while (count < pages.size() && ready_.first) pages[count++] = ready_.Pop();
    for (CompletionPage* page : {streams, open}) {
      if (!page) continue;
      if (count < pages.size()) {
        pages[count++] = page;
      } else {
        ready_.Append(page);
      }
    }
    some_ready_ = ready_.first != nullptr;
  } else if (open) {
    pages[count++] = open;
  }
  for (CompletionPage* page : pages.first(count)) handed_.Append(page);
  return count;
}

CompletionPage* CompletionPages::handed(uint32_t id) const {
  // The search is short: JavaScript returns pages in the order in which it got them.
  for (CompletionPage* page = handed_.first; page; page = page->next) {
    if (page->id == id) return page;
  }
  return nullptr;
}

void CompletionPages::ReleaseLarge(CompletionPage* page, size_t number) {
  CompletionPage::Large& large = page->large[number];
  if (!large.block) return;
  large.block.reset();
  page->large_bytes -= large.size;
  // After ForgetHanded the page has no charge.
  const uint64_t counted = std::min<uint64_t>(page->charged, large.size);
  page->charged -= counted;
  budget_->Release(counted);
}

bool CompletionPages::Recycle(CompletionPage* page) {
  CompletionPage* before = nullptr;
  for (CompletionPage* one = handed_.first; one != page; one = one->next) before = one;
  (before ? before->next : handed_.first) = page->next;
  if (handed_.last == page) handed_.last = before;
  budget_->Release(page->charged);
  page->Reset();
  if (!page->reserved) {
    CompletionPage* none = nullptr;
    if (spare_.compare_exchange_strong(none, page)) return true;
  }
  std::lock_guard lock(mutex_);
  return FreeLocked(page);
}

bool CompletionPages::FreeLocked(CompletionPage* page) {
  if (page->reserved) {
    reserve_ = page;
    return true;
  }
  const bool kept = free_count_ < kKept;
  if (kept) {
    free_count_++;
  } else {
    page->memory.reset();
    page->ended_memory.reset();
  }
  page->next = std::exchange(kept ? free_ : without_memory_, page);
  return kept;
}

void CompletionPages::Discard() {
  const std::unique_lock writing = LockStreams();
  std::lock_guard lock(mutex_);
  if (CompletionPage* page = open_.exchange(nullptr)) ready_.Append(page);
  if (CompletionPage* page = streams_.exchange(nullptr)) ready_.Append(page);
  while (CompletionPage* page = ready_.Pop()) {
    budget_->Release(page->charged);
    page->Reset();
    FreeLocked(page);
  }
  some_ready_ = false;
}

void CompletionPages::ForgetHanded() {
  for (CompletionPage* page = handed_.first; page; page = page->next) {
    budget_->Release(std::exchange(page->charged, 0));
  }
}

void CompletionPages::Shrink() {
  std::lock_guard lock(mutex_);
  while (CompletionPage* page = free_) {
    free_ = page->next;
    page->memory.reset();
    page->ended_memory.reset();
    page->next = std::exchange(without_memory_, page);
  }
  free_count_ = 0;
}

}  // namespace tritonts
