// What a scheduler decides that an instance runs together.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/request/request.h"
#include "engine/request/response_sink.h"
#include "engine/request/row_inputs.h"

namespace tritonts {

// Why a batch has no more requests.
enum class ClosedBy : uint8_t {
  kFull,         // it has max_batch_size rows, or what comes next does not fit
  kPreferred,    // it has a preferred size, or is beyond the largest of them
  kDelay,        // its oldest request has waited for max_queue_delay
  kShape,        // what waits besides is of another shape, or such a request stood in the way
  kNothingMore,  // nothing else waits that the instance may run
  kPriority,     // what waits besides is of another level, and may not overtake
};

// Takes the outputs of a batch that stay with the engine: the state of a sequence (Triton: implicit
// state). They are in no response.
class OutputKeeper {
 public:
  virtual ~OutputKeeper() = default;
  // Whether output `index` is kept. It does not change.
  virtual bool Keeps(uint32_t index) const = 0;
  // Takes the kept outputs that a response to `request` would have carried, before the response is
  // delivered. They are valid until it returns; it copies them, or shares their blocks. Any thread
  // that responds calls it, without the version's lock, for one request by one thread at a time. It
  // does not throw. Not called for null rows, nor for a response that is an error.
  virtual void Keep(const Request& request, uint32_t slot,
                    std::span<const OutputTensor> outputs) noexcept = 0;
};

// A batch: requests in slots, and what the engine adds to them. Reused between calls.
struct Batch {
  // Run these together, in this order; they are out of the queue now. Null: an empty slot, which
  // becomes a null row (row_inputs.h). Some slot is not empty. No slot at all: there is no batch.
  // Its owner has made room for all requests that wait, and for Scheduler::slots.
  std::vector<Request*> members;
  // What is injected, in the order of slots. The scheduler owns them; valid until its next call.
  std::span<const Overlay> overlays;
  // Which outputs are kept; null: none.
  std::shared_ptr<OutputKeeper> keeper;
  bool empty_slots = false;  // whether a slot is empty
  uint64_t wake_at_ns = 0;   // ask again then, at the latest; 0: only when something changes
  ClosedBy closed_by = ClosedBy::kNothingMore;

  // Whether it is its requests and nothing else.
  bool plain() const { return overlays.empty() && !keeper && !empty_slots; }
  void Clear() {
    members.clear();
    overlays = {};
    keeper.reset();
    empty_slots = false;
    wake_at_ns = 0;
    closed_by = ClosedBy::kNothingMore;
  }
};

}  // namespace tritonts
