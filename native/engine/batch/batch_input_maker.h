// Makes the batch inputs of a model (BatchInputSpec) as overlays of a batch.
//
// A request's value depends only on the shape of the source in its slot, so the values of a batch
// can be made again for a part of it. Null rows take part: their source is the overlay that the
// scheduler gave them, or else has the shape of the first request's.
//
// Belongs to a version's Dispatcher, and is guarded by its lock. Its vectors stay allocated between
// batches. All functions throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/memory/pool.h"
#include "engine/request/model_io.h"
#include "engine/scheduling/batch.h"

namespace tritonts {

class BatchInputMaker {
 public:
  // Null: the model has no batch inputs.
  static std::unique_ptr<BatchInputMaker> Make(const ModelIo& io);

  // A batch of these requests, without additions. Valid until the next call.
  Batch* BatchOf(std::span<Request* const> requests);
  // Adds the batch inputs to a batch. Its overlays then belong to this object, and are valid until
  // Drop or the next call. If it throws, the batch is unchanged.
  void AddTo(Batch* batch, BlockPool* pool);
  // Drops the overlays and their references to memory.
  void Drop();

 private:
  using Kind = BatchInputSpec::Kind;
  struct Input {
    BatchInputSpec spec;
    DataType datatype = DataType::kInvalid;
  };
  // The source of an input in a slot.
  struct Source {
    std::span<const int64_t> shape;
    size_t elements = 0;

    // The rows and the other dims of a source that has rows.
    size_t rows() const { return shape.empty() ? 0 : static_cast<size_t>(shape.front()); }
    std::span<const int64_t> tail() const { return shape.empty() ? shape : shape.subspan(1); }
  };

  explicit BatchInputMaker(std::vector<Input> inputs) : inputs_(std::move(inputs)) {}

  // Finds the source of an input in all slots.
  void FindSources(const Batch& batch, uint32_t input);
  // How many values an input has in a slot.
  size_t ValuesOf(Kind kind, size_t slot) const;
  size_t Largest() const;
  // Writes an input's values to `to`, and appends their overlays. Returns where the values end.
  char* Write(const Input& input, const BlockRef& block, char* to);

  const std::vector<Input> inputs_;
  std::vector<Source> sources_;    // by slot
  std::vector<Overlay> made_;      // in the order of inputs
  std::vector<Overlay> overlays_;  // with the scheduler's, in the order of slots
  Batch own_;
};

}  // namespace tritonts
