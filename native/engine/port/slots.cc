#include "engine/port/slots.h"

#include <algorithm>

#include "engine/base/rules.h"

namespace tritonts {

bool Slots::Slot::idle() const {
  return std::all_of(all().begin(), all().end(), [](const Request& request) {
    return request.state() == Request::State::kIdle;
  });
}

bool Slots::Slot::abandoned() const {
  return std::all_of(all().begin(), all().end(), [](const Request& request) {
    return request.state() == Request::State::kIdle ||
           (request.state() == Request::State::kDone && request.abandoned);
  });
}

Slots::Slot* Slots::Take(const GroupRecord& group, bool decoupled, const char** fault) {
  if (group.slot >= kMostSlots) {
    *fault = "slot number above the limit";
    return nullptr;
  }
  if (group.slot >= slots_.size()) {
    slots_.resize(std::max<size_t>(size_t{group.slot} + 1, slots_.size() * 2));
  }
  Slot& slot = slots_[group.slot];
  const bool leave = !slot.idle();
  if (leave && !slot.abandoned()) {
    *fault = "slot already in use";
    return nullptr;
  }
  const bool renew = leave || slot.capacity < group.requests;
  // Allocate first, because nothing may throw after the slot has changed.
  std::unique_ptr<StreamCount[]> streams;
  if (decoupled && (renew || !slot.streams)) {
    streams = std::make_unique<StreamCount[]>(renew ? group.requests : slot.capacity);
  }
  if (renew) {
    if (leave) abandoned_.reserve(abandoned_.size() + 1);
    if (leave || !slot.header) {
      auto header = std::make_unique<RequestHeader>();
      auto requests = std::make_unique<Request[]>(group.requests);
      if (leave) {
        abandoned_.push_back(
            {std::move(slot.header), std::move(slot.requests), std::move(slot.streams)});
      }
      slot.header = std::move(header);
      slot.requests = std::move(requests);
    } else {
      slot.requests = std::make_unique<Request[]>(group.requests);
    }
    slot.capacity = group.requests;
    for (uint32_t i = 0; i < group.requests; i++) {
      slot.requests[i].header = slot.header.get();
      slot.requests[i].position = i;
    }
  }
  if (streams || renew) slot.streams = std::move(streams);
  slot.header->streams = decoupled ? slot.streams.get() : nullptr;
#if defined(TRITONTS_CHECKS)
  TRITONTS_ASSERT(slot.untaken == 0, "a slot was used again before its answers were taken");
  TRITONTS_ASSERT(slot.generation != group.generation, "a request id was used again");
  slot.untaken = group.requests;
#endif
  slot.uid = group.uid;
  slot.generation = group.generation;
  slot.count = group.requests;
  return &slot;
}

const Slots::Slot* Slots::Find(uint32_t slot, uint32_t generation) const {
  if (slot >= slots_.size() || slots_[slot].generation != generation) return nullptr;
  return &slots_[slot];
}

void Slots::NoteTaken([[maybe_unused]] uint32_t slot, [[maybe_unused]] uint32_t count) {
#if defined(TRITONTS_CHECKS)
  slots_[slot].untaken -= count;
#endif
}

void Slots::Shrink() {
  size_t kept = 0;
  for (Slot& slot : slots_) {
    if (kept + slot.capacity <= kKeptRequests) {
      kept += slot.capacity;
    } else if (slot.idle()) {
      slot.requests.reset();
      slot.streams.reset();
      slot.header.reset();
      slot.count = slot.capacity = 0;
    }
  }
}

size_t Slots::capacity() const {
  size_t capacity = 0;
  for (const Slot& slot : slots_) capacity += slot.capacity;
  return capacity;
}

}  // namespace tritonts
