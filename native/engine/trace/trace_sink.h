// The sink of traced requests, between the engine and their sender's sink. It notes what their
// responses say, and passes the responses on.
//
// While requests of a header are inside, it replaces the header's sink. Before the last final
// response of the header is delivered, the sender's sink is restored.
//
// Ownership: it owns itself, and frees itself after the last final response. After an abandoned
// response it stays for ever, because the abandoned run may still call it. Threads: any thread may
// call any function.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "engine/request/response_sink.h"

namespace tritonts {

class TraceSink final : public ResponseSink {
 public:
  // Puts a sink around these requests of one header, whose traces (HeaderTraces::own) are set.
  // `runs`: their executor runs batches of its own. Throws std::bad_alloc.
  static void Enclose(std::span<Request* const> requests, bool runs);

  void Deliver(std::span<const Response> responses) override;
  void DeliverAlike(const AlikeResponses& alike) override;
  Buffer Place(const Request& request, uint32_t output, size_t size,
               MemoryKind preferred) override {
    return behind_->Place(request, output, size, preferred);
  }
  bool Takes(const Request& request, uint32_t output, MemoryKind kind, int device) const override {
    return behind_->Takes(request, output, kind, device);
  }

 private:
  TraceSink(RequestHeader* header, uint32_t requests, bool runs);
  ~TraceSink() override = default;

  // Notes a response, which has these outputs. `at` is its place among alike ones.
  void Note(const Response& response, size_t at, uint64_t now_ns);
  // Notes that requests got their final response. True: these were the last ones, and the sender's
  // sink is restored.
  bool Leave(uint32_t finals);

  RequestHeader* const header_;
  ResponseSink* const behind_;  // the sender's; not owned
  const bool runs_;
  std::atomic<uint32_t> open_;  // requests without a final response
  std::atomic<bool> abandoned_{false};
};

}  // namespace tritonts
