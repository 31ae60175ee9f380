#include "c_api/submit.h"

#include <new>
#include <utility>

#include "c_api/calls.h"
#include "c_api/client.h"
#include "engine/base/clock.h"
#include "engine/base/small_vector.h"
#include "engine/request/admission.h"
#include "engine/request/budget.h"

namespace tritonts::c_api {

namespace {

// How many versions of a model may be gone one after the other before a request is refused.
constexpr int kMostVersions = 4;

// The requests that versions did not serve while this thread submits.
struct Unserved {
  bool submitting = false;
  ApiRequest* first = nullptr;
};
thread_local Unserved t_unserved;

// Has an executor take prepared requests. Returns those that it did not serve.
ApiRequest* Pass(Served* served, std::span<Request* const> requests, uint64_t now_ns) {
  t_unserved = {true, nullptr};
  if (!requests.empty()) served->Submit(requests, now_ns);
  return std::exchange(t_unserved, Unserved()).first;
}

// Ends a request that no executor has.
void Fail(ApiRequest* request, const Status& status) {
  request->charged = false;
  Response like;
  like.status = status;
  Request* const one = request;
  Refuse({&one, 1}, like);
}

// Charges requests, and refuses those beyond the limit. Returns how many of them are left, in
// front.
size_t Charge(const Served& served, Budget* budget, std::span<Request*> requests) {
  uint64_t bytes = 0;
  for (const Request* request : requests) bytes = SumBytes(bytes, request->header->accounted_bytes);
  if (budget->Reserve(bytes)) return requests.size();
  const Status no_memory = Status::NoMemory();
  return Admission(served, no_memory).Charge(budget, requests);
}

template <typename Call>
Status Guarded(Call&& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Status::NoMemory();
  }
}

// The accepted requests of one version, while they are handed over.
class Group {
 public:
  explicit Group(uint64_t now_ns) : now_ns_(now_ns) {}

  bool Fits(const ApiRequest& request) const {
    const Binding& other = *request.binding();
    return all_.empty() || (other.served == binding_->served && other.client == binding_->client);
  }
  // Throws std::bad_alloc.
  void Add(ApiRequest* request) {
    all_.push_back({request, 0});
    binding_ = request->binding();
  }
  size_t size() const { return all_.size(); }

  // Submits them, and is empty then. Not ok: none of them was accepted.
  Status Send() {
    if (all_.empty()) return Status::Ok();
    const Status status = Guarded([&] { return Begin(); });
    if (status.ok()) {
      HandOver();
    } else {
      for (const Member& one : all_) one.request->Undo();
    }
    all_.clear();
    requests_.clear();
    return status;
  }

 private:
  struct Member {
    ApiRequest* request = nullptr;
    uint64_t submission = 0;
  };

  Status Begin() {
    for (const Member& one : all_) requests_.push_back(one.request);
    return binding_->client->Begin({requests_.data(), requests_.size()});
  }

  void HandOver() {
    for (Member& one : all_) {
      one.submission = one.request->submission();
      // For the engine, and for this thread, which may see it end.
      one.request->Retain(2);
    }
    Server& server = binding_->client->server();
    // Later submissions of these requests may be to other versions.
    const std::shared_ptr<const Binding> binding = binding_;
    const size_t left =
        Charge(*binding->served, &server.budget(), {requests_.data(), requests_.size()});
    ApiRequest* unserved = Pass(binding->served.get(), {requests_.data(), left}, now_ns_);
    while (unserved) Retry(std::exchange(unserved, unserved->next_ended), &server.budget());
    for (const Member& one : all_) {
      one.request->NoteSubmitted(one.submission);
      one.request->Release();
    }
  }

  // The version is gone: tries the one that serves now.
  void Retry(ApiRequest* request, Budget* budget) {
    Status status;
    for (int tries = 0; tries < kMostVersions; tries++) {
      const uint32_t except = request->binding()->served->uid();
      const uint64_t flush = request->header->flush;
      status = Guarded([&] { return request->Build(now_ns_, flush, except); });
      if (!status.ok()) break;
      const std::shared_ptr<const Binding> binding = request->binding();
      Request* one = request;
      if (Charge(*binding->served, budget, {&one, 1}) == 0) return;
      if (!Pass(binding->served.get(), {&one, 1}, now_ns_)) return;
      status = MakeStatus([&] {
        return Status::Unavailable(Reason::kNotReady, "the model's version was unloaded");
      });
    }
    Fail(request, status);
  }

  const uint64_t now_ns_;
  SmallVector<Member, 64> all_;
  SmallVector<Request*, 64> requests_;
  std::shared_ptr<const Binding> binding_;
};

}  // namespace

bool KeepUnserved(ApiRequest* request) {
  if (!t_unserved.submitting) return false;
  request->charged = false;
  request->TakeBack(false);
  request->next_ended = std::exchange(t_unserved.first, request);
  return true;
}

Status SubmitRequests(std::span<ApiRequest* const> requests, size_t* accepted) noexcept {
  *accepted = 0;
  // No callback runs while requests are handed over.
  const HoldCalls hold;
  const uint64_t now = NowNs();
  Group group(now);
  const auto send = [&] {
    const size_t size = group.size();
    const Status status = group.Send();
    if (status.ok()) *accepted += size;
    return status;
  };
  uint64_t flush = 0;
  const Client* flushed = nullptr;
  for (ApiRequest* request : requests) {
    Status status = Guarded([&] {
      Status begun = request->Begin();
      if (!begun.ok()) return begun;
      if (flushed != &request->client()) {
        flushed = &request->client();
        flush = request->client().NextFlush();
      }
      Status built = Guarded([&] { return request->Build(now, flush); });
      if (!built.ok()) request->Undo();
      return built;
    });
    if (status.ok() && !group.Fits(*request)) {
      if (Status sent = send(); !sent.ok()) {
        request->Undo();
        return sent;
      }
    }
    if (status.ok()) {
      status = Guarded([&] {
        group.Add(request);
        return Status::Ok();
      });
      if (!status.ok()) request->Undo();
    }
    if (status.ok()) continue;
    const Status sent = send();
    return sent.ok() ? status : sent;
  }
  return send();
}

}  // namespace tritonts::c_api
