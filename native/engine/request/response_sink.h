// Where responses go: a port, an ensemble's step, a C caller, a test.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/datatype.h"
#include "engine/base/status.h"
#include "engine/memory/buffer.h"
#include "engine/memory/memory_copier.h"
#include "engine/request/request.h"

namespace tritonts {

// Durations of the batch that a request ran in; the same numbers that statistics add up.
struct BatchTimings {
  uint64_t batch = 0;  // number of the batch, unique in its model version
  uint32_t batch_size = 0;
  uint64_t exec_start_ns = 0;
  uint64_t compute_start_ns = 0;
  uint64_t compute_end_ns = 0;
  uint64_t exec_end_ns = 0;
};

// One output of one response. The shape is `batch` (where it is not negative) followed by `tail`.
struct OutputTensor {
  uint32_t index = 0;  // position in the model's outputs
  DataType datatype = DataType::kInvalid;
  int64_t batch = -1;
  std::span<const int64_t> tail;
  const void* data = nullptr;
  size_t size = 0;
  MemoryKind kind = MemoryKind::kHost;
  // Keeps `data`; not owned here. All of a response is valid until Deliver returns: a sink that
  // keeps an output longer shares the block, one that does not copies.
  Block* block = nullptr;
};

struct Response {
  Request* request = nullptr;
  Status status;  // not ok: no outputs
  std::span<const OutputTensor> outputs;
  const BatchTimings* timings = nullptr;  // null where the request never ran
  bool final = true;
  bool limited = false;  // refused for the limit of bytes in flight: worth another try later
  // Refused because the version closes or is gone, and nothing was done with it: another version
  // may take it. Such an answer comes before Submit returns, on its thread.
  bool unserved = false;
  // The run was abandoned but may go on: the sink keeps the request as it is, and all the memory of
  // its inputs, for the life of the process (abandon.h).
  bool abandoned = false;
};

// Responses of one batch that differ in their bytes alone: ok, final, and with outputs of one
// shape, which lie in host memory.
struct AlikeResponses {
  std::span<Request* const> requests;  // of one sink
  // `batch` and `size` are those of one request; `data` has all of them one after the other.
  std::span<const OutputTensor> outputs;
  const BatchTimings* timings;
};

class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  // Takes responses to requests of this sink. Called on any thread, with no lock of the engine
  // held. After a final response the request is the sink's again, and the engine touches neither
  // it nor (once no request of it is left) the sink. Does not throw.
  virtual void Deliver(std::span<const Response> responses) = 0;
  // The same for many that are alike; a sink that makes nothing of that gets them one by one. May
  // throw std::bad_alloc, and then took none.
  virtual void DeliverAlike(const AlikeResponses& responses);
  // Where output `output` of a request is to be written, of `size` bytes: a page, a caller's own
  // memory, a region of shared memory; best of kind `preferred`. Without data: the sink has no
  // place of its own. Any thread, no lock held, before the response that the output is part of.
  virtual Buffer Place(const Request& request, uint32_t output, size_t size, MemoryKind preferred);
  // Whether it takes outputs that lie in memory of this kind; others are copied to host memory
  // before it gets them. Any thread.
  virtual bool Takes(MemoryKind kind) const { return IsHostMemory(kind); }
};

// Gives each of these requests the response `like`, together where there is memory for that, else
// some at a time. Any thread, no lock held.
void DeliverEach(std::span<Request* const> requests, const Response& like);

// Hands runs of responses with the same sink to it. Any thread, no lock held.
void DeliverAll(std::span<const Response> responses);

}  // namespace tritonts
