// A layer around a model version or an ensemble, such as a response cache. It sees
// requests before they are queued and responses before they are delivered, and may answer requests
// itself. The layers of an executor form a chain (version/layers.h). Requests pass the outermost
// layer first, and responses pass it last.
//
//   sender --> Submit --> layer 0 --> layer 1 --> the version
//   sink   <------------ layer 0 <-- layer 1 <-- its responses
//
// A submitted request belongs to the layer until the layer passes it on or answers it, exactly
// once. The layer may do so later and from any thread. It never writes to the header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/status.h"
#include "engine/request/response_sink.h"

namespace tritonts {

struct InlineTime;

// Forwards requests and responses from one layer to the next. The chain implements it.
class LayerChain {
 public:
  virtual void PassOn(size_t place, std::span<Request* const> requests, uint64_t now_ns,
                      InlineTime* inline_time) noexcept = 0;
  virtual void PassCancel(size_t place, std::span<Request* const> requests) noexcept = 0;
  virtual void PassBack(size_t place, std::span<const Response> responses) noexcept = 0;
  virtual void PassBackAlike(size_t place, const AlikeResponses& alike) noexcept = 0;
  // Requests of the executor whose final response was not delivered yet, with those of the present
  // call of Submit.
  virtual uint64_t inside() const noexcept = 0;

 protected:
  ~LayerChain() = default;
};

// What a layer adds to the statistics of its version: the requests that it answered itself. A hit
// is a request that a cache answered; it counts as a success. A miss is a request that ran,
// although a cache could have answered it.
struct LayerCounts {
  uint64_t hits = 0;
  uint64_t hit_ns = 0;  // of their look-ups
  uint64_t misses = 0;
  uint64_t miss_ns = 0;     // of their look-ups and insertions
  uint64_t insert_ns = 0;   // part of `miss_ns`
  uint64_t request_ns = 0;  // of hits, from their arrival to their answer
  uint64_t queue_ns = 0;    // of hits, from their arrival to their look-up
  uint64_t failed = 0;
  uint64_t failed_ns = 0;
  uint64_t cancelled = 0;       // part of `failed`
  uint64_t backend_failed = 0;  // likewise
};

// Ownership: the executor owns its layers, and destroys them when no request is in them. A
// destructor waits for the layer's own calls of Pass, PassCancel and Answer. It may run on the JS
// thread.
//
// Any thread may call any function, several at a time. No lock of the engine is held.
class Layer {
 public:
  virtual ~Layer() = default;

  // Takes requests (kSubmitted). Requests of one header are adjacent. `inline_time` may be given to
  // Pass only until this returns.
  virtual void Submit(std::span<Request* const> requests, uint64_t now_ns,
                      InlineTime* inline_time) noexcept {
    Pass(requests, now_ns, inline_time);
  }
  // Cancels requests that this layer holds, has passed on, or has answered. The layer answers held
  // requests with CANCELLED, and passes the call on for the others. A request that is passed on
  // concurrently is cancelled by its receiver.
  virtual void Cancel(std::span<Request* const> requests) noexcept { PassCancel(requests); }
  // Sees responses of the version or of an inner layer on their way to the sink. All belong to one
  // header. Outputs are valid until this returns.
  virtual void See(std::span<const Response>) noexcept {}
  // The version is aborted: the layer answers all requests that it holds with `status`.
  virtual void Abort(const Status&) noexcept {}
  // The executor may give other answers from now on than before, as an ensemble does that was bound
  // to other versions.
  virtual void Renew() noexcept {}
  // No request comes any more, and none is in the layer. Called once, on a thread that may wait,
  // some time before the destructor. Not called if the process exits.
  virtual void Retire() noexcept {}
  // Adds the requests that this layer has answered. They count before they are answered.
  virtual void AddTo(LayerCounts*) const noexcept {}

 protected:
  // Passes requests on. A request that arrives after its version was closed ends as UNAVAILABLE.
  void Pass(std::span<Request* const> requests, uint64_t now_ns,
            InlineTime* inline_time = nullptr) noexcept {
    chain_->PassOn(place_ + 1, requests, now_ns, inline_time);
  }
  uint64_t inside() const noexcept { return chain_->inside(); }
  void PassCancel(std::span<Request* const> requests) noexcept {
    chain_->PassCancel(place_ + 1, requests);
  }
  // Answers requests that this layer holds. Outer layers see the responses. The caller must not
  // touch a request after its final response, nor a header after the last final response of its
  // requests.
  void Answer(std::span<const Response> responses) noexcept {
    for (const Response& response : responses) {
      if (response.final) response.request->set_state(Request::State::kDone);
    }
    chain_->PassBack(place_, responses);
  }
  // The same for requests of one header whose responses are alike.
  void AnswerAlike(const AlikeResponses& alike) noexcept {
    for (Request* request : alike.requests) request->set_state(Request::State::kDone);
    chain_->PassBackAlike(place_, alike);
  }

 private:
  friend class Layers;
  LayerChain* chain_ = nullptr;  // set when the layer joins the chain
  size_t place_ = 0;
};

}  // namespace tritonts
