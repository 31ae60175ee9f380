// Inputs of a batch's slots that do not come from the requests.
//
// A scheduler may have the engine inject inputs into a batch: control tensors, state, facts about
// the batch. Such an *overlay* belongs to one slot of one batch. The request and its header stay as
// they are, because other requests may share the header and the request may run again. A slot
// without a request becomes a *null row*: a request without a caller, with the shapes of another
// slot and zeros for bytes (empty strings), whose responses are dropped. If zeros would be wrong,
// as in shape tensors, the slot also has an overlay.
//
// A tensor about the whole batch (Triton: batch inputs) is cut into parts, one for each slot, which
// the collector concatenates. A part's first dim need not be the slot's number of rows, and may be
// 0. For example, the first slot has two elements of a tensor with one element more than the batch
// has slots.
//
// Ownership: a run owns its RowInputs, and uses them again for later batches. They are filled under
// the version's lock. Then they are read-only until the run is done, and any thread that holds the
// run may read them.
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
// the bytes alive.
struct Overlay {
  uint32_t slot = 0;
  InputTensor tensor;
};

class RowInputs {
 public:
  // Fills the inputs for a batch. `members` are the batch's slots. A null member is an empty slot,
  // and is set to a null row. At least one slot must not be empty. `overlays` are in the order of
  // slots. Zeros come from `pool`. Throws std::bad_alloc; then no member was changed.
  void Fill(std::span<Request*> members, std::span<const Overlay> overlays, BlockPool* pool);
  // Drops all inputs, and their references to memory.
  void Clear();

  // The inputs of a slot, in the order of the model's inputs.
  std::span<const InputTensor> Of(uint32_t slot) const { return slots_[slot]; }
  const InputTensor* Find(uint32_t slot, uint32_t index) const;
  // The number of slots that are null rows.
  uint32_t null_rows() const { return null_rows_; }

 private:
  void MakeNullRow(const Request& like, BlockPool* pool);

  std::vector<std::vector<InputTensor>> slots_;
  // The null rows share a header. Its inputs have the shapes of the first slot that is not empty.
  RequestHeader header_;
  std::vector<std::unique_ptr<Request>> rows_;  // as many as the batch with most null rows had
  uint32_t null_rows_ = 0;
};

}  // namespace tritonts
