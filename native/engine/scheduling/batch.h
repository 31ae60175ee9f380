// A batch: the requests that a scheduler has selected to run together on one instance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/request/request.h"
#include "engine/request/response_sink.h"
#include "engine/request/row_inputs.h"

namespace tritonts {

// Why no more requests were added to a batch.
enum class ClosedBy : uint8_t {
  kFull,         // it has max_batch_size rows, or the next request does not fit
  kPreferred,    // its rows are a preferred size, or exceed the largest one
  kDelay,        // its oldest request has waited for max_queue_delay
  kShape,        // the next request has another shape, or one of another shape blocked the rest
  kNothingMore,  // no other request waits that the instance may run
  kPriority,     // the next request is of another priority level and may not overtake
  kCustom,       // the model does not want the next request in it (batch_hook.h)
};

// Takes the outputs of a batch that stay in the engine: the state of a sequence (Triton: implicit
// state). Callers get those of them that are not internal (TensorSpec).
class OutputKeeper {
 public:
  virtual ~OutputKeeper() = default;
  // The outputs that are kept. The answer is constant. A response without a kept output is an
  // error, unless the model is decoupled.
  virtual std::span<const uint32_t> kept_outputs() const = 0;
  bool Keeps(uint32_t index) const {
    const auto outputs = kept_outputs();
    return std::find(outputs.begin(), outputs.end(), index) != outputs.end();
  }
  // Takes the kept outputs that a response to `request` would have carried, before the response is
  // delivered. They are valid during this call; the keeper copies them or shares their blocks.
  // Called by any thread that responds, without the version's lock. Calls for one request never
  // overlap. Not called for null rows, nor for a response that is an error of the model.
  virtual void Keep(const Request& request, uint32_t slot,
                    std::span<const OutputTensor> outputs) noexcept = 0;
};

// A batch: requests in slots, and what the engine adds to them. Reused between calls.
struct Batch {
  // The requests to run together, in this order. They have left the queue. Null: an empty slot,
  // which becomes a null row (row_inputs.h). At least one slot has a request. No slots: there is no
  // batch. The owner of the batch has reserved room for all waiting requests and for
  // Scheduler::slots.
  std::vector<Request*> members;
  // The inputs to inject, in the order of slots. Owned by the scheduler; valid until its next call.
  std::span<const Overlay> overlays;
  // Decides which outputs are kept; null: none.
  std::shared_ptr<OutputKeeper> keeper;
  // The sequences of its requests, a list through Sequence::in_batch, for Scheduler::Ended; null:
  // it has none. Owned by the scheduler.
  Sequence* sequences = nullptr;
  bool empty_slots = false;  // whether a slot is empty
  // Whether the overlays follow from the requests alone, so that they can be made again for a part
  // of the batch.
  bool remade = false;
  uint64_t wake_at_ns = 0;  // call Next again at this time, at the latest; 0: only on a change
  ClosedBy closed_by = ClosedBy::kNothingMore;

  // Whether the batch consists of its requests alone.
  bool plain() const { return overlays.empty() && !keeper && !empty_slots; }
  void Clear() {
    members.clear();
    overlays = {};
    keeper.reset();
    sequences = nullptr;
    empty_slots = remade = false;
    wake_at_ns = 0;
    closed_by = ClosedBy::kNothingMore;
  }
};

}  // namespace tritonts
