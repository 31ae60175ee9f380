// Inputs of a batch's rows that are not their requests' own.
//
// A scheduler may have the engine inject inputs into a batch: control tensors, state, what a batch
// is told of itself. Such an *overlay* belongs to one slot of one batch. The request and its header
// stay as they are, because other requests may share the header and the request may run again. A
// slot without a request becomes a *null row*: a request of nobody, with the shapes of another slot
// and zeros for bytes (empty strings), whose responses are dropped. Where other bytes matter, as
// those of shape tensors, the slot has an overlay, too.
//
// Ownership: a run owns its RowInputs, and uses them again for later batches. They are filled with
// the version's lock and then only read, by any thread that holds the run, until the run is done.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/memory/buffer.h"
#include "engine/memory/pool.h"
#include "engine/request/request.h"

namespace tritonts {

// An input that the engine injects into one slot. It replaces the request's own input of that
// index. `tensor.of_one` holds: its chunks have the bytes of this slot alone, and their owners keep
// these.
struct Overlay {
  uint32_t slot = 0;
  InputTensor tensor;
};

class RowInputs {
 public:
  // Fills them for a batch. `members` are its slots; null: an empty one, which is set to a null
  // row. There is to be at least one that is not empty. `overlays` are in the order of slots. Zeros
  // come from `pool`. Throws std::bad_alloc; then no member was changed.
  void Fill(std::span<Request*> members, std::span<const Overlay> overlays, BlockPool* pool);
  // Drops what they refer to.
  void Clear();

  // The inputs of a slot, in the order of the model's.
  std::span<const InputTensor> Of(uint32_t slot) const { return slots_[slot]; }
  const InputTensor* Find(uint32_t slot, uint32_t index) const;
  // How many slots are null rows.
  uint32_t null_rows() const { return null_rows_; }

 private:
  void MakeNullRow(const Request& like, BlockPool* pool);

  std::vector<std::vector<InputTensor>> slots_;
  // The null rows share a header. It has the inputs of the first slot that is not empty.
  RequestHeader header_;
  std::vector<std::unique_ptr<Request>> rows_;  // as many as there ever were in a batch
  uint32_t null_rows_ = 0;
};

}  // namespace tritonts
