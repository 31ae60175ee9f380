// The receiver of responses: a port, a step of an ensemble, a C caller, a test.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/datatype.h"
#include "engine/base/status.h"
#include "engine/memory/buffer.h"
#include "engine/memory/memory_copier.h"
#include "engine/request/request.h"

namespace tritonts {

// When the batch of a request ran. Statistics add up the same numbers.
struct BatchTimings {
  uint64_t batch = 0;  // its number, unique in its model version
  uint32_t batch_size = 0;
  uint64_t exec_start_ns = 0;
  uint64_t compute_start_ns = 0;
  uint64_t compute_end_ns = 0;
  uint64_t exec_end_ns = 0;
};

// One output of one response. The shape is `batch` (unless it is negative) followed by `tail`.
struct OutputTensor {
  uint32_t index = 0;  // position in the model's outputs
  DataType datatype = DataType::kInvalid;
  int64_t batch = -1;
  std::span<const int64_t> tail;
  const void* data = nullptr;
  size_t size = 0;
  MemoryKind kind = MemoryKind::kHost;
  // Keeps `data` alive; not owned here. Everything in a response is valid until Deliver returns. A
  // sink that needs an output for longer copies it, or shares the block.
  Block* block = nullptr;
};

struct Response {
  Request* request = nullptr;
  Status status;  // not ok: there are no outputs
  std::span<const OutputTensor> outputs;
  ResponseParameters parameters = {};     // null unless the status is ok
  const BatchTimings* timings = nullptr;  // null if the request never ran
  bool final = true;
  // Of a decoupled model: the request ends without a further response. `final` is set, and `status`
  // is ok.
  bool empty = false;
  // Bytes that the response counts in the request's StreamCount until it is read; 0: not counted.
  uint64_t counted = 0;
  // Refused because a queue is full, or by the limit of bytes in flight: may be retried later.
  bool limited = false;
  // The version refused the request because it closes or is gone. Another version may take it. Such
  // a response is delivered before Submit returns, on the submitting thread.
  bool unserved = false;
  // The run was abandoned but may still execute. So the sink must abandon the request unchanged,
  // too, with the memory of its inputs (abandon.h).
  bool abandoned = false;
};

// Responses of one batch that differ only in their bytes. They are ok and final, without
// parameters, and their outputs have equal shapes and lie in host memory, or in other memory that
// the sink takes.
struct AlikeResponses {
  std::span<Request* const> requests;  // all of one sink
  // `batch` and `size` are those of one request. `data` has the bytes of all requests, one after
  // the other.
  std::span<const OutputTensor> outputs;
  const BatchTimings* timings;
};

// Alike responses as single ones, which refer to the same bytes.
class ExpandedResponses {
 public:
  // Throws std::bad_alloc.
  explicit ExpandedResponses(const AlikeResponses& alike);
  std::span<const Response> responses() const { return responses_; }

 private:
  std::vector<OutputTensor> outputs_;
  std::vector<Response> responses_;
};

class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  // Takes responses to requests of this sink. It is called on any thread, with no lock of the
  // engine held, and does not throw. After a final response the request is the sink's again: the
  // engine does not touch it any more. After the last final response the engine does not touch the
  // sink either.
  virtual void Deliver(std::span<const Response> responses) = 0;
  // The same for responses that are alike. By default they are expanded and passed to Deliver. May
  // throw std::bad_alloc if it took none of them.
  virtual void DeliverAlike(const AlikeResponses& responses);
  // Where to write `size` bytes of output `output` of a request: a page, the caller's own memory, a
  // region of shared memory; if possible of kind `preferred`. A buffer without data says that the
  // sink has no place of its own. It is called on any thread, with no lock held, before the
  // response that carries the output, and does not throw.
  virtual Buffer Place(const Request& request, uint32_t output, size_t size, MemoryKind preferred);
  // Whether the sink accepts output `output` of a request in memory of this kind on this device. If
  // not, the output is copied to host memory first. It is called on any thread while the request is
  // in a run. It takes no lock, and its answer never changes.
  virtual bool Takes(const Request&, uint32_t /*output*/, MemoryKind kind, int /*device*/) const {
    return IsPrivateHostMemory(kind);
  }
};

// Delivers the response `like` to each of these requests: in one delivery if there is memory for
// that, else in several. Any thread may call it, with no lock held.
void DeliverEach(std::span<Request* const> requests, const Response& like);

// Delivers each sequence of responses that have the same sink with one call. Any thread may call
// it, with no lock held.
void DeliverAll(std::span<const Response> responses);

}  // namespace tritonts
