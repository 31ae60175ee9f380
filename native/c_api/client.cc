#include "c_api/client.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "c_api/request.h"
#include "c_api/response.h"
#include "c_api/submit.h"
#include "engine/base/abandon.h"
#include "engine/base/rules.h"

namespace tritonts::c_api {

namespace {

ApiRequest* Of(Request* request) {
  // All requests of this sink are of this class.
  return static_cast<ApiRequest*>(request);
}

}  // namespace

Client::~Client() {
  TRITONTS_ASSERT(first_ == nullptr, "an attachment was freed with requests in flight");
}

Status Client::CheckAttached() const {
  if (!leaving_.load(std::memory_order_acquire)) return Status::Ok();
  return Status::Unavailable(Reason::kClosed, "the attachment is detached from its server");
}

Status Client::CheckOpen() const {
  if (Status attached = CheckAttached(); !attached.ok()) return attached;
  if (server_->closing()) return Status::Unavailable(Reason::kClosed, "the server is closed");
  return Status::Ok();
}

Status Client::Begin(std::span<Request* const> requests) {
  {
    const std::lock_guard lock(mutex_);
    if (!leaving_.load(std::memory_order_relaxed)) {
      for (Request* one : requests) {
        ApiRequest* const request = Of(one);
        request->previous_live = nullptr;
        request->next_live = first_;
        if (first_) first_->previous_live = request;
        first_ = request;
      }
      outstanding_.fetch_add(requests.size(), std::memory_order_relaxed);
      return Status::Ok();
    }
  }
  return CheckOpen();
}

// Detach writes `leaving_`, and then reads `outstanding_`. EndSome does the reverse. All four have
// one order, so that one of the two sees what the other wrote.
void Client::EndSome(uint64_t count) {
  if (outstanding_.fetch_sub(count) > count) return;
  if (!leaving_.load()) return;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Client::Withdraw(std::span<Request* const> requests) {
  {
    const std::lock_guard lock(mutex_);
    for (Request* request : requests) Unlist(Of(request));
  }
  EndSome(requests.size());
}

void Client::Unlist(ApiRequest* request) {
  if (request->previous_live) request->previous_live->next_live = request->next_live;
  if (request->next_live) request->next_live->previous_live = request->previous_live;
  if (first_ == request) first_ = request->next_live;
}

Status Client::Detach(uint64_t timeout_ms) {
  if (InCallback()) {
    return Status::InvalidArg("detach: a callback called it, and would wait for itself");
  }
  {
    const std::lock_guard lock(mutex_);
    leaving_.store(true);
  }
  CancelAll();
  std::unique_lock lock(mutex_);
  const auto none_left = [this] { return outstanding_.load() == 0; };
  constexpr uint64_t kMostMs = uint64_t{1} << 40;  // some decades
  const auto time = std::chrono::milliseconds(std::min(timeout_ms, kMostMs));
  if (changed_.wait_for(lock, time, none_left)) return Status::Ok();
  return Status::Unavailable(Reason::kTimedOut, "detach: " + std::to_string(outstanding_.load()) +
                                                    " requests are still in flight after " +
                                                    std::to_string(timeout_ms) + " ms");
}

void Client::CancelAll() {
  // A request without memory for the list is found in the next pass.
  while (true) {
    std::vector<ApiRequest*> all;
    bool whole = true;
    {
      const std::lock_guard lock(mutex_);
      try {
        for (ApiRequest* one = first_; one; one = one->next_live) all.push_back(one);
      } catch (const std::bad_alloc&) {
        whole = false;
      }
      // Referenced under the lock, so that they stay when they end meanwhile.
      for (ApiRequest* one : all) one->Retain();
    }
    for (ApiRequest* one : all) {
      one->Cancel();
      one->Release();
    }
    if (whole) return;
  }
}

Buffer Client::Place(const Request& request, uint32_t output, size_t size, MemoryKind) {
  const DataType datatype = request.header->executor->io().outputs[output].datatype;
  const size_t alignment = std::max<size_t>(1, ByteSize(datatype));
  for (const OutputTarget& target : static_cast<const ApiRequest&>(request).targets()) {
    if (target.output != output || size > target.size) continue;
    if (reinterpret_cast<uintptr_t>(target.data) % alignment != 0) continue;
    return {target.data, size, MemoryKind::kHost, 0, {}};
  }
  return {};
}

void Client::Deliver(std::span<const Response> responses) {
  // A callback may drop the last other reference.
  const std::shared_ptr<Client> self = shared_from_this();
  Calls calls;
  ApiRequest* ended = nullptr;
  ResponseBlocks blocks(responses.size());
  for (const Response& response : responses) {
    ApiRequest* const request = Of(response.request);
    const uint64_t charge =
        response.final && request->charged ? request->header->accounted_bytes : 0;
    if (KeepRefused(response, request)) {
      server_->budget().Release(charge);
      continue;
    }
    tritonts_response* made = nullptr;
    if (!response.empty) made = request->Take(response, &blocks);
    server_->budget().Exchange(made ? made->charged : 0, charge);
    if (!response.final) {
      if (made) {
        made->call = {nullptr, request, made, 0, false};
        calls.Append(&made->call);
      } else if (StreamCount* const stream = request->stream()) {
        // The next response is an error.
        stream->NoteLost();
      }
      continue;
    }
    uint32_t flags = TRITONTS_RESPONSE_FINAL;
    if (!made && !response.empty) flags |= TRITONTS_RESPONSE_NO_MEMORY;
    request->TakeBack(response.abandoned);
    request->last_call() = {nullptr, request, made, flags, response.abandoned};
    calls.Append(&request->last_call());
    request->next_ended = std::exchange(ended, request);
  }
  blocks.Close();
  Finish(&calls, ended);
}

void Client::DeliverAlike(const AlikeResponses& alike) {
  const std::shared_ptr<Client> self = shared_from_this();
  // If this throws, nothing was taken.
  OutputShapes shapes;
  const Status status = shapes.Set(*Of(alike.requests[0])->binding(), alike.outputs);
  Calls calls;
  ApiRequest* ended = nullptr;
  Response response;
  response.status = status;
  response.timings = alike.timings;
  if (status.ok()) response.outputs = alike.outputs;
  uint64_t more = 0;
  uint64_t less = 0;
  ResponseBlocks blocks(alike.requests.size());
  for (size_t i = 0; i < alike.requests.size(); i++) {
    ApiRequest* const request = Of(alike.requests[i]);
    response.request = request;
    tritonts_response* const made = request->Take(response, &blocks, i, &shapes);
    if (made) more += made->charged;
    if (request->charged) less += request->header->accounted_bytes;
    request->TakeBack(false);
    const uint32_t flags =
        made ? TRITONTS_RESPONSE_FINAL : TRITONTS_RESPONSE_FINAL | TRITONTS_RESPONSE_NO_MEMORY;
    request->last_call() = {nullptr, request, made, flags, false};
    calls.Append(&request->last_call());
    request->next_ended = std::exchange(ended, request);
  }
  blocks.Close();
  server_->budget().Exchange(more, less);
  Finish(&calls, ended);
}

void Client::Finish(Calls* calls, ApiRequest* ended) {
  if (ended) {
    bool any_abandoned = false;
    {
      const std::lock_guard lock(mutex_);
      for (ApiRequest* request = ended; request; request = request->next_ended) {
        if (request->last_call().abandoned) {
          // It stays in the list, and the list for ever, because a run may still use both.
          any_abandoned = true;
          continue;
        }
        Unlist(request);
      }
    }
    if (any_abandoned) Abandon(shared_from_this());
  }
  Make(calls);
}

}  // namespace tritonts::c_api
