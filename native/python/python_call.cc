#include "python/python_call.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/request/call_graph.h"
#include "engine/server/server.h"
#include "engine/version/check_request.h"
#include "engine/version/shapes.h"
#include "python/channel.h"
#include "python/parameter_bytes.h"

namespace tritonts::python {

PythonCall::~PythonCall() {
  channel_->UnchargeCall(charged_);
}

bool PythonCall::Charge(uint64_t bytes) {
  if (!channel_->ChargeCall(bytes)) return false;
  charged_ += bytes;
  return true;
}

void PythonCall::Submit(std::shared_ptr<Executor> executor, bool decoupled, InlineTime* guests) {
  executor_ = std::move(executor);
  streams_ = decoupled;
  if (decoupled) {
    stream_.Begin(nullptr, 0);
    header_.streams = &stream_;
  }
  {
    const std::lock_guard lock(mutex_);
    self_ = shared_from_this();
  }
  request_.header = &header_;
  request_.Prepare(false);
  Request* const request = &request_;
  const std::shared_ptr<Executor> kept = executor_;
  kept->Submit({&request, 1}, header_.arrival_ns, guests);
}

void PythonCall::Deliver(std::span<const Response> responses) {
  std::shared_ptr<PythonCall> self;
  for (const Response& response : responses) {
    Take(response);
    if (!response.final) continue;
    const std::lock_guard lock(mutex_);
    self = std::move(self_);
  }
  if (!self) return;
  // The engine has finished with the request.
  if (header_.call) header_.call->Ended(0);
  if (!responses.back().abandoned) {
    request_.set_state(Request::State::kIdle);
    header_.call.reset();
  }
}

void PythonCall::Take(const Response& response) {
  Answer answer;
  answer.final = response.final;
  answer.counted = response.counted;
  bool lost = false;
  {
    const std::lock_guard lock(mutex_);
    lost = lost_;
  }
  if (!lost) {
    if (response.unserved) answer.state = kMoved;
    if ((response.unserved || CopyDown(response, &answer)) && Queue(answer)) return;
    Lose();
  }
  Drop(answer);
  // All further responses would be dropped.
  if (!response.final) Cancel();
}

bool PythonCall::CopyDown(const Response& response, Answer* answer) {
  try {
    std::vector<uint64_t> words;
    Status status = response.status;
    std::vector<OutputTensor> outputs(response.outputs.begin(), response.outputs.end());
    std::vector<TensorShape> shapes(outputs.size());
    for (size_t i = 0; i < outputs.size(); i++) {
      TensorShape& shape = shapes[i];
      if (outputs[i].batch >= 0) shape.push_back(outputs[i].batch);
      for (const int64_t dim : outputs[i].tail) shape.push_back(dim);
      if (status.ok())
        status = ToCallerShape(executor_->name(), executor_->io(), outputs[i].index, &shape);
    }
    if (!status.ok()) {
      outputs.clear();
      shapes.clear();
    }
    words = {static_cast<uint64_t>(status.number()),
             response.final ? 1u : 0u,
             response.empty ? 1u : 0u,
             0,
             0,
             0,
             0,
             outputs.size()};
    for (size_t i = 0; i < outputs.size(); i++) {
      words.push_back(outputs[i].index);
      words.push_back(static_cast<uint64_t>(outputs[i].datatype));
      words.push_back(shapes[i].size());
      for (const int64_t dim : shapes[i]) words.push_back(static_cast<uint64_t>(dim));
      words.push_back(outputs[i].size);
      words.push_back(0);
    }
    std::string parameters;
    if (status.ok() && response.parameters) {
      for (const RequestParameter& one : *response.parameters) AppendParameter(one, &parameters);
    }
    std::string fault;
    answer->words = words.size();
    answer->place = channel_->Place(std::move(words), outputs, status.ok() ? "" : status.message(),
                                    parameters, &fault);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return answer->place != 0;
}

bool PythonCall::Queue(const Answer& answer) {
  std::unique_lock lock(mutex_);
  try {
    answers_.push_back(answer);
  } catch (const std::bad_alloc&) {
    return false;
  }
  Tell(&lock);
  return true;
}

void PythonCall::Lose() {
  std::unique_lock lock(mutex_);
  lost_ = true;
  Tell(&lock);
}

void PythonCall::Drop(const Answer& answer) {
  if (answer.place != 0) channel_->FreeAnswer(answer.place);
  if (streams_ && answer.counted > 0) stream_.NoteRead(1, answer.counted);
}

void PythonCall::Tell(std::unique_lock<std::mutex>* lock) {
  if (!wanted_ || over_ || (answers_.empty() && !lost_)) return;
  Answer answer;
  if (answers_.empty()) {
    answer.state = kNoMemory;
  } else {
    answer = answers_.front();
    answers_.pop_front();
  }
  wanted_ = false;
  // A lost response ends the call: the stub asks no further.
  over_ = answer.final || answer.state != kAnswered;
  // First: once it is told, the stub may reuse the Reply for another call.
  if (over_) channel_->Forget(word_);
  // With the lock held, so that no other response is announced at the same time.
  channel_->Tell(word_, answer.state, answer.place, answer.words);
  lock->unlock();
  if (streams_ && answer.counted > 0) stream_.NoteRead(1, answer.counted);
}

void PythonCall::Next() {
  std::unique_lock lock(mutex_);
  wanted_ = true;
  Tell(&lock);
}

void PythonCall::Cancel() {
  std::shared_ptr<Executor> executor;
  std::shared_ptr<PythonCall> self;  // keeps the request's memory alive
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(cancelled_, true)) return;
    self = self_;
  }
  if (!self) return;
  Request* const request = &request_;
  executor_->Cancel({&request, 1});
  if (streams_) stream_.Wake();
}

void PythonCall::Refuse(const Status& status) {
  Response response;
  response.status = status;
  Take(response);
}

}  // namespace tritonts::python
