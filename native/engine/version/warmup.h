// Warm-up: sample batches that run on each instance of a version before the version serves
// (Triton's model_warmup).
//
// A sample is a batch of equal requests, each of one row where the model batches. They go straight
// to an instance (model_version_warmup.cc), bypassing the scheduler. Statistics count them like
// other requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/base/datatype.h"
#include "engine/base/status.h"
#include "engine/memory/pool.h"
#include "engine/request/request.h"
#include "engine/request/response_sink.h"

namespace tritonts {

// One input of a sample. TypeScript has checked it against the model.
struct WarmupInput {
  enum class Data : uint8_t { kZero, kRandom, kGiven };

  uint32_t index = 0;  // position in the model's inputs
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> shape;  // full, with 1 first where the model batches
  Data data = Data::kZero;
  size_t size = 0;                           // bytes of one request
  std::shared_ptr<const std::string> given;  // kGiven: the bytes
};

struct WarmupSample {
  std::string name;
  uint32_t batch_size = 0;  // requests that run together; 0: the sample is left out
  uint32_t count = 1;       // how many times the sample runs on each instance
  std::vector<WarmupInput> inputs;
};

// The requests of one sample, and the sink of their responses. All requests share the same input
// memory.
//
// Only the owner uses it, except Deliver, which the thread that runs the batch calls. The owner may
// reuse it when the batch is done.
class WarmupRequests final : public ResponseSink {
 public:
  // Requests to `version`, which outlives them. Throws std::bad_alloc.
  WarmupRequests(const WarmupSample& sample, Executor* version);

  // Not ok: there is no memory for the inputs, or the given bytes do not have their size.
  const Status& made() const { return made_; }
  std::span<Request* const> requests() const { return requests_; }
  // Sets the requests to queued, with arrival time `now_ns`. Clears the last outcome.
  void Prepare(uint64_t now_ns);
  // The first error that a request of the last run ended with.
  Status outcome() const;

  void Deliver(std::span<const Response> responses) override;

 private:
  BlockRef MakeData(const WarmupInput& input, uint64_t seed);

  BlockPool pool_{0};
  std::vector<BlockRef> data_;
  std::vector<RequestHeader> headers_;
  std::deque<Request> owned_;
  std::vector<Request*> requests_;
  Status made_;

  mutable std::mutex mutex_;  // guards outcome_
  Status outcome_;
};

}  // namespace tritonts
