// Cancels requests of a port. All requests of one version are cancelled with one call.
#include <algorithm>
#include <utility>

#include "engine/port/port.h"
#include "engine/request/executor.h"

namespace tritonts {

Port::VersionRequests* Port::CancelledOf(uint32_t uid) {
  if (version_count_ > 0 && versions_[version_count_ - 1].uid == uid)
    return &versions_[version_count_ - 1];
  for (size_t i = 0; i < version_count_; i++) {
    if (versions_[i].uid == uid) return &versions_[i];
  }
  const auto known = executors_.find(uid);
  return known == executors_.end() ? nullptr : AddVersion(uid, known->second);
}

void Port::CollectCancelled(const Slots::Slot& slot, size_t first, size_t count) {
  const std::span<Request> group = slot.all();
  if (first >= group.size()) return;
  for (Request& request : group.subspan(first, std::min(count, group.size() - first))) {
    if (request.state() == Request::State::kIdle) continue;
    try {
      VersionRequests* version = CancelledOf(slot.uid);
      if (!version) return;
      version->requests.push_back(&request);
    } catch (const std::bad_alloc&) {
      // Without memory for the list, the request is only marked. Its outputs are dropped after it
      // has run.
      request.cancelled.store(true, std::memory_order_relaxed);
      if (slot.streams) slot.streams[request.position].Wake();
    }
  }
}

void Port::CancelCollected() {
  for (size_t i = 0; i < version_count_; i++) {
    VersionRequests& version = versions_[i];
    if (!version.requests.empty()) version.executor->Cancel(version.requests);
    for (Request* request : version.requests) {
      StreamCount* const streams = request->header->streams;
      if (streams) streams[request->position].Wake();
    }
    version.executor.reset();
  }
  version_count_ = 0;
}

void Port::Cancel(uint32_t slot, uint32_t generation, uint32_t first, uint32_t count) {
  CheckThread();
  version_count_ = 0;
  if (const Slots::Slot* known = slots_.Find(slot, generation)) {
    CollectCancelled(*known, first, count);
  }
  CancelCollected();
}

void Port::CancelMany(const int32_t* words, size_t count) {
  CheckThread();
  version_count_ = 0;
  const auto word = [&](size_t at) { return static_cast<uint32_t>(words[at]); };
  for (size_t at = 0; at + layout::kCancelWords <= count; at += layout::kCancelWords) {
    if (const Slots::Slot* known = slots_.Find(word(at), word(at + 1))) {
      CollectCancelled(*known, word(at + 2), word(at + 3));
    }
  }
  CancelCollected();
}

}  // namespace tritonts
