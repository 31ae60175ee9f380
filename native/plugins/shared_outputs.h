// Small outputs of a batch in one piece of memory for all its requests. If they are alike, the
// batch has one output with the rows of all, and the engine one response for all requests.
//
// The first request that asks for an output decides its shape and size. Each request has a place of
// its own, by its position in the batch, which is aligned as allocated memory is.
//
// Owned by a batch. Only the thread in Execute adds outputs. Any thread that got a request with an
// output from that thread may read the output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend.h"
#include "engine/base/small_vector.h"

namespace tritonts::plugins {

class SharedOutputs {
 public:
  // Outputs at higher positions in the model have no bit.
  static constexpr uint32_t kMost = 64;
  // Larger outputs have memory of their own, which may outlive the batch.
  static constexpr size_t kMostBytes = 32768;

  // For `outputs` outputs of the model. Throws std::bad_alloc.
  void Reserve(size_t outputs) { all_.resize(outputs < kMost ? outputs : kMost); }
  void Clear();

  // The place for an output of the request at `position`; null: it cannot be shared, because it
  // differs from that of the first request, or because there is no memory. Throws
  // std::bad_alloc.
  char* Place(Run& run, uint32_t position, uint32_t index, DataType datatype,
              std::span<const int64_t> shape, size_t size);
  // Declares these outputs (bits by position) of one request, or of all requests, which must have
  // all of them.
  void Declare(Run& run, uint32_t position, uint64_t outputs) const;
  void DeclareAll(Run& run, uint64_t outputs);

 private:
  struct Shared {
    DataType datatype = DataType::kInvalid;
    SmallVector<int64_t, 4> shape;
    size_t size = 0;    // of a request
    size_t stride = 0;  // from one request's place to the next
    BlockRef block;
  };

  bool Knows(uint32_t index) const { return (known_ >> index & 1) != 0; }
  char* At(const Shared& shared, uint32_t position) const {
    return static_cast<char*>(shared.block->data()) + position * shared.stride;
  }

  std::vector<Shared> all_;  // by position in the model
  uint64_t known_ = 0;       // made for this batch
};

}  // namespace tritonts::plugins
