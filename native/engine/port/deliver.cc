// A port's way out: responses are written to pages, which the JS thread takes.
#include <new>
#include <utility>

#include "engine/base/abandon.h"
#include "engine/port/port.h"
#include "engine/port/writer.h"

namespace tritonts {

namespace {

// How many of these, from the first on, are one record: errors of one text, of neighbours in a
// group.
size_t FailedAlike(std::span<const Response> responses) {
  const Response& first = responses.front();
  size_t count = 1;
  if (first.status.ok() || !first.final) return count;
  for (; count < responses.size(); count++) {
    const Response& next = responses[count];
    if (next.request->header != first.request->header ||
        next.request->position != first.request->position + count ||
        !next.status.SameAs(first.status) || !next.final || next.limited != first.limited ||
        next.unserved != first.unserved || next.timings != first.timings) {
      break;
    }
  }
  return count;
}

}  // namespace

void Port::TakeBack(Request* request) {
  request->header->ReleaseChunks();
  request->set_state(Request::State::kIdle);
}

// What a delivery did, as one thread has it.
struct Port::Ended {
  explicit Ended(Port* port)
      : detached(port->detached()), here(port->IsHere()), writer(&port->pages_) {}

  const bool detached;
  const bool here;
  ResponseWriter writer;
  bool written = false;  // the response at hand is
  bool abandoned = false;
  uint64_t count = 0;    // requests that are the port's again
  uint64_t bytes = 0;    // counted of those that nobody reads of
  RequestChain waiting;  // those that there was no memory for
};

void Port::End(const Response& response, Ended* ended) {
  Request* const request = response.request;
  ended->abandoned = ended->abandoned || response.abandoned;
  // Else not written to: the JS thread may look at it.
  if (response.unserved && ended->written) request->unserved = true;
  if (response.abandoned) request->abandoned = true;
  if (!ended->written && !ended->detached) {
    if (!response.abandoned) request->ReleaseInputs();
    request->next = nullptr;
    ended->waiting.Append({request, request});
    return;
  }
  if (ended->written) {
    ended->writer.NoteEnds({&request, 1});
  } else if (request->charged) {
    ended->bytes += request->header->accounted_bytes;
  }
  ended->count++;
  if (!response.abandoned) TakeBack(request);
}

void Port::Finish(Ended* ended, const BatchTimings* timings) {
  if (ended->abandoned) AbandonSelf();
  budget_.Release(ended->bytes);
  if (ended->writer.Finish()) {
    if (ended->here) {
      answered_here_ = true;
    } else {
      waker_.Signal(timings);
    }
    // Who detached it before that did not see these pages; who does it after that sees them.
    if (detached_) pages_.Discard();
  }
  if (ended->waiting.first) {
    // As long as this thread is here: others may answer them at once.
    references_.fetch_add(1);
    ended->count++;
    {
      std::lock_guard lock(waiting_mutex_);
      waiting_.Append(ended->waiting);
      some_wait_ = true;
    }
    // Whoever brings the reserved page back after this sees that some wait.
    if (detached_ || pages_.has_reserve()) AnswerUnanswered();
  }
  if (ended->count > 0) Drop(ended->count);
}

void Port::Deliver(std::span<const Response> responses) {
  const BatchTimings* const timings = responses.front().timings;
  Ended ended(this);
  while (!responses.empty()) {
    const size_t count = FailedAlike(responses);
    ended.written =
        !ended.detached && ended.writer.Write(responses.front(), static_cast<uint32_t>(count));
    // Before the next one: that may hand the page over, and then the slots are used again.
    for (const Response& response : responses.first(count)) {
      if (response.final) End(response, &ended);
    }
    responses = responses.subspan(count);
  }
  Finish(&ended, timings);
}

void Port::DeliverAlike(const AlikeResponses& alike) {
  const bool fits = ResponseWriter::FitAlike(alike);
  if (!fits) {
    try {
      return ResponseSink::DeliverAlike(alike);
    } catch (const std::bad_alloc&) {
      // Nothing was delivered yet.
    }
  }
  Ended ended(this);
  Response response;
  const size_t all = alike.requests.size();
  for (size_t first = 0; first < all;) {
    size_t count = ended.detached ? all : 0;
    if (fits && !ended.detached) count = ended.writer.WriteAlike(alike, first);
    if (count > 0 && !ended.detached) {
      const std::span<Request* const> requests = alike.requests.subspan(first, count);
      ended.writer.NoteEnds(requests);
      for (Request* request : requests) TakeBack(request);
      ended.count += count;
      first += count;
      continue;
    }
    ended.written = false;
    if (count == 0) {
      count = 1;
      response.request = alike.requests[first];
      response.status = no_answer_;
      ended.written = ended.writer.Write(response, 1);
    }
    for (Request* request : alike.requests.subspan(first, count)) {
      response.request = request;
      End(response, &ended);
    }
    first += count;
  }
  Finish(&ended, alike.timings);
}

void Port::AnswerUnanswered() {
  RequestChain waiting;
  {
    std::lock_guard lock(waiting_mutex_);
    waiting = std::exchange(waiting_, {});
    some_wait_ = false;
  }
  if (!waiting.first) return;
  Ended ended(this);
  Response response;
  response.status = no_answer_;
  for (Request* left = waiting.first; left;) {
    Request* const request = std::exchange(left, left->next);
    response.request = request;
    response.abandoned = request->abandoned;
    ended.written = !ended.detached && ended.writer.Write(response, 1);
    End(response, &ended);
  }
  ended.abandoned = false;  // that was seen to when they ended
  Finish(&ended, nullptr);
}

void Port::AbandonSelf() {
  try {
    Abandon(shared_from_this());
  } catch (const std::bad_alloc&) {
    references_.fetch_add(1);  // by itself
  }
}

void Port::Drop(uint64_t references) {
  const uint64_t before = references_.fetch_sub(references);
  TRITONTS_ASSERT(before >= references, "a port got more answers than it asked for");
  if (before > references) return;
  // Nobody else adds or drops one now; freed at the end, maybe with this port.
  const std::shared_ptr<Port> last = std::move(self_);
}

}  // namespace tritonts
