#include "engine/port/port.h"

#include <new>

#include "engine/base/clock.h"
#include "engine/memory/port_memory.h"
#include "engine/port/writer.h"

namespace tritonts {

namespace {

using HeaderWord = std::atomic<int32_t>;
// JavaScript reads the header as 32-bit words.
static_assert(HeaderWord::is_always_lock_free && sizeof(HeaderWord) == sizeof(int32_t));
constexpr size_t kHeaderWords = layout::kHeaderBytes / sizeof(HeaderWord);
static_assert(layout::kPages + 2 * layout::kMostPages <= kHeaderWords);

}  // namespace

Port::Port(std::shared_ptr<PortHost> host, std::function<void()> wake)
    : host_(std::move(host)),
      budget_(host_->budget()),
      no_memory_(Status::Unavailable(Reason::kNoMemory, "no memory for the request")),
      no_response_(Status::Unavailable(Reason::kNoMemory, std::string(ResponseWriter::kNoMemory))),
      header_(PortMemory::Create(layout::kHeaderBytes)),
      submission_(PortMemory::Create(layout::kSubmissionWords * 4)),
      pages_(&budget_),
      waker_(std::move(wake), host_->spin_cores()) {
  if (header_) {
    auto* words = static_cast<HeaderWord*>(header_->data());
    for (size_t i = 0; i < kHeaderWords; i++) new (words + i) HeaderWord(0);
  }
  ready_ = pages_.Prepare() && header_ && submission_;
}

Port::~Port() {
  TRITONTS_ASSERT(references_ == 0, "a port was freed with requests in flight");
}

size_t Port::TakePages(std::span<CompletionPage*> pages) {
  CheckThread();
  // Take the signal before the pages, so that a page published later signals again.
  const bool signalled = waker_.TakeSignal();
  const size_t count = pages_.Take(pages);
  for (CompletionPage* page : pages.first(count)) {
    untaken_ -= page->finals;
    for (const auto& [slot, ended] : page->ended()) slots_.NoteTaken(slot, ended);
    page->ended_count = 0;
  }
  if (signalled || untaken_ == 0) waker_.BeginWait(untaken_ > 0 ? NowNs() : 0);
  // Pages that did not fit in `pages` need another signal. Pages published meanwhile have their
  // own.
  if (count == pages.size() && pages_.any()) waker_.Signal();
  return count;
}

bool Port::Recycle(CompletionPage* page) {
  CheckThread();
  // Responses of streams stay charged until they are read.
  NoteUnread(static_cast<int64_t>(page->counted));
  const bool kept = pages_.Recycle(page);
  if (some_wait_) RespondToWaiting();
  return kept;
}

void Port::NoteUnread(int64_t bytes) {
  if (detached_) return;
  unread_ += bytes;
  const uint64_t charge = unread_ > 0 ? static_cast<uint64_t>(unread_) : 0;
  budget_.Exchange(charge, std::exchange(unread_charge_, charge));
}

void Port::Read(uint32_t slot, uint32_t generation, uint32_t position, uint32_t responses,
                uint64_t bytes) {
  CheckThread();
  NoteUnread(-static_cast<int64_t>(bytes));
  const Slots::Slot* known = slots_.Find(slot, generation);
  if (!known || !known->streams || position >= known->count) return;
  known->streams[position].NoteRead(responses, bytes);
}

void Port::Shrink() {
  CheckThread();
  slots_.Shrink();
  inputs_.Shrink();
  pages_.Shrink();
}

void Port::ShowEpoch(uint32_t epoch) {
  header_word(layout::kEpoch).store(static_cast<int32_t>(epoch), std::memory_order_release);
}

void Port::ShowClosed() {
  header_word(layout::kClosed).store(1, std::memory_order_release);
}

void Port::Acknowledge(uint32_t epoch) {
  CheckThread();
  if (epoch == acknowledged_.load(std::memory_order_relaxed)) return;
  acknowledged_.store(epoch, std::memory_order_release);
  // JavaScript will not submit to versions that were retired before this epoch.
  std::erase_if(executors_, [&](const auto& entry) { return !host_->Serves(entry.first); });
  host_->WakeReaper();
}

void Port::Detach() {
  CheckThread();
  if (detached_.exchange(true)) return;
  // The port may live on, but its environment must not be woken any more.
  waker_.Close();
  version_count_ = 0;
  for (size_t i = 0; i < slots_.size(); i++) CollectCancelled(slots_[i], 0, slots_[i].count);
  CancelCollected();
  // A thread that publishes after this sees that the port is detached, and discards its pages
  // itself.
  pages_.Discard();
  pages_.ForgetHanded();
  budget_.Release(std::exchange(unread_charge_, 0));
  if (some_wait_) RespondToWaiting();
  host_->WakeReaper();
  if (self_) Drop(1);
}

}  // namespace tritonts
