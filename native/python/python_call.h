// A call: a request that a Python model makes to another model while it runs a batch (Triton: BLS).
//
// Its inputs are copied from the heap "up" before it is submitted. Each response is copied to the
// heap "down" when it arrives, and announced when the stub asks for the next one. So a decoupled
// model is read at the caller's pace.
//
// Ownership: the channel holds the call until its last response was announced. The call also holds
// itself until the engine has delivered the final response.
//
// Locking: `mutex_` briefly guards the pending responses and flags. The engine is called without
// it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/backend.h"
#include "engine/request/executor.h"

namespace tritonts::python {

class Channel;

class PythonCall final : public ResponseSink, public std::enable_shared_from_this<PythonCall> {
 public:
  // The values of Reply::state.
  static constexpr uint32_t kAnswered = 1;  // `offset` and `size` (words) locate the response
  static constexpr uint32_t kNoMemory = 2;
  static constexpr uint32_t kMoved = 3;  // another version serves the model: look it up again
  static constexpr uint32_t kEnded = 4;  // there are no further responses

  PythonCall(std::shared_ptr<Channel> channel, uint64_t word)
      : channel_(std::move(channel)), word_(word) {}
  ~PythonCall() override;

  // Charges memory that the call uses. Returns false if calls use too much.
  bool Charge(uint64_t bytes);

  RequestHeader& header() { return header_; }
  Request& request() { return request_; }
  // Submits the request, which was validated. It may run on this thread, within the limits of
  // `guests`.
  void Submit(std::shared_ptr<Executor> executor, bool decoupled, InlineTime* guests);
  // The stub wants the next response.
  void Next();
  // The stub wants no further responses.
  void Cancel();
  // Ends a call that was not submitted, with an error.
  void Refuse(const Status& status);

  void Deliver(std::span<const Response> responses) override;

 private:
  struct Answer {
    uint32_t state = kAnswered;
    uint64_t place = 0;
    uint64_t words = 0;
    uint64_t counted = 0;
    bool final = false;
  };
  void Take(const Response& response);
  // Copies a response to the heap "down". Returns false if there is no memory.
  bool CopyDown(const Response& response, Answer* answer);
  // Queues a response for the stub. Returns false if there is no memory.
  bool Queue(const Answer& answer);
  // Notes a response for which there is no memory. The stub gets the earlier ones, then an error.
  void Lose();
  // Frees a response that the stub does not get, and counts it as read.
  void Drop(const Answer& answer);
  // Requires the lock. Announces the first pending response if the stub waits for one.
  void Tell(std::unique_lock<std::mutex>* lock);

  const std::shared_ptr<Channel> channel_;
  const uint64_t word_;
  uint64_t charged_ = 0;
  std::shared_ptr<Executor> executor_;
  RequestHeader header_;
  Request request_;
  StreamCount stream_;
  bool streams_ = false;

  std::mutex mutex_;                  // guards the rest
  std::shared_ptr<PythonCall> self_;  // set until the final response
  std::deque<Answer> answers_;
  bool wanted_ = true;
  bool lost_ = false;  // a response was lost; those after it are dropped
  bool over_ = false;  // the last response was announced
  bool cancelled_ = false;
};

}  // namespace tritonts::python
