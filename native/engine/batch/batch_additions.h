// What the engine adds to a batch: injected inputs, null rows, and the keeper of outputs.
//
// Owned by a run. Filled under the version's lock, and then read-only until the run's last hold is
// dropped.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/scheduling/batch.h"

namespace tritonts {

class BatchAdditions {
 public:
  // Adds the batch's injected inputs and keeper, and turns its empty slots into null rows. Throws
  // std::bad_alloc; then Clear undoes it. Returns the inputs of the rows.
  const RowInputs* Fill(Batch* batch, BlockPool* pool) {
    if (!inputs_) inputs_ = std::make_unique<RowInputs>();
    filled_ = true;
    inputs_->Fill(batch->members, batch->overlays, pool);
    null_rows_ = inputs_->null_rows();
    keeper_ = batch->keeper;
    remade_ = batch->remade;
    return inputs_.get();
  }
  void Clear() {
    DropInputs();
    null_rows_ = 0;
    keeper_.reset();
    remade_ = false;
  }
  // Drops the memory that the inputs refer to, but keeps the count of null rows.
  void DropInputs() {
    if (!filled_) return;
    filled_ = false;
    inputs_->Clear();
  }
  uint32_t null_rows() const { return null_rows_; }
  // The keeper of outputs. Null: all outputs go to callers.
  OutputKeeper* keeper() const { return keeper_.get(); }
  // Whether all that was added can be made again for a part of the batch.
  bool remade() const { return remade_; }

 private:
  std::unique_ptr<RowInputs> inputs_;  // kept allocated
  bool filled_ = false;
  uint32_t null_rows_ = 0;
  std::shared_ptr<OutputKeeper> keeper_;
  bool remade_ = false;
};

}  // namespace tritonts
