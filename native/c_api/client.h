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
  // The release callbacks of so many requests have returned.
  void EndSome(uint64_t count);
  // Undoes Begin for requests that were refused.
  void Withdraw(std::span<Request* const> requests);

  // See tritonts_api::detach.
  Status Detach(uint64_t timeout_ms);

  void Deliver(std::span<const Response> responses) override;
  void DeliverAlike(const AlikeResponses& alike) override;
  Buffer Place(const Request& request, uint32_t output, size_t size, MemoryKind preferred) override;

 private:
  void Unlist(ApiRequest* request);  // the lock is held

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

// Counts requests whose release callbacks have returned, to tell their attachment once for all that
// follow each other. On the stack of the thread that makes the calls.
class EndedRequests {
 public:
  EndedRequests() = default;
  ~EndedRequests() { Tell(); }
  EndedRequests(const EndedRequests&) = delete;
  EndedRequests& operator=(const EndedRequests&) = delete;

  void Add(Client* client) {
    if (client != client_.get()) {
      Tell();
      // The last request may have the last other reference.
      client_ = client->shared_from_this();
    }
    count_++;
  }

 private:
  void Tell() {
    if (count_ > 0) client_->EndSome(std::exchange(count_, 0));
  }

  std::shared_ptr<Client> client_;
  uint64_t count_ = 0;
};

}  // namespace tritonts::c_api
