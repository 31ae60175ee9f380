// Requests of TRITONSERVER's in-process interface: those of the C API (c_api/request.h), with what
// Triton's functions tell of them besides.
//
// Ownership: the caller's until TRITONSERVER_ServerInferAsync accepts it, and again from the
// release callback on. A run that was abandoned may go on using the memory of inputs, so its
// requests get no release callback. Threads: one at a time while it is the caller's. Any thread may
// cancel it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "c_api/model.h"
#include "c_api/request.h"
#include "include/tritonts.h"
#include "plugins/abi/types.h"
#include "plugins/inference_response.h"
#include "plugins/trace.h"

struct TRITONSERVER_InferenceRequest {
 public:
  // Throws std::bad_alloc.
  TRITONSERVER_InferenceRequest(uint32_t server,
                                const std::shared_ptr<tritonts::c_api::Model>& model);
  ~TRITONSERVER_InferenceRequest() { request_->Release(); }
  TRITONSERVER_InferenceRequest(const TRITONSERVER_InferenceRequest&) = delete;
  TRITONSERVER_InferenceRequest& operator=(const TRITONSERVER_InferenceRequest&) = delete;

  // Submits it. Not ok: it is the caller's. The trace, which may be null, is taken in any case.
  tritonts::Status Submit(uint32_t server, TRITONSERVER_InferenceTrace* trace);
  // INTERNAL: it was never submitted.
  tritonts::Status Cancel();
  bool in_flight() const { return in_flight_.load(std::memory_order_acquire); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  bool submitted() const { return submitted_.load(std::memory_order_relaxed); }
  tritonts::c_api::ApiRequest& engine() { return *request_; }
  // Passes the correlation id and the flags on.
  tritonts::Status SetSequence();

  // What the caller has set.
  std::string id;
  uint32_t flags = 0;
  uint64_t correlation = 0;
  std::string correlation_text;
  bool correlation_is_text = false;
  uint64_t priority = 0;
  uint64_t timeout_us = 0;
  TRITONSERVER_InferenceRequestReleaseFn_t release = nullptr;
  void* release_user = nullptr;
  TRITONSERVER_ResponseAllocator* allocator = nullptr;
  void* allocator_user = nullptr;
  TRITONSERVER_InferenceResponseCompleteFn_t complete = nullptr;
  void* complete_user = nullptr;

 private:
  static void OnResponse(tritonts_request*, tritonts_response* response, uint32_t flags,
                         void* user);
  static void OnRelease(tritonts_request*, uint32_t flags, void* user);
  void Respond(tritonts_response* response, uint32_t response_flags) noexcept;
  // A response; null if there is no memory, and none is kept.
  std::unique_ptr<TRITONSERVER_InferenceResponse> NewResponse() noexcept;
  tritonts::Status Prepare(uint32_t server);

  const uint32_t server_;
  tritonts::c_api::ApiRequest* const request_;  // a reference
  // For a response that there is no memory for.
  std::unique_ptr<TRITONSERVER_InferenceResponse> spare_;
  TRITONSERVER_InferenceTrace* trace_ = nullptr;  // while it is in flight; owned
  bool timed_ = false;                            // the trace has been told when its batch ran
  bool lost_ = false;                             // there was no memory for a response
  std::atomic<bool> submitted_{false};
  std::atomic<bool> in_flight_{false};
  std::atomic<bool> cancelled_{false};
};
