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

// What this thread is submitting, and what the engine has refused of it.
struct Submitting {
  const Client* client = nullptr;
  uint64_t flush = 0;  // the number of the submission
  ApiRequest* refused = nullptr;
};
thread_local Submitting t_submitting;

// Has an executor take prepared requests. Returns those that it refused meanwhile.
ApiRequest* Pass(const Binding& binding, std::span<Request* const> requests, uint64_t now_ns) {
  if (requests.empty()) return nullptr;
  t_submitting = {binding.client.get(), requests[0]->header->flush, nullptr};
  binding.served->Submit(requests, now_ns);
  return std::exchange(t_submitting, Submitting()).refused;
}

// Ends a request that no executor has.
void Fail(ApiRequest* request) {
  request->charged = false;
  Response like;
  like.status = request->refusal;
  Request* const one = request;
  Refuse({&one, 1}, like);
}

// Charges requests up to the first that exceeds the limit, which gets a refusal. Returns how many.
size_t Charge(const Binding& binding, std::span<Request* const> requests) {
  Budget& budget = binding.client->server().budget();
  uint64_t bytes = 0;
  for (const Request* request : requests) bytes = SumBytes(bytes, request->header->accounted_bytes);
  if (budget.Reserve(bytes)) return requests.size();
  const Status no_memory = Status::NoMemory();
  for (size_t i = 0; i < requests.size(); i++) {
    const uint64_t needed = requests[i]->header->accounted_bytes;
    if (budget.Reserve(needed)) continue;
    static_cast<ApiRequest*>(requests[i])->refusal =
        Admission(*binding.served, no_memory).BeyondLimit(budget, needed);
    return i;
  }
  return requests.size();
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
    all_.push_back({request, 0, false});
    binding_ = request->binding();
  }

  // Submits them, and is empty then. Adds up those that were accepted. Not ok: the status is about
  // the request behind them.
  Status Send(size_t* accepted) {
    if (all_.empty()) return Status::Ok();
    Status status = Guarded([&] { return Begin(); });
    if (status.ok()) {
      status = HandOver(accepted);
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
    bool refused = false;  // the request is this thread's
  };

  Status Begin() {
    for (const Member& one : all_) requests_.push_back(one.request);
    return binding_->client->Begin({requests_.data(), requests_.size()});
  }

  Status HandOver(size_t* accepted) {
    for (size_t i = 0; i < all_.size(); i++) {
      all_[i].submission = all_[i].request->submission();
      all_[i].request->place = i;
      // For the engine, and for this thread, which may see it end.
      all_[i].request->Retain(2);
    }
    // Later submissions of these requests may be to other versions.
    const std::shared_ptr<const Binding> binding = binding_;
    // A request that was accepted may have ended, and may even be in flight for another thread.
    const size_t charged = Charge(*binding, {requests_.data(), requests_.size()});
    ApiRequest* refused = Pass(*binding, {requests_.data(), charged}, now_ns_);
    for (; refused; refused = refused->next_ended) all_[refused->place].refused = true;
    for (size_t i = 0; i < charged; i++) {
      Member& one = all_[i];
      if (one.refused && one.request->gone) one.refused = !Retry(one.request);
    }
    size_t taken = charged;
    while (taken > 0 && all_[taken - 1].refused) taken--;
    Status status;
    if (taken < all_.size()) {
      status = all_[taken].request->refusal;
      Undo(taken, charged);
    }
    for (size_t i = 0; i < taken; i++) {
      ApiRequest* const request = all_[i].request;
      // The engine has accepted one behind it, so its refusal is a response.
      if (all_[i].refused) Fail(request);
      request->NoteSubmitted(all_[i].submission);
      request->Release();
    }
    *accepted += taken;
    return status;
  }

  // Makes the requests from `begin` on their caller's again. Those from `uncharged` on were never
  // with the engine.
  void Undo(size_t begin, size_t uncharged) {
    for (size_t i = uncharged; i < all_.size(); i++) all_[i].request->TakeBack(false);
    binding_->client->Withdraw({requests_.data() + begin, requests_.size() - begin});
    for (size_t i = begin; i < all_.size(); i++) {
      all_[i].request->Undo();
      all_[i].request->Release(2);
    }
  }

  // The version is gone: tries the one that serves now. False: the request was refused.
  bool Retry(ApiRequest* request) {
    for (int tries = 0; tries < kMostVersions; tries++) {
      const uint32_t except = request->binding()->served->uid();
      const uint64_t flush = request->header->flush;
      const Status status = Guarded([&] { return request->Build(now_ns_, flush, except); });
      if (!status.ok()) {
        request->refusal = status;
        return false;
      }
      const std::shared_ptr<const Binding> binding = request->binding();
      Request* one = request;
      if (Charge(*binding, {&one, 1}) == 0) {
        request->TakeBack(false);
        return false;
      }
      if (!Pass(*binding, {&one, 1}, now_ns_)) return true;
      if (!request->gone) return false;
    }
    return false;
  }

  const uint64_t now_ns_;
  SmallVector<Member, 64> all_;
  SmallVector<Request*, 64> requests_;
  std::shared_ptr<const Binding> binding_;
};

}  // namespace

bool KeepRefused(const Response& response, ApiRequest* request) noexcept {
  if (!t_submitting.client || t_submitting.client != &request->client()) return false;
  // Others may end on this thread meanwhile, such as those that waited too long.
  if (request->header->flush != t_submitting.flush) return false;
  if (!response.final || response.status.ok() || response.timings || response.abandoned) {
    return false;
  }
  request->charged = false;
  request->refusal = response.status;
  request->gone = response.unserved;
  request->TakeBack(false);
  request->next_ended = std::exchange(t_submitting.refused, request);
  return true;
}

Status SubmitRequests(std::span<ApiRequest* const> requests, size_t* accepted) noexcept {
  *accepted = 0;
  // No callback runs while requests are handed over.
  const HoldCalls hold;
  const uint64_t now = NowNs();
  Group group(now);
  const auto send = [&] { return group.Send(accepted); };
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
