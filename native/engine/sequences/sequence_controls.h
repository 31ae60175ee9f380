// The control tensors of sequences, as inputs that are injected into a batch.
//
// Their bytes belong to this object and to the sequences. Both outlive the runs that read them: a
// sequence is kept until its run has ended. Guarded by its owner's lock; the bytes are constant.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/scheduling/sequence_policy.h"
#include "engine/sequences/overlay_list.h"

namespace tritonts {

class Sequence;

class SequenceControls {
 public:
  // `batches`: whether the model batches, so that the tensors have a batch dimension.
  SequenceControls(std::vector<SequenceControl> controls, bool batches);

  size_t count() const { return controls_.size(); }
  // Whether the model takes an id of this kind: the tensor of the id, if there is one, is of text
  // or of numbers. Returns the name of the tensor's datatype, or "" if the id fits.
  std::string ComplaintOf(const SequenceId& id) const;
  // Prepares the bytes of a new sequence's id. Throws std::bad_alloc.
  void Prepare(Sequence* sequence) const;
  // Adds the tensors of a slot. `request` is of the sequence; both null: the slot is empty. Does
  // not allocate.
  void Add(uint32_t slot, const Request* request, const Sequence* sequence,
           OverlayList* overlays) const;

 private:
  const std::vector<SequenceControl> controls_;
  const bool batches_;
};

}  // namespace tritonts
