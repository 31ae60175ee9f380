// Cancels requests of a port. All requests of one version are cancelled with one call.
#include <algorithm>
#include <utility>

#include "engine/port/port.h"
#include "engine/request/executor.h"
#include "engine/server/server.h"

namespace tritonts {

Port::Tick* Port::CancelTickOf(uint32_t uid) {
  if (tick_count_ > 0 && ticks_[tick_count_ - 1].uid == uid) return &ticks_[tick_count_ - 1];
  for (size_t i = 0; i < tick_count_; i++) {
    if (ticks_[i].uid == uid) return &ticks_[i];
  }
  const auto known = executors_.find(uid);
  return known == executors_.end() ? nullptr : AddTick(uid, known->second);
}

void Port::CollectCancelled(const Slots::Slot& slot, size_t first, size_t count) {
  const std::span<Request> group = slot.all();
  if (first >= group.size()) return;
  for (Request& request : group.subspan(first, std::min(count, group.size() - first))) {
    if (request.state() == Request::State::kIdle) continue;
    try {
      Tick* tick = CancelTickOf(slot.uid);
      if (!tick) return;
      tick->requests.push_back(&request);
    } catch (const std::bad_alloc&) {
      // Without memory for the list, the request is only marked. Its outputs are dropped after it
      // has run.
      request.cancelled.store(true, std::memory_order_relaxed);
      if (slot.streams) slot.streams[request.position].Wake();
    }
  }
}

void Port::CancelCollected() {
  for (size_t i = 0; i < tick_count_; i++) {
    Tick& tick = ticks_[i];
    if (!tick.requests.empty()) tick.executor->Cancel(tick.requests);
    for (Request* request : tick.requests) {
      StreamCount* const streams = request->header->streams;
      if (streams) streams[request->position].Wake();
    }
    tick.executor.reset();
  }
  tick_count_ = 0;
}

void Port::Cancel(uint32_t slot, uint32_t generation, uint32_t first, uint32_t count) {
  CheckThread();
  tick_count_ = 0;
  if (const Slots::Slot* known = slots_.Find(slot, generation)) {
    CollectCancelled(*known, first, count);
  }
  CancelCollected();
}

void Port::CancelMany(const int32_t* words, size_t count) {
  CheckThread();
  tick_count_ = 0;
  const auto word = [&](size_t at) { return static_cast<uint32_t>(words[at]); };
  for (size_t at = 0; at + layout::kCancelWords <= count; at += layout::kCancelWords) {
    if (const Slots::Slot* known = slots_.Find(word(at), word(at + 1))) {
      CollectCancelled(*known, word(at + 2), word(at + 3));
    }
  }
  CancelCollected();
}

}  // namespace tritonts
