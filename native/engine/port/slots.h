// A port's slots: the requests of a group are the slot's own, and stay allocated for the next one.
// The JS thread's; the requests themselves belong to whoever request.h says.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/port/reader.h"
#include "engine/request/request.h"

namespace tritonts {

class Slots {
 public:
  struct Slot {
    uint32_t uid = 0;  // of the version that the last group was for
    uint32_t generation = 0;
    uint32_t count = 0;  // requests of the last group
    uint32_t capacity = 0;
    std::unique_ptr<RequestHeader> header;  // what all of them share
    std::unique_ptr<Request[]> requests;
#if defined(TRITONTS_CHECKS)
    uint32_t untaken = 0;  // from Submit until the page with their final responses is taken
#endif
    std::span<Request> all() const { return {requests.get(), count}; }
    bool idle() const;
    // Whether those that are not idle were abandoned, and answered.
    bool abandoned() const;
  };

  // Room for a group's requests; null, with `fault`, where the slot is not free. A slot whose
  // requests were abandoned is, with other ones: a run may still look at those. Throws
  // std::bad_alloc, and then the slot is as it was.
  Slot* Take(const GroupRecord& group, const char** fault);
  // A slot, if its last group is of that generation; else null.
  const Slot* Find(uint32_t slot, uint32_t generation) const;
  size_t size() const { return slots_.size(); }
  const Slot& operator[](size_t slot) const { return slots_[slot]; }

  // Final answers to so many of the slot's requests were handed out, or never will be. For
  // TRITONTS_CHECKS.
  void NoteTaken(uint32_t slot, uint32_t count);
  // Frees the requests of slots that are not in use, beyond what a working port has use for.
  void Shrink();
  // Requests that there is memory for.
  size_t capacity() const;

 private:
  static constexpr uint32_t kMostSlots = 1u << 24;
  static constexpr size_t kKeptRequests = 1024;  // together

  std::vector<Slot> slots_;
  struct Abandoned {
    std::unique_ptr<RequestHeader> header;
    std::unique_ptr<Request[]> requests;
  };
  std::vector<Abandoned> abandoned_;
};

}  // namespace tritonts
