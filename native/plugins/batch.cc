#include "plugins/batch.h"

#include <algorithm>
#include <new>

#include "engine/base/clock.h"
#include "plugins/gather_watch.h"

namespace tritonts::plugins {

namespace {

// The batch whose Execute is on this thread.
thread_local Batch* executing = nullptr;

}  // namespace

bool Batch::terminated() const {
  return pool_->terminated();
}

bool Batch::IsCancelled(TRITONBACKEND_Request* request) const {
  // With the lock, so that its sender does not get it back meanwhile.
  const std::lock_guard lock(request->lock);
  return request->final == TRITONBACKEND_Request::Final::kMade ||
         run_->requests()[request->position]->cancelled.load(std::memory_order_relaxed);
}

// --- The pool.

BatchPool::~BatchPool() {
  while (Batch* const batch = idle_) {
    idle_ = batch->next_;
    delete batch;
  }
}

Batch* BatchPool::Acquire(Run& run) {
  Batch* batch = nullptr;
  {
    const std::lock_guard lock(lock_);
    if (idle_ && idle_requests_ - idle_->ended_ >= kSetAside) {
      batch = idle_;
      idle_ = batch->next_;
      idle_requests_ -= batch->ended_;
    }
  }
  if (!batch) batch = new Batch();
  try {
    batch->Assign(run, shared_from_this());
  } catch (const std::bad_alloc&) {
    Return(batch);
    throw;
  }
  return batch;
}

void BatchPool::Return(Batch* batch) {
  const std::lock_guard lock(lock_);
  batch->next_ = nullptr;
  (idle_ ? last_idle_->next_ : idle_) = batch;
  last_idle_ = batch;
  idle_requests_ += batch->ended_;
}

void Batch::Assign(Run& run, std::shared_ptr<BatchPool> pool) {
  const auto count = static_cast<uint32_t>(run.requests().size());
  const ModelIo& io = pool->tensors().io;
  requests_.reserve(count);
  handles_.reserve(count);
  gathered_.reserve(count);
  delivering_.reserve(count);
  flushing_.reserve(count);
  shared_.Reserve(io.outputs.size());
  while (requests_.size() < count) {
    requests_.push_back(std::make_unique<TRITONBACKEND_Request>(
        this, static_cast<uint32_t>(requests_.size()), io.inputs.size(), io.outputs.size()));
    handles_.push_back(requests_.back().get());
  }
  for (uint32_t i = 0; i < count; i++) {
    TRITONBACKEND_Request& request = *requests_[i];
    request.holders = 1;
    request.held = true;
    request.final = TRITONBACKEND_Request::Final::kNone;
    request.empty = request.answered = false;
    request.placed = request.borrower = nullptr;
    request.placed_with_sender = false;
    request.shared = 0;
    // A plug-in may have changed the order of the array.
    handles_[i] = &request;
  }
  shares_ = count > 1 && !pool->tensors().decoupled && io.max_batch_size > 0 &&
            run.kept_outputs().empty();
  run_ = RunRef(run);
  pool_ = std::move(pool);
  tensors_ = &pool_->tensors();
  references_.store(count + 1, std::memory_order_relaxed);
}

// --- Execute.

void Batch::Begin(bool gathers, bool watched) {
  // A call of the plug-in may run a batch of another model on this thread.
  outer_ = std::exchange(executing, this);
  // The response of a single request waits for no other.
  gathers_ = gathers && size() > 1;
  to_watch_ = watched;
}

bool Batch::executes_here() const {
  return executing == this;
}

Status Batch::Named(const Status& status) const {
  if (status.message().find("'" + tensors().model + "'") != std::string::npos) return status;
  return Status(status.code(),
                "model '" + tensors().model + "': " +
                    (status.message().empty() ? "its backend gave an error without a text"
                                              : status.message()),
                status.reason());
}

void Batch::End(const Status& given) {
  if (!given.ok()) {
    const Status status = MakeStatus([&] { return Named(given); });
    for (uint32_t i = 0; i < size(); i++) {
      TRITONBACKEND_Request& request = *requests_[i];
      {
        const std::lock_guard lock(request.lock);
        if (!request.held) continue;
        request.held = false;
        if (request.final == TRITONBACKEND_Request::Final::kNone) request.status = status;
        request.final = TRITONBACKEND_Request::Final::kMade;
      }
      Deliver(&request);
      DropHolder(&request);
    }
  }
  DeliverGathered();
  if (std::exchange(watched_, false)) GatherWatch::Remove(this);
  executing = outer_;
  Drop();
}

void Batch::Drop() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (uint32_t i = 0; i < size(); i++) {
    TRITONBACKEND_Request& request = *requests_[i];
    for (uint32_t k = 0; k < request.state_count; k++) {
      request.states[k]->live = false;
      request.states[k]->buffer = Buffer();
    }
    request.state_count = 0;
    if (!request.status.ok()) request.status = Status();
  }
  shared_.Clear();
  ended_ = size();
  run_ = RunRef();
  // The pool may end with this.
  const std::shared_ptr<BatchPool> pool = std::move(pool_);
  pool->Return(this);
}

// --- Final responses.

void Batch::Deliver(TRITONBACKEND_Request* request) {
  // Nothing drops outputs of the request any more.
  if (request->state_count > 0) DeclareStates(*request);
  // A callback of a delivery may cause another one on this thread.
  if (executing != this || !gathers_ || !delivering_.empty()) return DeliverNow(request);
  // Without the watch, no other thread looks.
  if (!to_watch_) return gathered_.push_back(request);
  {
    const std::lock_guard lock(gather_lock_);
    if (gathered_.empty()) first_gathered_ns_ = NowNs();
    gathered_.push_back(request);
  }
  if (watched_) return;
  watched_ = GatherWatch::Add(this);
  if (watched_) return;
  gathers_ = false;
  DeliverGathered();
}

void Batch::DeliverNow(TRITONBACKEND_Request* request) {
  if (request->empty) return run_->EndResponses(request->position);
  if (request->shared != 0 && request->status.ok()) {
    shared_.Declare(*run_, request->position, request->shared);
  }
  run_->Respond(request->position, request->status, true);
}

void Batch::DeliverGathered() {
  {
    const std::lock_guard lock(gather_lock_);
    if (gathered_.empty()) return;
    delivering_.swap(gathered_);
  }
  DeliverAll(delivering_);
  delivering_.clear();
}

void Batch::DeliverAll(const std::vector<TRITONBACKEND_Request*>& requests) {
  const uint64_t shared = requests.front()->shared;
  const auto is_like_first = [shared](const TRITONBACKEND_Request* one) {
    return one->status.ok() && !one->empty && one->shared == shared;
  };
  if (requests.size() == size() && std::all_of(requests.begin(), requests.end(), is_like_first)) {
    shared_.DeclareAll(*run_, shared);
    run_->RespondAll(Status::Ok());
  } else {
    for (TRITONBACKEND_Request* const one : requests) DeliverNow(one);
  }
}

void Batch::DropHolder(TRITONBACKEND_Request* request) {
  bool is_forgotten = false;
  {
    const std::lock_guard lock(request->lock);
    if (--request->holders > 0) return;
    is_forgotten = request->final == TRITONBACKEND_Request::Final::kNone;
    request->final = TRITONBACKEND_Request::Final::kMade;
  }
  if (is_forgotten) {
    run_->Respond(request->position, MakeStatus([&] {
                    return Status::Internal(
                        "model '" + tensors().model +
                        "': its backend released the request without a final response, and has "
                        "neither a response nor a factory left that could send one");
                  }));
  }
  Drop();
}

}  // namespace tritonts::plugins
