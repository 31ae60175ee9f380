#include "c_api/submit.h"

#include <new>
#include <utility>

#include "c_api/calls.h"
#include "c_api/client.h"
#include "c_api/wake.h"
#include "engine/base/clock.h"
#include "engine/base/small_vector.h"
#include "engine/request/admission.h"
#include "engine/request/budget.h"
#include "engine/version/inline_time.h"
#include "engine/version/occupied.h"

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
ApiRequest* Pass(const Binding& binding, std::span<Request* const> requests, uint64_t now_ns,
                 InlineTime* inline_time = nullptr) {
  if (requests.empty()) return nullptr;
  // A batch that runs on this thread may submit, too.
  const Submitting outer =
      std::exchange(t_submitting, {binding.client.get(), requests[0]->header->flush, nullptr});
  binding.served->Submit(requests, now_ns, inline_time);
  return std::exchange(t_submitting, outer).refused;
}

// The time for batches on this thread during a submission; null: none may run here. The thread has
// one submission with it at a time, and no callback or batch uses it.
InlineTime* InlineTimeHere(bool runs) {
  if (!runs || InCallback() || HoldsCalls() || Occupied::Here()) return nullptr;
  thread_local InlineTime inline_time;
  inline_time.spent_ns = 0;
  return &inline_time;
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

// Submits a request to the version that serves now. `except`: one that has refused it, or 0. False:
// the request was refused.
bool Retry(ApiRequest* request, uint64_t now_ns, uint32_t except) {
  for (int tries = 0; tries < kMostVersions; tries++) {
    const uint64_t flush = request->client().NextFlush();
    const Status status = Guarded([&] { return request->Build(now_ns, flush, except); });
    if (!status.ok()) {
      const bool sleeps = request->model()->Sleeps();
      request->refusal = sleeps ? AwaitWake(request) : status;
      return request->refusal.ok();
    }
    const std::shared_ptr<const Binding> binding = request->binding();
    Request* one = request;
    if (Charge(*binding, {&one, 1}) == 0) {
      request->TakeBack(false);
      return false;
    }
    if (!Pass(*binding, {&one, 1}, now_ns)) return true;
    if (!request->gone) return false;
    except = binding->served->uid();
  }
  return false;
}

// Has a request of a lazy model that is not loaded wait for it.
Status SubmitAsleep(ApiRequest* request) noexcept {
  Request* const one = request;
  Status status = Guarded([&] { return request->client().Begin({&one, 1}); });
  if (!status.ok()) {
    request->Undo();
    return status;
  }
  // For the submission.
  request->Retain();
  status = AwaitWake(request);
  if (status.ok()) return status;
  request->client().Withdraw({&one, 1});
  request->Undo();
  request->Release();
  return status;
}

// The accepted requests of one version, while they are handed over.
class Group {
 public:
  // `inline_time`: for batches on this thread; null: there are none.
  Group(uint64_t now_ns, InlineTime* inline_time) : now_ns_(now_ns), inline_time_(inline_time) {}

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
    ApiRequest* refused = Pass(*binding, {requests_.data(), charged}, now_ns_, inline_time_);
    for (; refused; refused = refused->next_ended) all_[refused->place].refused = true;
    for (size_t i = 0; i < charged; i++) {
      Member& one = all_[i];
      if (!one.refused || !one.request->gone) continue;
      one.refused = !Retry(one.request, now_ns_, one.request->binding()->served->uid());
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

  const uint64_t now_ns_;
  InlineTime* const inline_time_;
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

void SubmitWoken(ApiRequest* request, const Status& woken) noexcept {
  const HoldCalls hold;
  const uint64_t submission = request->submission();
  // For this thread, which may see it end.
  request->Retain();
  request->refusal = woken;
  if (!woken.ok() || !Retry(request, NowNs(), 0)) request->EndUnsent(request->refusal);
  request->NoteSubmitted(submission);
  request->Release();
}

Status SubmitRequests(std::span<ApiRequest* const> requests, bool runs, size_t* accepted) noexcept {
  *accepted = 0;
  InlineTime* const inline_time = InlineTimeHere(runs);
  // No callback runs while requests are handed over.
  const HoldCalls hold;
  const uint64_t now = NowNs();
  Group group(now, inline_time);
  const auto send = [&] { return group.Send(accepted); };
  uint64_t flush = 0;
  const Client* flushed = nullptr;
  for (ApiRequest* request : requests) {
    bool sleeps = false;
    Status status = Guarded([&] {
      Status begun = request->Begin();
      if (!begun.ok()) return begun;
      if (flushed != &request->client()) {
        flushed = &request->client();
        flush = request->client().NextFlush();
      }
      // None overtakes earlier ones that wait for the model.
      sleeps = request->model()->sleepers().Holds();
      if (sleeps) return begun;
      Status built = Guarded([&] { return request->Build(now, flush); });
      sleeps = !built.ok() && request->model()->Sleeps();
      if (!built.ok() && !sleeps) request->Undo();
      return built;
    });
    if (sleeps) {
      // Those before it are accepted first, so that none is behind one that is refused.
      if (Status sent = send(); !sent.ok()) {
        request->Undo();
        return sent;
      }
      if (Status asleep = SubmitAsleep(request); !asleep.ok()) return asleep;
      ++*accepted;
      continue;
    }
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
