#include "engine/version/layers.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/base/rules.h"
#include "engine/request/admission.h"

namespace tritonts {

namespace {

// The call of Layers::Submit that this thread is in; 0: none.
thread_local uint64_t current_submission = 0;
std::atomic<uint64_t> last_submission{0};

class SubmissionScope {
 public:
  explicit SubmissionScope(uint64_t submission)
      : outer_(std::exchange(current_submission, submission)) {}
  ~SubmissionScope() { current_submission = outer_; }
  SubmissionScope(const SubmissionScope&) = delete;
  SubmissionScope& operator=(const SubmissionScope&) = delete;

 private:
  const uint64_t outer_;
};

// How many requests, from the first on, share its header.
size_t OfOneHeader(std::span<Request* const> requests) {
  size_t count = 1;
  while (count < requests.size() && requests[count]->header == requests.front()->header) count++;
  return count;
}

size_t OfOneHeader(std::span<const Response> responses) {
  const RequestHeader* const header = responses.front().request->header;
  size_t count = 1;
  while (count < responses.size() && responses[count].request->header == header) count++;
  return count;
}

}  // namespace

void LayerSink::Deliver(std::span<const Response> responses) {
  layers_->Leave(this, layers_->layers_.size(), responses);
}

void LayerSink::DeliverAlike(const AlikeResponses& alike) {
  layers_->LeaveAlike(this, layers_->layers_.size(), alike);
}

Layers::Layers(Inside inside, Status no_memory)
    : inside_(std::move(inside)), no_memory_(std::move(no_memory)) {}

Layers::~Layers() {
  TRITONTS_ASSERT(idle(), "a version was freed with requests in its layers");
  // A layer may still be in a call of the chain, for which its destructor waits.
  layers_.clear();
}

void Layers::Add(std::unique_ptr<Layer> layer) {
  layers_.push_back(std::move(layer));
  layers_.back()->chain_ = this;
  layers_.back()->place_ = layers_.size() - 1;
}

LayerSink* Layers::Take() noexcept {
  std::lock_guard lock(mutex_);
  if (!free_) {
    try {
      sinks_.reserve(sinks_.size() + 1);
      sinks_.push_back(std::make_unique<LayerSink>(this));
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    return sinks_.back().get();
  }
  return std::exchange(free_, free_->next);
}

void Layers::PutBack(LayerSink* sink) noexcept {
  std::lock_guard lock(mutex_);
  sink->next = std::exchange(free_, sink);
}

void Layers::Submit(std::span<Request* const> requests, uint64_t now_ns,
                    InlineTime* inline_time) noexcept {
  const uint64_t submission = last_submission.fetch_add(1, std::memory_order_relaxed) + 1;
  size_t taken = 0;
  while (taken < requests.size()) {
    const auto some = requests.subspan(taken, OfOneHeader(requests.subspan(taken)));
    LayerSink* const sink = Take();
    if (!sink) break;
    RequestHeader* const header = some.front()->header;
    sink->behind = std::exchange(header->sink, sink);
    sink->open.store(static_cast<uint32_t>(some.size()), std::memory_order_relaxed);
    sink->submission = submission;
    taken += some.size();
  }
  const auto starved = requests.subspan(taken);
  if (taken > 0) {
    open_.fetch_add(taken, std::memory_order_relaxed);
    inside_.came(static_cast<uint32_t>(taken));
    const SubmissionScope scope(submission);
    PassOn(0, requests.first(taken), now_ns, inline_time);
  }
  if (starved.empty()) return;
  Response like;
  like.status = no_memory_;
  Refuse(starved, like);
}

void Layers::Abort(const Status& status) noexcept {
  for (const auto& layer : layers_) layer->Abort(status);
}

void Layers::PassOn(size_t place, std::span<Request* const> requests, uint64_t now_ns,
                    InlineTime* inline_time) noexcept {
  if (requests.empty()) return;
  if (place < layers_.size()) {
    layers_[place]->Submit(requests, now_ns, inline_time);
  } else {
    inside_.submit(requests, now_ns, inline_time);
  }
}

void Layers::PassCancel(size_t place, std::span<Request* const> requests) noexcept {
  if (requests.empty()) return;
  if (place < layers_.size()) {
    layers_[place]->Cancel(requests);
  } else {
    inside_.cancel(requests);
  }
}

void Layers::PassBack(size_t place, std::span<const Response> responses) noexcept {
  while (!responses.empty()) {
    const auto some = responses.first(OfOneHeader(responses));
    responses = responses.subspan(some.size());
    // The requests are inside, so their header's sink is a LayerSink.
    Leave(static_cast<LayerSink*>(some.front().request->header->sink), place, some);
  }
}

void Layers::PassBackAlike(size_t place, const AlikeResponses& alike) noexcept {
  RequestHeader* const header = alike.requests.front()->header;
  const auto sink = static_cast<LayerSink*>(header->sink);
  try {
    return LeaveAlike(sink, place, alike);
  } catch (const std::bad_alloc&) {
    // Nothing was delivered.
  }
  Response starved;
  starved.status = no_memory_;
  for (Request* request : alike.requests) {
    starved.request = request;
    Leave(sink, place, {&starved, 1});
  }
}

LayerCounts Layers::counts() const noexcept {
  LayerCounts counts;
  for (const auto& layer : layers_) layer->AddTo(&counts);
  return counts;
}

void Layers::Leave(LayerSink* sink, size_t place, std::span<const Response> responses) noexcept {
  // During Submit the sender takes an unserved request to another version. After Submit it cannot,
  // because the inputs are gone.
  const bool unserved = std::any_of(responses.begin(), responses.end(),
                                    [](const Response& one) { return one.unserved; });
  if (unserved && sink->submission != current_submission) {
    for (Response response : responses) {
      response.unserved = false;
      Leave(sink, place, {&response, 1});
    }
    return;
  }
  while (place > 0) layers_[--place]->See(responses);
  RequestHeader* const header = responses.front().request->header;
  ResponseSink* const behind = sink->behind;
  uint32_t finals = 0;
  for (const Response& response : responses) {
    if (response.final) finals++;
    if (response.abandoned) sink->abandoned.store(true, std::memory_order_relaxed);
  }
  NoteFinals(sink, header, finals);
  behind->Deliver(responses);
  NoteDelivered(finals);
}

void Layers::LeaveAlike(LayerSink* sink, size_t place, const AlikeResponses& alike) {
  if (place > 0) {
    const ExpandedResponses expanded(alike);
    while (place > 0) layers_[--place]->See(expanded.responses());
  }
  ResponseSink* const behind = sink->behind;
  const auto finals = static_cast<uint32_t>(alike.requests.size());
  NoteFinals(sink, alike.requests.front()->header, finals);
  try {
    behind->DeliverAlike(alike);
  } catch (const std::bad_alloc&) {
    // It took none of them.
    Response starved;
    starved.status = no_memory_;
    starved.timings = alike.timings;
    for (Request* request : alike.requests) {
      starved.request = request;
      behind->Deliver({&starved, 1});
    }
  }
  NoteDelivered(finals);
}

void Layers::NoteFinals(LayerSink* sink, RequestHeader* header, uint32_t finals) {
  if (finals == 0) return;
  ResponseSink* const behind = sink->behind;
  if (sink->open.fetch_sub(finals, std::memory_order_acq_rel) == finals &&
      !sink->abandoned.load(std::memory_order_relaxed)) {
    header->sink = behind;
    PutBack(sink);
  }
}

void Layers::NoteDelivered(uint32_t finals) {
  if (finals == 0) return;
  inside_.left(finals);
  if (open_.fetch_sub(finals, std::memory_order_acq_rel) == finals) inside_.idle();
}

}  // namespace tritonts
