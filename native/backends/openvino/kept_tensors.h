// The tensors of small batches. They are over memory of their own and stay set in the infer
// request, so a batch of the same shapes sets none: that takes longer than to copy small tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/backend.h"
#include "engine/batch/collector.h"
#include "plan.h"

namespace tritonts::openvino {

// Gives an infer request a tensor over `data`. The library keeps the address. `shape` is only read.
Status SetTensor(const Library& library, OvRequest* request, Side side, size_t port,
                 DataType datatype, std::vector<int64_t>* shape, void* data);

// Belongs to an infer slot, and is used by one thread at a time.
class KeptTensors {
 public:
  KeptTensors(const Library& library, std::shared_ptr<const Plan> plan);

  // Whether a batch of these inputs is small, and the shapes of its outputs are known.
  bool Suit(std::span<const Gathered> inputs, uint32_t rows) const;
  // Copies the inputs, and sets tensors if the last batch had other shapes. Throws std::bad_alloc.
  Status Bind(OvRequest* request, std::span<const Gathered> inputs, uint32_t rows);
  // After the batch was computed: the bytes of an output of the plan, until the next batch.
  StatusOr<std::span<const char>> Output(OvRequest* request, uint32_t index, uint32_t rows);
  // The infer request no longer has these tensors, or may not have them.
  void Drop() { bound_ = false; }

 private:
  // Memory for a tensor, aligned to 64.
  struct Memory {
    std::vector<char> bytes;
    size_t size = 0;
    std::vector<int64_t> shape;
    const char* computed = nullptr;  // of an output: where it is; null: not known yet
    void Resize(size_t wanted);
    char* data();
  };

  bool HasShapes(std::span<const Gathered> inputs, uint32_t rows) const;
  Status Set(OvRequest* request, std::span<const Gathered> inputs, uint32_t rows);

  const Library& library_;
  const std::shared_ptr<const Plan> plan_;
  bool possible_ = false;
  size_t row_bytes_ = 0;  // of all outputs
  bool bound_ = false;
  uint32_t rows_ = 0;
  std::vector<Memory> inputs_;
  std::vector<Memory> outputs_;
};

}  // namespace tritonts::openvino
