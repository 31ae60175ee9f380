// An attachment of a C caller to a server: the sink of its requests.
//
//   attach --> open ---Detach---> leaving: refuses requests ---the last release callback--->
//   detached
//
// Ownership: the handle of the attachment, models, requests and responses share it. It shares
// ownership of the server, as a port does. Requests in flight are listed, not owned: each holds a
// reference to itself until its release callback.
//
// Threads: any thread may call any function. `mutex_` is taken once for a submission and once for a
// delivery, and nothing is called under it. What Detach counts falls to zero only after the last
// callback has returned.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "c_api/calls.h"
#include "engine/base/status.h"
#include "engine/memory/pool.h"
#include "engine/request/response_sink.h"
#include "engine/server/server.h"

namespace tritonts::c_api {

class ApiRequest;

class Client final : public ResponseSink, public std::enable_shared_from_this<Client> {
 public:
  explicit Client(std::shared_ptr<Server> server) : server_(std::move(server)) {}
  ~Client() override;

  Server& server() const { return *server_; }
  // A number for the requests of one submission.
  uint64_t NextFlush() { return flushes_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // Memory for copies of inputs whose elements are not aligned.
  BlockPool& AlignedCopies() { return copies_; }

  // The server and the attachment take requests; otherwise UNAVAILABLE. Throws std::bad_alloc.
  Status CheckOpen() const;
  // The same for the attachment alone.
  Status CheckAttached() const;
  // Lists requests that are about to be submitted. UNAVAILABLE: the attachment is leaving, and none
  // was listed. Throws std::bad_alloc.
  Status Begin(std::span<Request* const> requests);
  // The release callback of a request has returned.
  void End();
  // Undoes Begin for requests that were refused.
  void Withdraw(std::span<Request* const> requests);

  // See tritonts_api::detach.
  Status Detach(uint64_t timeout_ms);

  void Deliver(std::span<const Response> responses) override;
  void DeliverAlike(const AlikeResponses& alike) override;
  Buffer Place(const Request& request, uint32_t output, size_t size, MemoryKind preferred) override;

 private:
  void Unlist(ApiRequest* request);  // the lock is held
  void EndSome(uint64_t count);

  static constexpr size_t kIdleCopies = size_t{16} << 20;

  // A response to each request of `ended` was taken, with its calls: forgets the requests, and
  // makes the calls.
  void Finish(Calls* calls, ApiRequest* ended);
  void CancelAll();

  const std::shared_ptr<Server> server_;
  BlockPool copies_{kIdleCopies};
  std::atomic<uint64_t> flushes_{0};
  std::atomic<uint64_t> outstanding_{0};  // requests without their release callback
  std::atomic<bool> leaving_{false};      // set with the lock held

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  ApiRequest* first_ = nullptr;  // of the requests in flight
};

}  // namespace tritonts::c_api
