// The layers around one executor (request/layer.h), and the requests that are inside of them.
//
// While requests of a header are inside, a LayerSink stands in the place of the header's sink. It
// shows the responses to the layers, and delivers them to the sender's sink. With the last final
// response of the header the sender's sink is back in its place.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/request/layer.h"

namespace tritonts {

class Layers;

// Owned by the chain, which reuses it. An abandoned run may still call it, so it is never used
// again then.
class LayerSink final : public ResponseSink {
 public:
  explicit LayerSink(Layers* layers) : layers_(layers) {}

  void Deliver(std::span<const Response> responses) override;
  Buffer Place(const Request& request, uint32_t output, size_t size,
               MemoryKind preferred) override {
    return behind->Place(request, output, size, preferred);
  }
  bool Takes(const Request& request, uint32_t output, MemoryKind kind, int device) const override {
    return behind->Takes(request, output, kind, device);
  }

  ResponseSink* behind = nullptr;  // the sender's; not owned
  std::atomic<uint32_t> open{0};   // requests of the header without a final response
  std::atomic<bool> abandoned{false};
  uint64_t submission = 0;    // the call of Submit that they came with
  LayerSink* next = nullptr;  // among the free ones

 private:
  Layers* const layers_;
};

// Any thread may call any function, except Add.
class Layers final : public LayerChain {
 public:
  // What is inside of the innermost layer, and how the executor learns that requests have left.
  struct Inside {
    std::function<void(std::span<Request* const>, uint64_t now_ns, InlineTick*)> submit;
    std::function<void(std::span<Request* const>)> cancel;
    // Requests came in, or got their final responses. The executor counts them as users.
    std::function<void(uint32_t)> came;
    std::function<void(uint32_t)> left;
    // No request is inside any more.
    std::function<void()> idle;
  };
  Layers(Inside inside, Status no_memory);
  ~Layers();

  // Adds the innermost layer. Before any request comes. Throws std::bad_alloc.
  void Add(std::unique_ptr<Layer> layer);

  void Submit(std::span<Request* const> requests, uint64_t now_ns, InlineTick* tick) noexcept;
  void Cancel(std::span<Request* const> requests) noexcept { PassCancel(0, requests); }
  // Lets every layer answer the requests that it has.
  void Abort(const Status& status) noexcept;
  // Whether no request is inside.
  bool idle() const { return open_.load(std::memory_order_acquire) == 0; }

  void PassOn(size_t place, std::span<Request* const> requests, uint64_t now_ns,
              InlineTick* tick) noexcept override;
  void PassCancel(size_t place, std::span<Request* const> requests) noexcept override;
  void PassBack(size_t place, std::span<const Response> responses) noexcept override;

 private:
  friend class LayerSink;

  // Null: there is no memory.
  LayerSink* Take() noexcept;
  void PutBack(LayerSink* sink) noexcept;
  // Shows responses of one header to the layers outside of `place`, and delivers them.
  void Leave(LayerSink* sink, size_t place, std::span<const Response> responses) noexcept;

  const Inside inside_;
  const Status no_memory_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::atomic<uint64_t> open_{0};

  std::mutex mutex_;  // guards all below
  std::vector<std::unique_ptr<LayerSink>> sinks_;
  LayerSink* free_ = nullptr;
};

}  // namespace tritonts
