// The responses and factories of a batch's requests, from their making to their sending.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "plugins/batch.h"
#include "plugins/owner.h"

namespace tritonts::plugins {

namespace {

// Lets a thread wait until the caller of a stream has read.
class RoomListener final : public ReadListener {
 public:
  void OnRead() override {
    {
      const std::lock_guard lock(mutex_);
      has_read_ = true;
    }
    changed_.notify_all();
  }
  // Also returns after a while, because others ask the instance to end meanwhile.
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(50), [this] { return has_read_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_read_ = false;
};

// One that does not live, made if there is none.
template <typename Object>
Object* Unused(std::vector<std::unique_ptr<Object>>* all) {
  for (const std::unique_ptr<Object>& one : *all) {
    if (!one->live) return one.get();
  }
  all->push_back(std::make_unique<Object>());
  return all->back().get();
}

}  // namespace

// --- Responses.

TRITONBACKEND_Response* Batch::MakeResponse(TRITONBACKEND_Request* request) {
  const std::lock_guard lock(request->lock);
  TRITONBACKEND_Response* made = &request->response;
  if (made->live) {
    made = Unused(&request->more_responses);
    made->request = request;
    made->outputs.resize(tensors().io.outputs.size());
  }
  made->live = true;
  request->holders++;
  return made;
}

TRITONBACKEND_ResponseFactory* Batch::MakeFactory(TRITONBACKEND_Request* request) {
  const std::lock_guard lock(request->lock);
  TRITONBACKEND_ResponseFactory* made = &request->factory;
  if (made->live) {
    made = Unused(&request->more_factories);
    made->request = request;
  }
  made->live = true;
  request->holders++;
  return made;
}

Status Batch::AwaitRoom(uint32_t position) {
  while (!terminated()) {
    const std::optional<Unread> unread = run_->UnreadOf(position);
    if (!unread || !unread->full) break;
    if (OnJsThread()) {
      return MakeStatus([&] {
        return Status::Unavailable(
            Reason::kUnread,
            "model '" + tensors().model + "': " + std::to_string(unread->responses) +
                " responses of the request are unread, and a response that is sent on a thread of "
                "JavaScript cannot wait for their reader: send it from a thread of the plug-in");
      });
    }
    const auto listener = std::make_shared<RoomListener>();
    if (run_->AwaitRead(position, unread->responses / 2, listener)) listener->Wait();
  }
  return Status::Ok();
}

void Batch::ClearOutputs(TRITONBACKEND_Response* response) {
  for (uint32_t i = 0; i < response->output_count; i++) response->outputs[i].buffer = Buffer();
  response->output_count = 0;
  response->parameters.Clear();
}

void Batch::Free(TRITONBACKEND_Response* response) {
  ClearOutputs(response);
  const std::lock_guard lock(response->request->lock);
  response->live = false;
}

void Batch::Delete(TRITONBACKEND_Response* response) {
  TRITONBACKEND_Request* const request = response->request;
  {
    // With the lock, so that the outputs of another response are not dropped.
    const std::lock_guard lock(request->lock);
    if (request->placed == response) {
      request->placed = nullptr;
      request->placed_with_sender = false;
      run_->DropOutputs(request->position);
    }
  }
  EndBorrowing(response);
  Free(response);
  DropHolder(request);
}

Status Batch::Send(TRITONBACKEND_Response* response, bool is_final, const Status& given) {
  const Status status =
      given.ok() ? CheckOutputs(*response) : MakeStatus([&] { return Named(given); });
  return tensors().decoupled ? SendStreamed(response, is_final, status)
                             : SendOnly(response, is_final, status);
}

Status Batch::CheckMaySend(const TRITONBACKEND_Request& request) const {
  if (request.final != TRITONBACKEND_Request::Final::kNone) {
    return MakeStatus([&] {
      return Status::InvalidArg("model '" + tensors().model +
                                "': a response was sent after the final one of its request");
    });
  }
  if (!request.answered) return Status::Ok();
  return MakeStatus([&] {
    return Status::InvalidArg("model '" + tensors().model +
                              "': a second response was sent to a request, but the model is not "
                              "decoupled");
  });
}

Status Batch::SendOnly(TRITONBACKEND_Response* response, bool is_final, const Status& status) {
  TRITONBACKEND_Request* const request = response->request;
  uint64_t shared = 0;
  bool declares = false;  // an output that the run does not know yet
  for (uint32_t i = 0; i < response->output_count; i++) {
    const TRITONBACKEND_Output& output = response->outputs[i];
    if (output.shared) shared |= uint64_t{1} << output.index;
    declares = declares || (!output.in_place && !output.shared);
  }
  declares = declares && status.ok();
  ResponseParameters parameters;
  if (status.ok()) parameters = response->parameters.Take();
  if (!declares) ClearOutputs(response);
  Status refused;
  {
    const std::lock_guard lock(request->lock);
    refused = CheckMaySend(*request);
    if (refused.ok()) {
      request->answered = true;
      request->shared = shared;
      if (!status.ok()) request->status = status;
      if (request->placed != response) ForgetPlaced(request);
      request->placed = nullptr;
      request->placed_with_sender = false;
      if (parameters) run_->SetParameters(request->position, std::move(parameters));
      if (!declares && request->held) {
        // Nothing is left to do before the release.
        if (is_final) request->final = TRITONBACKEND_Request::Final::kWaiting;
        response->live = false;
        request->holders--;
        return Status::Ok();
      }
    }
  }
  if (refused.ok()) {
    if (declares) Declare(*response);
    if (is_final) Finish(request);
  } else {
    EndBorrowing(response);
  }
  Free(response);
  DropHolder(request);
  return refused;
}

Status Batch::SendStreamed(TRITONBACKEND_Response* response, bool is_final, const Status& status) {
  TRITONBACKEND_Request* const request = response->request;
  Status refused;
  ResponseParameters parameters;
  if (status.ok()) parameters = response->parameters.Take();
  if (!is_final && status.ok()) refused = AwaitRoom(request->position);
  if (refused.ok()) {
    // Outputs of a response and its sending must not be between those of another one.
    const std::unique_lock<std::mutex> order(sending_);
    {
      const std::lock_guard lock(request->lock);
      refused = CheckMaySend(*request);
      if (refused.ok() && !status.ok() && is_final) request->status = status;
    }
    if (refused.ok()) {
      if (status.ok()) Declare(*response);
      if (parameters) run_->SetParameters(request->position, std::move(parameters));
      if (is_final) {
        Finish(request);
      } else {
        if (request->state_count > 0) DeclareStates(*request);
        run_->Respond(request->position, status, false);
      }
    }
  }
  Free(response);
  DropHolder(request);
  return refused;
}

void Batch::Finish(TRITONBACKEND_Request* request) {
  using Final = TRITONBACKEND_Request::Final;
  bool deliver = false;
  {
    const std::lock_guard lock(request->lock);
    deliver = !request->held && !request->borrower;
    request->final = deliver ? Final::kMade : Final::kWaiting;
  }
  if (deliver) Deliver(request);
}

void Batch::ForgetPlaced(TRITONBACKEND_Request* request) {
  if (!request->placed) return;
  // Its outputs are not to be sent any more.
  run_->DropOutputs(request->position);
  if (std::exchange(request->placed_with_sender, false)) request->borrower = request->placed;
  request->placed = nullptr;
}

void Batch::EndBorrowing(const TRITONBACKEND_Response* response) {
  using Final = TRITONBACKEND_Request::Final;
  TRITONBACKEND_Request* const request = response->request;
  {
    const std::lock_guard lock(request->lock);
    if (request->borrower != response) return;
    request->borrower = nullptr;
    if (request->held || request->final != Final::kWaiting) return;
    request->final = Final::kMade;
  }
  Deliver(request);
}

Status Batch::SendFinal(TRITONBACKEND_ResponseFactory* factory) {
  using Final = TRITONBACKEND_Request::Final;
  TRITONBACKEND_Request* const request = factory->request;
  const std::unique_lock<std::mutex> order(sending_);
  bool deliver = false;
  {
    const std::lock_guard lock(request->lock);
    if (request->final != Final::kNone) {
      return MakeStatus([&] {
        return Status::InvalidArg("model '" + tensors().model +
                                  "': the flag FINAL was sent after the final response");
      });
    }
    // The one response of a model that is not decoupled may come before the flag.
    request->empty = !request->answered;
    ForgetPlaced(request);
    deliver = !request->held && !request->borrower;
    request->final = deliver ? Final::kMade : Final::kWaiting;
  }
  if (deliver) Deliver(request);
  return Status::Ok();
}

void Batch::Delete(TRITONBACKEND_ResponseFactory* factory) {
  TRITONBACKEND_Request* const request = factory->request;
  {
    const std::lock_guard lock(request->lock);
    factory->live = false;
  }
  DropHolder(request);
}

Status Batch::Release(TRITONBACKEND_Request* request, bool again) {
  using Final = TRITONBACKEND_Request::Final;
  bool deliver = false;
  bool is_last = false;
  // Before the release: from then on another thread may send the final response.
  const bool keeps = !again && !run_->kept_outputs().empty();
  if (keeps) KeepStates(request);
  {
    const std::lock_guard lock(request->lock);
    if (!request->held) {
      return MakeStatus([&] {
        return Status::InvalidArg("model '" + tensors().model +
                                  "': a request was released that the backend does not have");
      });
    }
    if (again && (!tensors().iterative || request->final != Final::kNone)) {
      return MakeStatus([&] {
        return Status::InvalidArg(
            "model '" + tensors().model + "': a request was released with the flag RESCHEDULE, " +
            (tensors().iterative ? "but has its final response"
                                 : "but only models with iterative_sequence run requests again"));
      });
    }
    request->held = false;
    is_last = request->holders == 1;
    deliver = request->final == Final::kWaiting && !request->borrower;
    if (deliver || again) request->final = Final::kMade;
    // The last holder has nothing to tell others.
    if (deliver && is_last) request->holders = 0;
  }
  if (deliver && is_last) {
    Deliver(request);
    Drop();
    return Status::Ok();
  }
  if (again) {
    // The next run of the request finds them.
    if (request->state_count > 0) DeclareStates(*request);
    run_->Reschedule(request->position);
  } else if (deliver) {
    Deliver(request);
  } else if (!is_last && !keeps) {
    // Its inputs are of no use any more.
    run_->Release(request->position);
  }
  DropHolder(request);
  return Status::Ok();
}

}  // namespace tritonts::plugins
