// Deliveries: responses on their way to their sinks, with the memory that keeps their outputs
// alive.
//
// A run's pool owns the unused deliveries. A delivery in use belongs to the thread that delivers
// it, or to the version's response order while it is held there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/batch/response_order.h"
#include "engine/batch/run_outputs.h"
#include "engine/request/response_sink.h"

namespace tritonts {

// Vectors keep their capacity between uses.
struct Delivery : OrderedResponses {
  BatchTimings timings;
  std::vector<OutputTensor> outputs;
  std::vector<size_t> output_counts;  // for each response
  KeptOutputs kept;                   // for the batch's keeper
  std::vector<Response> responses;
  struct Uncounted {
    uint32_t response;
    uint32_t position;
  };
  std::vector<Uncounted> uncounted;  // responses to be counted after their outputs were fetched
  std::vector<uint32_t> open;        // requests that are not done after this response
  std::vector<BlockRef> blocks;      // keep the outputs alive
  std::vector<BlockRef> copies;      // keep fetched copies of outputs alive
  std::vector<int64_t> shapes;       // of the outputs, if the delivery is held
  size_t finals = 0;
  bool empty = false;   // no response, only the end of the requests
  bool alike = false;   // one response for all requests; `responses` is empty
  bool spoilt = false;  // no memory to hold the outputs: the responses become errors

  // Clears all fields but `open`.
  void Clear();
};

// Guarded by the run's lock.
class DeliveryPool {
 public:
  // Returns a delivery with the given capacities. Null: out of memory.
  Delivery* Take(size_t responses, size_t outputs, size_t blocks, size_t kept);
  // Does not allocate.
  void Return(Delivery* delivery) { unused_.emplace_back(delivery); }

 private:
  std::vector<std::unique_ptr<Delivery>> unused_;  // has capacity for all deliveries
  size_t made_ = 0;
};

}  // namespace tritonts
