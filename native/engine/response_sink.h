// Where responses go: a port, an ensemble's step, a C caller, a test.
#pragma once

#include <cstdint>
#include <span>

#include "buffer.h"
#include "datatype.h"
#include "request.h"
#include "status.h"

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
  static constexpr uint32_t kAllParts = ~0u;

  Request* request = nullptr;
  // Which of the request's parts it answers. They are answered in order: the request ends with the
  // final response to the last one.
  uint32_t part = kAllParts;
  Status status;  // not ok: no outputs
  std::span<const OutputTensor> outputs;
  const BatchTimings* timings = nullptr;  // null where the request never ran
  bool final = true;
  bool limited = false;  // refused for the limit of bytes in flight: worth another try later
  // The run was given up but may go on: the sink keeps the request as it is, and all the memory of
  // its inputs, for the life of the process (leak.h).
  bool abandoned = false;

  uint32_t parts() const { return part == kAllParts ? request->parts : 1; }
  bool ends_request() const { return final && (part == kAllParts || part + 1 == request->parts); }
};

// Answers of one batch that differ in their bytes alone: ok, final, and with outputs of one shape.
struct AlikeResponses {
  std::span<Request* const> requests;  // of one sink
  size_t parts;                        // of all of them
  // `batch` and `size` are those of one part of a request; `data` has all parts one after the
  // other.
  std::span<const OutputTensor> outputs;
  const BatchTimings* timings;
};

class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  // Takes responses to requests of this sink. Called on any thread, with no lock of the engine
  // held. After a final response the request is the sink's again, and the engine touches neither
  // it nor (once no request of it is left) the sink.
  virtual void Deliver(std::span<const Response> responses) = 0;
  // The same for many that are alike; a sink that makes nothing of that gets them one by one.
  virtual void DeliverAlike(const AlikeResponses& responses);
};

// Hands runs of responses with the same sink to it. Any thread, no lock held.
void DeliverAll(std::span<const Response> responses);

}  // namespace tritonts
