// The interface that takes requests and responds to them. A model version and an ensemble are
// executors. Ports and other senders of requests know only this interface.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/memory/memory_copier.h"
#include "engine/request/request.h"

namespace tritonts {

class CallPlaces;
struct InlineTime;
struct ModelIo;

// Any thread may call any function; an InlineTime belongs to one thread (inline_time.h). Nothing
// throws: if there is no memory, requests end as UNAVAILABLE.
class Executor {
 public:
  virtual ~Executor() = default;
  // --- For the sender that prepares a request. The results do not change while the executor
  // serves, except that a new binding of an ensemble changes KnownOutputBytes.
  virtual const std::string& name() const = 0;  // of the model
  virtual const ModelIo& io() const = 0;
  // Whether a request may get any number of responses (Triton: decoupled). Its sender then sets
  // RequestHeader::streams if its callers read at their own pace.
  virtual bool decoupled() const { return false; }
  // The output bytes of a request of `rows` rows, without outputs whose size is not known
  // beforehand.
  virtual uint64_t KnownOutputBytes(uint64_t rows) const = 0;
  // Sets the header's keys for the scheduler: shape_key, level and deadline_ns. Inputs, priority,
  // time-out and arrival must be set before.
  virtual void SetQueueKeys(RequestHeader* header) const = 0;

  // Whether requests may have input `input` in memory of this kind on this device. Called only
  // after the start; the answer does not change.
  virtual bool Takes(uint32_t /*input*/, MemoryKind kind, int /*device*/) const {
    return IsHostMemory(kind);
  }

  // Whether all its instances compute on this device, and none elsewhere. Called only after the
  // start; the answer does not change.
  virtual bool RunsOn(int /*device*/) const { return false; }

  // The places of batches that may make calls themselves (call_graph.h); null: its batches make
  // none. Calls are admitted with these places before they are submitted.
  virtual std::shared_ptr<CallPlaces> call_places() const { return nullptr; }

  // Memory for a large input of a request to this executor; empty: any memory will do
  // (Model::InputBlock).
  virtual BlockRef InputBlock(size_t) { return {}; }

  // --- Requests. Takes prepared requests (kSubmitted) of one tick that arrived at `now_ns`. Each
  // request ends with a final response, even if it is refused here. With `inline_time`, which
  // belongs to the calling JS thread, short batches run before this returns, within the version's
  // budget.
  virtual void Submit(std::span<Request* const> requests, uint64_t now_ns,
                      InlineTime* inline_time = nullptr) noexcept = 0;
  // Cancels requests that were submitted here. Waiting requests end at once as CANCELLED, with one
  // delivery. Running requests get CANCELLED as their final response, and their outputs are
  // dropped. Requests that have already ended may be among them, as long as their memory exists.
  virtual void Cancel(std::span<Request* const> requests) noexcept = 0;
};

}  // namespace tritonts
