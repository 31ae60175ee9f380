// A layer around a model version or an ensemble: it sees requests before they are queued and
// responses before they are delivered, and may answer requests itself. What a response cache and a
// trace are. The layers of an executor form a chain (version/layers.h); requests pass the outermost
// layer first, responses pass it last.
//
//   sender --> Submit --> layer 0 --> layer 1 --> the version
//   sink   <------------ layer 0 <-- layer 1 <-- its responses
//
// A request that came in belongs to the layer until the layer passes it on or answers it, each
// exactly once. The layer may do so later and from any thread. It never writes to the header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/status.h"
#include "engine/request/response_sink.h"

namespace tritonts {

struct InlineTick;

// Where a layer's requests and responses go on. The chain implements it.
class LayerChain {
 public:
  virtual void PassOn(size_t place, std::span<Request* const> requests, uint64_t now_ns,
                      InlineTick* tick) noexcept = 0;
  virtual void PassCancel(size_t place, std::span<Request* const> requests) noexcept = 0;
  virtual void PassBack(size_t place, std::span<const Response> responses) noexcept = 0;

 protected:
  ~LayerChain() = default;
};

// Ownership: the executor owns its layers, and destroys them when no request is in them. A
// destructor waits for the layer's own calls of Pass, PassCancel and Answer. It may run on the JS
// thread.
//
// Any thread may call any function, several at a time. No lock of the engine is held.
class Layer {
 public:
  virtual ~Layer() = default;

  // Takes requests (kSubmitted); those of one header stand together. `tick` is only for calls of
  // Pass before this returns.
  virtual void Submit(std::span<Request* const> requests, uint64_t now_ns,
                      InlineTick* tick) noexcept {
    Pass(requests, now_ns, tick);
  }
  // Cancels requests, which this layer may have, have passed on, or have answered. It answers those
  // that it has with CANCELLED, and passes the call on for the others. A request that is passed on
  // at the same time is cancelled where it arrives.
  virtual void Cancel(std::span<Request* const> requests) noexcept { PassCancel(requests); }
  // Responses of the version or of a layer further inside, on their way to the sink. All are of one
  // header. Outputs are valid until this returns.
  virtual void See(std::span<const Response>) noexcept {}
  // The version is aborted: the layer answers all requests that it has with `status`.
  virtual void Abort(const Status&) noexcept {}

 protected:
  // Passes requests on. One that arrives after its version was closed ends as UNAVAILABLE.
  void Pass(std::span<Request* const> requests, uint64_t now_ns,
            InlineTick* tick = nullptr) noexcept {
    chain_->PassOn(place_ + 1, requests, now_ns, tick);
  }
  void PassCancel(std::span<Request* const> requests) noexcept {
    chain_->PassCancel(place_ + 1, requests);
  }
  // Answers requests that this layer has. Layers further outside see the responses. After a final
  // response the request, and after the last one of a header the header, is not touched any more.
  void Answer(std::span<const Response> responses) noexcept {
    for (const Response& response : responses) {
      if (response.final) response.request->set_state(Request::State::kDone);
    }
    chain_->PassBack(place_, responses);
  }

 private:
  friend class Layers;
  LayerChain* chain_ = nullptr;  // set when the layer becomes part of it
  size_t place_ = 0;
};

}  // namespace tritonts
