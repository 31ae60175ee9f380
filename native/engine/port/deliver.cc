// Delivers responses of a port: writes them to pages, which the JS thread takes.
#include <new>
#include <utility>
#include <vector>

#include "engine/base/abandon.h"
#include "engine/port/port.h"
#include "engine/port/writer.h"
#include "engine/request/call_graph.h"
#include "engine/request/region_use.h"

namespace tritonts {

namespace {

// How many responses, from the first on, fit in one record: equal errors to neighbours of a group.
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
  RequestHeader& header = *request->header;
  if (header.streams) header.streams[request->position].Forget();
  if (header.call) header.call->Ended(request->position);
  if (header.regions && header.regions->EndOne()) {
    // No other thread uses the inputs any more. They, too, may keep regions.
    for (InputTensor& input : header.inputs()) input.first_chunks.clear();
    header.regions.reset();
  }
  header.ReleaseChunks();
  request->set_state(Request::State::kIdle);
}

const Response& Port::Store(const Response& response, Response* failed) {
  const RegionUse* const regions = response.request->header->regions.get();
  if (!regions || !response.status.ok()) return response;
  Status status = MakeStatus([&] { return regions->Store(*response.request, response.outputs); });
  if (status.ok()) status = regions->CheckWhole();
  if (status.ok()) return response;
  *failed = response;
  failed->status = status;
  failed->outputs = {};
  failed->parameters.reset();
  failed->counted = 0;
  return *failed;
}

// The state of one delivery. It belongs to the delivering thread.
struct Port::Ended {
  explicit Ended(Port* port)
      : detached(port->detached()), here(port->IsHere()), writer(&port->pages_) {}

  const bool detached;
  const bool here;
  ResponseWriter writer;
  bool written = false;  // the current response was written
  bool abandoned = false;
  uint64_t count = 0;    // requests that are idle again
  uint64_t bytes = 0;    // charge of requests whose response will not be read
  RequestChain waiting;  // requests without memory for their response
};

void Port::End(const Response& response, Ended* ended) {
  Request* const request = response.request;
  ended->abandoned = ended->abandoned || response.abandoned;
  // Written only then. In other cases the JS thread may read the request meanwhile.
  if (response.unserved && ended->written) request->unserved = true;
  if (response.abandoned) request->abandoned = true;
  if (!ended->written && !ended->detached) {
    if (!response.abandoned) request->ReleaseInputs();
    ended->waiting.Append(request);
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
      responded_here_ = true;
    } else {
      waker_.Signal(timings);
    }
    // If Detach came first, it missed these pages, and this thread discards them. A later Detach
    // sees them.
    if (detached_) pages_.Discard();
  }
  if (!ended->waiting.empty()) {
    // This reference keeps the port while this thread uses it: other threads may end these requests
    // at once.
    references_.fetch_add(1);
    ended->count++;
    {
      std::lock_guard lock(waiting_mutex_);
      waiting_.Append(std::move(ended->waiting));
      some_wait_ = true;
    }
    // If the reserved page comes back after this check, the thread that brings it sees
    // `some_wait_`.
    if (detached_ || pages_.has_reserve()) RespondToWaiting();
  }
  if (ended->count > 0) Drop(ended->count);
}

void Port::Deliver(std::span<const Response> responses) {
  const BatchTimings* const timings = responses.front().timings;
  Ended ended(this);
  Response failed;
  while (!responses.empty()) {
    const size_t count = FailedAlike(responses);
    ended.written = !ended.detached && ended.writer.Write(Store(responses.front(), &failed),
                                                          static_cast<uint32_t>(count));
    // End the requests before the next response is written. That write may publish the page, and
    // then JavaScript may reuse the slots.
    for (const Response& response : responses.first(count)) {
      if (response.final) {
        End(response, &ended);
      } else if (!ended.written && !ended.detached && response.request->header->streams) {
        response.request->header->streams[response.request->position].NoteLost();
      }
    }
    responses = responses.subspan(count);
  }
  Finish(&ended, timings);
}

void Port::DeliverApart(const AlikeResponses& alike, size_t number, Ended* ended) {
  Response response;
  Response failed;
  response.request = alike.requests[number];
  response.timings = alike.timings;
  std::vector<OutputTensor> outputs;
  try {
    outputs.assign(alike.outputs.begin(), alike.outputs.end());
    for (OutputTensor& output : outputs) {
      output.data = static_cast<const char*>(output.data) + number * output.size;
    }
    response.outputs = outputs;
  } catch (const std::bad_alloc&) {
    response.status = no_response_;
  }
  ended->written = ended->writer.Write(Store(response, &failed), 1);
  End(response, ended);
}

void Port::DeliverAlike(const AlikeResponses& alike) {
  const bool fits = ResponseWriter::FitAlike(alike);
  if (!fits) {
    try {
      return ResponseSink::DeliverAlike(alike);
    } catch (const std::bad_alloc&) {
      // Nothing was delivered yet. The requests get errors below.
    }
  }
  Ended ended(this);
  Response response;
  const size_t all = alike.requests.size();
  for (size_t first = 0; first < all;) {
    if (fits && !ended.detached && alike.requests[first]->header->regions) {
      DeliverApart(alike, first++, &ended);
      continue;
    }
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
      response.status = no_response_;
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

void Port::RespondToWaiting() {
  RequestChain waiting;
  {
    std::lock_guard lock(waiting_mutex_);
    waiting = std::move(waiting_);
    some_wait_ = false;
  }
  if (waiting.empty()) return;
  Ended ended(this);
  Response response;
  response.status = no_response_;
  while (!waiting.empty()) {
    Request* const request = waiting.Pop();
    response.request = request;
    response.abandoned = request->abandoned;
    ended.written = !ended.detached && ended.writer.Write(response, 1);
    End(response, &ended);
  }
  ended.abandoned = false;  // AbandonSelf was called when they ended
  Finish(&ended, nullptr);
}

void Port::AbandonSelf() {
  try {
    Abandon(shared_from_this());
  } catch (const std::bad_alloc&) {
    references_.fetch_add(1);  // without memory, this reference abandons the port, too
  }
}

void Port::Drop(uint64_t references) {
  const uint64_t before = references_.fetch_sub(references);
  TRITONTS_ASSERT(before >= references, "a port got more answers than it asked for");
  if (before > references) return;
  // No other thread adds or drops a reference now. `last` may free this port when the function
  // returns.
  const std::shared_ptr<Port> last = std::move(self_);
}

}  // namespace tritonts
