// A port's way out: finished requests are written to pages, which the JS thread takes.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "clock.h"
#include "leak.h"
#include "port.h"
#include "port_memory.h"
#include "server.h"

namespace tritonts {

namespace {

constexpr size_t kFreePages = 16;  // pages kept for the next burst
constexpr size_t kLongestMessage = 16384;
// Words of a timing record, with the one that aligns it, and of a response without its outputs;
// with two where payload follows, which begins at a multiple of 8.
constexpr size_t kTimingWords = 2 + 10;
constexpr size_t kResponseWords = 5 + 2 + 2;
constexpr size_t kOutputWords = 4 + 1 + 2;  // without the tail
constexpr size_t kPieceWords = 3;           // of answers that are alike: slot, first part, how many
constexpr size_t kMostWords = (layout::kPageBytes - layout::kCutBytes) / 4;

// Decides, output by output, which ones are cut from the page: small ones, as long as they fit.
class Cutter {
 public:
  bool Takes(const OutputTensor& output) {
    if (output.size >= layout::kLargeOutput || bytes_ + output.size > layout::kCutBytes) {
      return false;
    }
    bytes_ += output.size;
    return true;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

// What keeps an output: its block, or a copy where it has none. Empty without memory.
BlockRef Keep(const OutputTensor& output, const void** data) {
  *data = output.data;
  if (output.block) return BlockRef::Share(output.block);
  BlockRef copy = PortMemory::Create(output.size);
  if (copy) {
    std::memcpy(copy->data(), output.data, output.size);
    *data = copy->data();
  }
  return copy;
}

Response Failed(const Response& response, Status status) {
  Response failed = response;
  failed.outputs = {};
  failed.status = std::move(status);
  return failed;
}

}  // namespace

void CompletionPage::Reset() {
  words = 0;
  finals = 0;
  payload = layout::kPageBytes;
  large.clear();
  timings_version = nullptr;
}

void Port::TakePages(std::vector<CompletionPage*>* pages, size_t most) {
  CheckThread();
  // Before the pages are looked for: what is published after that signals again.
  const bool signalled = wake_pending_.exchange(false);
  if (signalled) NoteWait();
  const size_t first = pages->size();
  if (some_ready_) {
    std::lock_guard lock(mutex_);
    pages->insert(pages->end(), ready_.begin(), ready_.end());
    ready_.clear();
    some_ready_ = false;
  }
  if (CompletionPage* page = open_.exchange(nullptr)) pages->push_back(page);
  if (pages->size() - first > most) {
    {
      std::lock_guard lock(mutex_);
      ready_.assign(pages->begin() + static_cast<ptrdiff_t>(first + most), pages->end());
      some_ready_ = true;
    }
    pages->resize(first + most);
    Signal();
  }
  for (size_t i = first; i < pages->size(); i++) {
    CompletionPage* page = (*pages)[i];
    if (handed_.size() <= page->id) handed_.resize(page->id + 1);
    handed_[page->id] = page;
    unanswered_ -= page->finals;
#if defined(TRITONTS_CHECKS)
    for (const auto& [slot, parts] : page->ended) taken_parts_[slot] -= parts;
    page->ended.clear();
#endif
  }
  if (signalled || unanswered_ == 0) BeginWait(unanswered_ > 0 ? NowNs() : 0);
}

bool Port::Recycle(CompletionPage* page) {
  CheckThread();
  handed_[page->id] = nullptr;
  page->Reset();
  CompletionPage* none = nullptr;
  if (spare_.compare_exchange_strong(none, page)) return true;
  std::lock_guard lock(mutex_);
  if (free_pages_.size() < kFreePages) {
    free_pages_.push_back(page);
    return true;
  }
  free_page_ids_.push_back(page->id);
  pages_[page->id].reset();
  return false;
}

void Port::Publish(CompletionPage* page) {
  CompletionPage* older = open_.exchange(page);
  if (!older) return;
  // Another thread was quicker.
  std::lock_guard lock(mutex_);
  ready_.push_back(older);
  some_ready_ = true;
}

void Port::Signal(const BatchTimings* timings) {
  if (!wake_pending_.load(std::memory_order_relaxed)) {
    batch_began_ns_.store(timings ? timings->exec_start_ns : 0, std::memory_order_relaxed);
    batch_ended_ns_.store(timings ? timings->exec_end_ns : 0, std::memory_order_relaxed);
  }
  if (wake_pending_.exchange(true)) return;
  // Either this sees that the JS thread looks, or that sees, when it stops, that there is
  // something.
  if (looking_) return;
  signalling_.fetch_add(1);
  if (!detached_) wake_();
  signalling_.fetch_sub(1);
}

// A page with at least `needed` bytes free that is the caller's; `full` goes to the ready ones.
CompletionPage* Port::PageWithRoom(size_t needed, CompletionPage* full) {
  if (full) {
    Publish(full);
  } else if (CompletionPage* page = open_.exchange(nullptr)) {
    if (page->room() >= needed) return page;
    std::lock_guard lock(mutex_);
    ready_.push_back(page);
    some_ready_ = true;
  }
  if (CompletionPage* page = spare_.exchange(nullptr)) return page;
  std::lock_guard lock(mutex_);
  if (!free_pages_.empty()) {
    CompletionPage* page = free_pages_.back();
    free_pages_.pop_back();
    return page;
  }
  auto page = std::make_unique<CompletionPage>();
  page->memory = PortMemory::Create(layout::kPageBytes);
  if (free_page_ids_.empty()) {
    free_page_ids_.push_back(static_cast<uint32_t>(pages_.size()));
    pages_.emplace_back();
  }
  const uint32_t id = free_page_ids_.back();
  free_page_ids_.pop_back();
  page->id = id;
  pages_[id] = std::move(page);
  return pages_[id].get();
}

void Port::AppendTimings(CompletionPage* page, const Request& request,
                         const BatchTimings& timings) {
  if (page->timings_version == request.version && page->timings_batch == timings.batch &&
      page->timings_flush == request.flush) {
    return;
  }
  page->timings_version = request.version;
  page->timings_batch = timings.batch;
  page->timings_flush = request.flush;
  page->data()[page->words++] = layout::kTimings;
  page->words += page->words & 1;
  const double values[] = {
      static_cast<double>(timings.batch_size),
      static_cast<double>(timings.exec_start_ns - request.arrival_ns),
      static_cast<double>(timings.compute_start_ns - timings.exec_start_ns),
      static_cast<double>(timings.compute_end_ns - timings.compute_start_ns),
      static_cast<double>(timings.exec_end_ns - timings.compute_end_ns),
  };
  std::memcpy(page->data() + page->words, values, sizeof(values));
  page->words += sizeof(values) / 4;
}

void Port::Append(CompletionPage** page, const Response& response) {
  const Request* request = response.request;
  std::string_view message;
  std::vector<CompletionPage::Large> large;
  Cutter sizes;
  size_t most_words = kTimingWords + kResponseWords;
  if (response.status.ok()) {
    for (const OutputTensor& output : response.outputs) {
      most_words += kOutputWords + output.tail.size();
      if (sizes.Takes(output)) continue;
      const void* data = nullptr;
      BlockRef block = Keep(output, &data);
      if (!block) {
        Append(page, Failed(response, Status::Unavailable("no memory for an output of " +
                                                          std::to_string(output.size) + " bytes")));
        return;
      }
      large.push_back({std::move(block), data, output.size});
    }
    if (most_words > kMostWords) {
      Append(page, Failed(response, Status::Internal("too many outputs for one response")));
      return;
    }
  } else {
    message = std::string_view(response.status.message()).substr(0, kLongestMessage);
  }
  const size_t needed = most_words * 4 + sizes.bytes() + message.size();
  if (!*page || (*page)->room() < needed) *page = PageWithRoom(needed, *page);
  CompletionPage* target = *page;
  if (response.timings) AppendTimings(target, *response.request, *response.timings);
  int32_t* words = target->data() + target->words;
  const auto take = [&](const void* data, size_t size) {
    target->payload = (target->payload - static_cast<uint32_t>(size)) & ~7u;
    if (size > 0) {
      std::memcpy(static_cast<char*>(target->memory->data()) + target->payload, data, size);
    }
    return static_cast<int32_t>(target->payload);
  };
  *words++ = static_cast<int32_t>(request->slot);
  *words++ = static_cast<int32_t>(request->generation);
  *words++ =
      static_cast<int32_t>(response.status.code()) | (response.final ? layout::kFinalBit : 0) |
      (response.limited ? layout::kLimitedBit : 0) | (response.timings ? layout::kRanBit : 0) |
      static_cast<int32_t>(response.outputs.size() << 16);
  *words++ = static_cast<int32_t>(request->first_part +
                                  (response.part == Response::kAllParts ? 0 : response.part));
  *words++ = static_cast<int32_t>(response.parts());
  if (!response.status.ok()) {
    *words++ = take(message.data(), message.size());
    *words++ = static_cast<int32_t>(message.size());
  }
  Cutter cutter;
  size_t next_large = target->large.size();
  for (const OutputTensor& output : response.outputs) {
    *words++ = static_cast<int32_t>(output.index) | static_cast<int32_t>(output.datatype) << 16;
    *words++ =
        cutter.Takes(output) ? take(output.data, output.size) : ~static_cast<int32_t>(next_large++);
    *words++ = static_cast<int32_t>(output.size);
    *words++ = static_cast<int32_t>(output.tail.size() + (output.batch >= 0 ? 1 : 0));
    if (output.batch >= 0) *words++ = static_cast<int32_t>(output.batch);
    for (int64_t dim : output.tail) *words++ = static_cast<int32_t>(dim);
  }
  for (CompletionPage::Large& one : large) target->large.push_back(std::move(one));
  target->words = static_cast<uint32_t>(words - target->data());
  if (response.final) target->finals += response.parts();
#if defined(TRITONTS_CHECKS)
  if (response.final) target->ended.emplace_back(request->slot, response.parts());
#endif
}

void Port::Deliver(std::span<const Response> responses) {
  uint64_t ended = 0;
  uint64_t bytes = 0;
  bool abandoned = false;
  CompletionPage* page = nullptr;
  const bool detached = detached_.load(std::memory_order_acquire);
  const bool here = std::this_thread::get_id() == js_thread_ && running_here_;
  for (const Response& response : responses) {
    if (!detached) Append(&page, response);
    if (response.final) ended += response.parts();
    if (!response.ends_request()) continue;
    bytes += response.request->accounted_bytes;
    if (response.abandoned) {
      abandoned = true;
      continue;
    }
    TakeBack(response.request);
  }
  if (abandoned) KeepForever(shared_from_this());
  server_->Unreserve(bytes);
  if (page) HandOver(page, here, responses.front().timings);
  if (ended > 0) Drop(ended);
}

void Port::HandOver(CompletionPage* page, bool here, const BatchTimings* timings) {
  Publish(page);
  if (here) {
    answered_here_ = true;
  } else {
    Signal(timings);
  }
}

void Port::AppendAlike(CompletionPage** page, const AlikeResponses& alike, AlikePlace* place) {
  // The first of a tick's requests says for all of them how long they waited.
  const Request& front = *alike.requests[place->request];
  size_t parts = front.parts - place->part;
  for (size_t next = place->request + 1;
       next < alike.requests.size() && alike.requests[next]->flush == front.flush; next++) {
    parts += alike.requests[next]->parts;
  }
  size_t words_needed = kTimingWords + 3;
  size_t bytes_each = kPieceWords * 4;
  for (const OutputTensor& output : alike.outputs) {
    words_needed += kOutputWords + output.tail.size();
    bytes_each += output.size;
  }
  const size_t fixed = words_needed * 4;
  if (!*page || (*page)->room() < fixed + bytes_each) {
    // Not a page for the last few of a batch: as many as one can take.
    *page = PageWithRoom(fixed + bytes_each, *page);
  }
  CompletionPage* target = *page;
  const size_t count = std::min(parts, (target->room() - fixed) / bytes_each);
  AppendTimings(target, front, *alike.timings);
  int32_t* words = target->data() + target->words;
  *words++ = layout::kAlike;
  *words++ = static_cast<int32_t>(count);
  *words++ = static_cast<int32_t>(alike.outputs.size());
  for (const OutputTensor& output : alike.outputs) {
    const size_t size = count * output.size;
    target->payload = (target->payload - static_cast<uint32_t>(size)) & ~7u;
    if (size > 0) {
      std::memcpy(static_cast<char*>(target->memory->data()) + target->payload,
                  static_cast<const char*>(output.data) + place->parts * output.size, size);
    }
    *words++ = static_cast<int32_t>(output.index) | static_cast<int32_t>(output.datatype) << 16;
    *words++ = static_cast<int32_t>(target->payload);
    *words++ = static_cast<int32_t>(output.size);
    *words++ = static_cast<int32_t>(output.tail.size() + 1);
    *words++ = static_cast<int32_t>(output.batch);
    for (const int64_t dim : output.tail) *words++ = static_cast<int32_t>(dim);
  }
  for (size_t left = count; left > 0;) {
    const Request& request = *alike.requests[place->request];
    const auto given = static_cast<uint32_t>(std::min<size_t>(left, request.parts - place->part));
    *words++ = static_cast<int32_t>(request.slot);
    *words++ = static_cast<int32_t>(request.first_part + place->part);
    *words++ = static_cast<int32_t>(given);
#if defined(TRITONTS_CHECKS)
    target->ended.emplace_back(request.slot, given);
#endif
    left -= given;
    place->part += given;
    if (place->part < request.parts) continue;
    place->part = 0;
    place->request++;
  }
  place->parts += count;
  target->words = static_cast<uint32_t>(words - target->data());
  target->finals += static_cast<uint32_t>(count);
}

void Port::DeliverAlike(const AlikeResponses& alike) {
  Cutter sizes;
  size_t words = kTimingWords + kResponseWords;
  for (const OutputTensor& output : alike.outputs) {
    words += kOutputWords + output.tail.size();
    if (!sizes.Takes(output)) return ResponseSink::DeliverAlike(alike);
  }
  if (words > kMostWords) return ResponseSink::DeliverAlike(alike);
  CompletionPage* page = nullptr;
  const bool detached = detached_.load(std::memory_order_acquire);
  const bool here = std::this_thread::get_id() == js_thread_ && running_here_;
  uint64_t bytes = 0;
  AlikePlace place;
  while (place.request < alike.requests.size()) {
    const size_t first = place.request;
    if (detached) {
      place.request = alike.requests.size();
    } else {
      AppendAlike(&page, alike, &place);
    }
    // Before the next one: that may hand the page over, and then the slots are used again.
    for (Request* request : alike.requests.subspan(first, place.request - first)) {
      bytes += request->accounted_bytes;
      TakeBack(request);
    }
  }
  server_->Unreserve(bytes);
  if (page) HandOver(page, here, alike.timings);
  Drop(alike.parts);
}

void Port::Drop(uint64_t references) {
  const uint64_t before = references_.fetch_sub(references);
  TRITONTS_ASSERT(before >= references, "a port got more answers than it asked for");
  if (before > references) return;
  // Nobody else adds or drops one now; freed at the end, maybe with this port.
  const std::shared_ptr<Port> last = std::move(self_);
}

}  // namespace tritonts
