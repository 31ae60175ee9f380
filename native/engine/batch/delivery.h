// Responses on their way to their sinks, with the memory that keeps their outputs alive.
//
// A run's pool owns the deliveries that are unused. One that is under way belongs to the thread
// that delivers it, or to the version's order while it is held there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/batch/response_order.h"
#include "engine/batch/run_outputs.h"
#include "engine/request/response_sink.h"

namespace tritonts {

// Its vectors are kept allocated between uses.
struct Delivery : OrderedResponses {
  BatchTimings timings;
  std::vector<OutputTensor> outputs;
  std::vector<size_t> output_counts;  // by response
  KeptOutputs kept;                   // for the batch's keeper
  std::vector<Response> responses;
  struct Uncounted {
    uint32_t response;
    uint32_t position;
  };
  std::vector<Uncounted> uncounted;  // responses not counted yet: outputs must be fetched
  std::vector<uint32_t> open;        // requests that go on after this response
  std::vector<BlockRef> blocks;      // keep the outputs alive
  std::vector<BlockRef> copies;      // keep fetched copies of outputs alive
  std::vector<int64_t> shapes;       // of the outputs, if they are held
  size_t finals = 0;
  bool empty = false;   // no response, but the end of the requests
  bool alike = false;   // one response for all requests; `responses` is empty
  bool spoilt = false;  // there was no memory to hold the outputs: they become errors

  // All but `open`.
  void Clear();
};

// Called with the run's lock.
class DeliveryPool {
 public:
  // A delivery with room for this much. Null: there is no memory.
  Delivery* Take(size_t responses, size_t outputs, size_t blocks, size_t kept);
  // Does not allocate.
  void Return(Delivery* delivery) { unused_.emplace_back(delivery); }

 private:
  std::vector<std::unique_ptr<Delivery>> unused_;  // has capacity for all
  size_t made_ = 0;
};

}  // namespace tritonts
