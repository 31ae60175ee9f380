// Outputs of a batch that are split by requests, and not by rows of equal size:
//
// - of BATCH_SCATTER_WITH_INPUT_SHAPE (TensorSpec::shaped_like): each request's part has the shape
//   that its input gives
// - with fewer rows than the batch, of a model with ragged inputs: such a model may return a row
//   for each request, and a request has several rows
//
// The parts follow each other in the order of the requests. As in Triton, a request for which not
// enough bytes are left fails, and bytes that no request needs are ignored.
//
// Belongs to an instance; only the thread that runs Execute may use it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/backend.h"

namespace tritonts {

class SplitOutputs {
 public:
  explicit SplitOutputs(const ModelIo& io);

  // Whether output `index`, which the model returned with this shape, is to be split here.
  bool Splits(uint32_t index, std::span<const int64_t> shape, uint32_t rows) const;
  // Declares the parts of an output. `block` keeps the data alive; without it, the data must stay
  // valid until Respond has returned. Throws std::bad_alloc.
  void Declare(Run& run, uint32_t index, std::span<const int64_t> shape, const void* data,
               size_t size, Block* block);
  // Responds to all requests. If `status` is ok, requests that lack a part get an error.
  void Respond(Run& run, const std::string& model, const Status& status);

 private:
  // The shape of a request's part; empty: the request lacks the input that gives it.
  std::vector<int64_t> PartOf(const Run& run, uint32_t request, const TensorSpec& output,
                              std::span<const int64_t> shape) const;

  const std::vector<TensorSpec> outputs_;
  const bool batching_;
  bool may_lack_rows_ = false;
  // These belong to the current run.
  std::vector<std::vector<int64_t>> shapes_;
  struct Refused {
    uint32_t request = 0;
    Status status;
  };
  std::vector<Refused> refused_;
};

}  // namespace tritonts
