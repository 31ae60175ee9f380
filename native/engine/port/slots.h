// A port's slots. A slot owns the requests of a group, and keeps them allocated for the next group.
// The port owns the slots, and only the JS thread may call their functions. request.h says which
// thread may touch a request.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/port/reader.h"
#include "engine/request/request.h"
#include "engine/request/stream_count.h"

namespace tritonts {

class Slots {
 public:
  struct Slot {
    uint32_t uid = 0;  // version of the last group
    uint32_t generation = 0;
    uint32_t count = 0;  // how many requests the last group has
    uint32_t capacity = 0;
    std::unique_ptr<RequestHeader> header;  // shared by the requests
    std::unique_ptr<Request[]> requests;
    std::unique_ptr<StreamCount[]> streams;  // of decoupled models; else null
#if defined(TRITONTS_CHECKS)
    uint32_t untaken = 0;  // requests whose final response was not handed out
#endif
    std::span<Request> all() const { return {requests.get(), count}; }
    bool idle() const;
    // Whether every request that is not idle was abandoned.
    bool abandoned() const;
  };

  // Takes a slot for a group; `decoupled`: its requests have stream counts. Null, with `fault`: the
  // slot is in use. If its requests were abandoned, a run may still read them, so the slot gets new
  // requests. If Take throws std::bad_alloc, the slot is unchanged.
  Slot* Take(const GroupRecord& group, bool decoupled, const char** fault);
  // The slot, if its last group has that generation; else null.
  const Slot* Find(uint32_t slot, uint32_t generation) const;
  size_t size() const { return slots_.size(); }
  const Slot& operator[](size_t slot) const { return slots_[slot]; }

  // Notes that final responses to `count` of the slot's requests were handed out, or never will be.
  // Only for TRITONTS_CHECKS.
  void NoteTaken(uint32_t slot, uint32_t count);
  // Frees the requests of idle slots, but keeps up to kKeptRequests requests.
  void Shrink();
  // The number of requests that the slots have memory for.
  size_t capacity() const;

 private:
  static constexpr uint32_t kMostSlots = 1u << 24;
  static constexpr size_t kKeptRequests = 1024;  // together

  std::vector<Slot> slots_;
  struct Abandoned {
    std::unique_ptr<RequestHeader> header;
    std::unique_ptr<Request[]> requests;
    std::unique_ptr<StreamCount[]> streams;
  };
  std::vector<Abandoned> abandoned_;
};

}  // namespace tritonts
