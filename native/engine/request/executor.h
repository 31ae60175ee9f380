// Who takes requests and responds to them: a model version is one, a graph of models another. Ports
// and other senders of requests know no more of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/request/request.h"

namespace tritonts {

struct InlineTick;
struct ModelIo;

// Any thread, but for what is said of ticks. Neither throws: where memory is wanting, requests end
// as UNAVAILABLE.
class Executor {
 public:
  virtual ~Executor() = default;
  // --- What who prepares requests for it has to know. Nothing of it changes while it serves.
  virtual const std::string& name() const = 0;  // of the model
  virtual const ModelIo& io() const = 0;
  // Bytes of outputs that a request of `rows` rows will have, as far as they are known beforehand.
  virtual uint64_t KnownOutputBytes(uint64_t rows) const = 0;
  // Fills in what a scheduler compares (shape_key); inputs must be set.
  virtual void SetShapeKey(RequestHeader* header) const = 0;

  // --- Requests.
  // Takes requests that are prepared (kSubmitted), of one tick that arrived at `now_ns`; each ends
  // with a final response, also when it is refused here. With a tick, a JS thread's, short batches
  // are run before this returns, within the budget.
  virtual void Submit(std::span<Request* const> requests, uint64_t now_ns,
                      InlineTick* tick = nullptr) = 0;
  // Cancels requests that it took: those that wait end at once as CANCELLED, together; of those
  // that run, what comes of them is dropped, and their final response is CANCELLED. Those that
  // ended already may be among them, as long as their memory is there.
  virtual void Cancel(std::span<Request* const> requests) = 0;
};

}  // namespace tritonts
