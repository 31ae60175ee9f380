// The layers around one executor (request/layer.h), and the requests inside of them.
//
// While requests of a header are inside, a LayerSink replaces the header's sink. It shows the
// responses to the layers and delivers them to the sender's sink. Before the last final response of
// the header is delivered, the sender's sink is restored.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/request/layer.h"

namespace tritonts {

class Layers;

// Owned by the chain, which reuses it. After an abandoned response it is never reused, because the
// abandoned run may still call it.
class LayerSink final : public ResponseSink {
 public:
  explicit LayerSink(Layers* layers) : layers_(layers) {}

  void Deliver(std::span<const Response> responses) override;
  void DeliverAlike(const AlikeResponses& alike) override;
  Buffer Place(const Request& request, uint32_t output, size_t size,
               MemoryKind preferred) override {
    return behind->Place(request, output, size, preferred);
  }
  bool Takes(const Request& request, uint32_t output, MemoryKind kind, int device) const override {
    return behind->Takes(request, output, kind, device);
  }

  ResponseSink* behind = nullptr;  // the sender's sink; not owned
  std::atomic<uint32_t> open{0};   // requests of the header without a final response
  std::atomic<bool> abandoned{false};
  uint64_t submission = 0;    // the call of Submit that submitted the requests
  LayerSink* next = nullptr;  // in the list of free sinks

 private:
  Layers* const layers_;
};

// Any thread may call any function, except Add.
class Layers final : public LayerChain {
 public:
  // The executor's functions behind the innermost layer, and its notifications.
  struct Inside {
    std::function<void(std::span<Request* const>, uint64_t now_ns, InlineTime*)> submit;
    std::function<void(std::span<Request* const>)> cancel;
    // So many requests entered, or got their final responses. The executor counts them as users.
    std::function<void(uint32_t)> came;
    std::function<void(uint32_t)> left;
    // No request is inside any more.
    std::function<void()> idle;
  };
  Layers(Inside inside, Status no_memory);
  ~Layers();

  // Adds the innermost layer. Before any request comes. Throws std::bad_alloc.
  void Add(std::unique_ptr<Layer> layer);

  void Submit(std::span<Request* const> requests, uint64_t now_ns,
              InlineTime* inline_time) noexcept;
  void Cancel(std::span<Request* const> requests) noexcept { PassCancel(0, requests); }
  // Lets every layer respond to the requests that it holds.
  void Abort(const Status& status) noexcept;
  void Retire() noexcept {
    for (const auto& layer : layers_) layer->Retire();
  }
  void Renew() noexcept {
    for (const auto& layer : layers_) layer->Renew();
  }
  void Identify(const std::string& identity) {
    for (const auto& layer : layers_) layer->Identify(identity);
  }
  // What the layers have answered themselves.
  LayerCounts counts() const noexcept;
  // Whether no request is inside.
  bool idle() const { return open_.load(std::memory_order_acquire) == 0; }

  void PassOn(size_t place, std::span<Request* const> requests, uint64_t now_ns,
              InlineTime* inline_time) noexcept override;
  void PassCancel(size_t place, std::span<Request* const> requests) noexcept override;
  void PassBack(size_t place, std::span<const Response> responses) noexcept override;
  void PassBackAlike(size_t place, const AlikeResponses& alike) noexcept override;
  uint64_t inside() const noexcept override { return open_.load(std::memory_order_acquire); }

 private:
  friend class LayerSink;

  // Takes a free sink, or makes one. Null: there is no memory.
  LayerSink* Take() noexcept;
  void PutBack(LayerSink* sink) noexcept;
  // Shows responses of one header to the layers outside of `place`, and delivers them.
  void Leave(LayerSink* sink, size_t place, std::span<const Response> responses) noexcept;
  // The same for responses that are alike. Throws std::bad_alloc if it took none of them.
  void LeaveAlike(LayerSink* sink, size_t place, const AlikeResponses& alike);
  // Notes that requests of a header get their final response. With the last one, the sender's sink
  // is restored. This precedes the delivery: after it the sender owns the header.
  void NoteFinals(LayerSink* sink, RequestHeader* header, uint32_t finals);
  // Notes the same after the delivery.
  void NoteDelivered(uint32_t finals);

  const Inside inside_;
  const Status no_memory_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::atomic<uint64_t> open_{0};

  std::mutex mutex_;  // guards all below
  std::vector<std::unique_ptr<LayerSink>> sinks_;
  LayerSink* free_ = nullptr;
};

}  // namespace tritonts
