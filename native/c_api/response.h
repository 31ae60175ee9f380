// Responses as C callers see them: an error, or outputs with their memory.
//
// A response is one piece of memory, in which its outputs, their dims and small outputs' bytes
// follow. Some responses of a delivery share one allocation (ResponseBlock), which is freed with
// the last of them. Larger outputs stay in the engine's blocks, which the response keeps alive. So
// a batch's block lives as long as any response to the batch that is large.
//
// Ownership: the caller's, from the response callback until it deletes it. A ResponseBlock shares
// the version that its responses are of, and through that the attachment and the server.
// Threads: it does not change after it was made, so any number of threads may read it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "c_api/calls.h"
#include "c_api/errors.h"
#include "c_api/model.h"
#include "engine/request/parameter_list.h"
#include "engine/request/response_sink.h"
#include "engine/request/stream_count.h"
#include "engine/version/shapes.h"
#include "include/tritonts.h"

namespace tritonts::c_api {

// The head of the memory of responses, which follow it.
struct ResponseBlock {
  std::atomic<uint32_t> responses{0};  // that are not deleted
  std::shared_ptr<const Binding> binding;
  uint64_t charged = 0;  // bytes of the server's budget, for their outputs and parameters
  std::atomic<uint64_t> released{0};  // those that are not charged any more
};

}  // namespace tritonts::c_api

struct tritonts_response {
  struct Output {
    tritonts_output view;
    tritonts::BlockRef block;  // empty: the bytes lie in the response, or in the caller's memory
  };

  tritonts_error error;  // ok: it succeeded
  tritonts::c_api::ResponseBlock* block = nullptr;
  const tritonts::c_api::Binding* binding = nullptr;  // the block's
  // Of a response that counts as unread.
  std::shared_ptr<tritonts::StreamCount> stream;
  uint64_t counted = 0;
  uint64_t charged = 0;  // its part of what the block has charged
  uint64_t apart = 0;    // of that: parameters, and outputs that do not lie in the response
  int64_t version = -1;
  uint64_t arrival_ns = 0;  // when the request came
  tritonts_timings timings = {};
  tritonts::c_api::Call call;  // unless it is final
  std::span<Output> outputs;   // behind this
  struct Parameters {
    struct One {
      tritonts_parameter view = {};
      int32_t flag = 0;  // the value, if it is a bool
    };
    tritonts::ResponseParameters all;  // have the names and values
    std::vector<One> views;
    tritonts::ParameterNames names;
    uint64_t bytes = 0;  // that they count
  };
  std::unique_ptr<const Parameters> parameters;  // null: it has none
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

// Gives responses their memory, which those that are made one after the other share. Lives on the
// stack of a delivery. No response may be deleted before the end of this object, or Close.
class ResponseBlocks {
 public:
  // `coming`: how many responses will be made at most.
  explicit ResponseBlocks(size_t coming) : coming_(coming) {}
  ~ResponseBlocks() { Close(); }
  ResponseBlocks(const ResponseBlocks&) = delete;
  ResponseBlocks& operator=(const ResponseBlocks&) = delete;

  // Memory of at least this size, aligned to 64 bytes, in `*block`. Null: there is none.
  char* Take(const std::shared_ptr<const Binding>& binding, size_t size,
             ResponseBlock** block) noexcept;
  void Close() noexcept {
    if (block_) block_->responses.store(taken_, std::memory_order_relaxed);
    block_ = nullptr;
  }

 private:
  static constexpr size_t kMostTogether = 16;
  static constexpr size_t kMostBytes = 16384;  // of a block of several

  ResponseBlock* block_ = nullptr;  // that is not full
  char* at_ = nullptr;
  size_t left_ = 0;
  uint32_t taken_ = 0;
  size_t coming_;
};

struct ResponseParts {
  const std::shared_ptr<const Binding>* binding = nullptr;
  const Status* status = nullptr;
  std::span<const OutputTensor> outputs = {};
  ResponseParameters parameters = {};
  const OutputShapes* shapes = nullptr;
  size_t number = 0;  // of alike responses; their bytes follow each other
  std::span<const OutputTarget> targets = {};
  const BatchTimings* timings = nullptr;
  uint64_t arrival_ns = 0;
};

// Null: there is no memory. Outputs with a target are copied there, unless they are there already.
tritonts_response* MakeResponse(const ResponseParts& parts, ResponseBlocks* blocks) noexcept;
// Frees the memory of its outputs, and what they count. Names, dims and parameters stay.
void ForgetOutputs(tritonts_response* response) noexcept;
// Frees it, and what it counts. Null is ignored.
void DeleteResponse(tritonts_response* response) noexcept;

}  // namespace tritonts::c_api
