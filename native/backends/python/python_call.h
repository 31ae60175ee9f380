// A call: a request that a Python model makes to another model while it runs a batch (Triton: BLS).
//
// Its inputs are read where the stub has written them, in the heap up. Each response is copied to
// the heap down as it comes, and told of when the stub wants the next one. So a decoupled model is
// read at the caller's pace.
//
// Ownership: the channel's, until the stub was told of the last response; and its own, until the
// engine has delivered the final one.
//
// Locking: `mutex_` guards what is told and wanted, briefly. The engine is called without it.
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
  // What a Reply's state says.
  static constexpr uint32_t kAnswered = 1;  // `offset` and `size` (words) are the answer's
  static constexpr uint32_t kNoMemory = 2;
  static constexpr uint32_t kMoved = 3;  // another version serves the model: ask for that
  static constexpr uint32_t kEnded = 4;  // there is no response any more

  PythonCall(std::shared_ptr<Channel> channel, uint64_t word)
      : channel_(std::move(channel)), word_(word) {}
  ~PythonCall() override;

  // Counts memory that it takes. False: calls have too much.
  bool Charge(uint64_t bytes);

  RequestHeader& header() { return header_; }
  Request& request() { return request_; }
  // Submits the request, which was checked. It may run here, as far as `guests` allows.
  void Submit(std::shared_ptr<Executor> executor, bool decoupled, InlineTick* guests);
  // The stub wants the next response.
  void Next();
  // Nobody wants a response any more.
  void Cancel();
  // Ends a call that was not submitted.
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
  void Give(Answer answer);
  // With the lock: tells of the first answer, if one is wanted.
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
  std::shared_ptr<PythonCall> self_;  // until the final response
  std::deque<Answer> answers_;
  bool wanted_ = true;
  bool over_ = false;  // the last answer was told
  bool cancelled_ = false;
};

}  // namespace tritonts::python
