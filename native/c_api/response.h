// Responses as C callers see them: an error, or outputs with their memory.
//
// A response is one allocation, in which its outputs, their dims and small outputs' bytes follow.
// Larger outputs stay in the engine's blocks, which the response keeps alive. So a batch's block
// lives as long as any response to the batch that is large.
//
// Ownership: the caller's, from the response callback until it deletes it. A response shares the
// version that it is of, and through that the attachment and the server.
// Threads: it does not change after it was made, so any number of threads may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "c_api/calls.h"
#include "c_api/errors.h"
#include "c_api/model.h"
#include "engine/request/response_sink.h"
#include "engine/request/stream_count.h"
#include "engine/version/shapes.h"
#include "include/tritonts.h"

struct tritonts_response {
  struct Output {
    tritonts_output view;
    tritonts::BlockRef block;  // empty: the bytes lie in the response, or in the caller's memory
  };

  tritonts_error error;  // ok: it succeeded
  std::shared_ptr<const tritonts::c_api::Binding> binding;
  // Of a response that counts as unread.
  std::shared_ptr<tritonts::StreamCount> stream;
  uint64_t counted = 0;
  uint64_t charged = 0;  // bytes of the server's budget, for its outputs
  int64_t version = -1;
  tritonts_timings timings = {};
  tritonts::c_api::Call call;  // unless it is final
  std::span<Output> outputs;   // behind this
};

namespace tritonts::c_api {

// The shapes of the outputs of a response, as callers see them. Those of a batch share one.
class OutputShapes {
 public:
  // Not ok: an output does not have the dims of the configuration. Throws std::bad_alloc.
  Status Set(const Binding& binding, std::span<const OutputTensor> outputs);
  const TensorShape& operator[](size_t index) const { return shapes_[index]; }

 private:
  SmallVector<TensorShape, 2> shapes_;
};

// Where a caller wants outputs, by their positions in the model.
struct OutputTarget {
  uint32_t output = 0;
  void* data = nullptr;
  size_t size = 0;
};

struct ResponseParts {
  const std::shared_ptr<const Binding>* binding = nullptr;
  const Status* status = nullptr;
  std::span<const OutputTensor> outputs = {};
  const OutputShapes* shapes = nullptr;
  size_t number = 0;  // of alike responses; their bytes follow each other
  std::span<const OutputTarget> targets = {};
  const BatchTimings* timings = nullptr;
  uint64_t arrival_ns = 0;
};

// Null: there is no memory. Outputs with a target are copied there, unless they are there already.
tritonts_response* MakeResponse(const ResponseParts& parts) noexcept;
// Frees it, and what it counts. Null is ignored.
void DeleteResponse(tritonts_response* response) noexcept;

}  // namespace tritonts::c_api
