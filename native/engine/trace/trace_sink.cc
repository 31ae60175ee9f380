#include "engine/trace/trace_sink.h"

#include <new>

#include "engine/base/clock.h"
#include "engine/request/executor.h"
#include "engine/request/model_io.h"
#include "engine/request/trace_mark.h"
#include "engine/trace/trace_tree.h"

namespace tritonts {

TraceSink::TraceSink(RequestHeader* header, uint32_t requests, bool runs)
    : header_(header), behind_(header->sink), runs_(runs), open_(requests) {}

void TraceSink::Enclose(std::span<Request* const> requests, bool runs) {
  RequestHeader* const header = requests.front()->header;
  header->sink = new TraceSink(header, static_cast<uint32_t>(requests.size()), runs);
}

void TraceSink::Note(const Response& response, size_t at, uint64_t now_ns) {
  auto* const mark = FindMark(&header_->traces->own, response.request->position);
  if (!mark || !mark->trace) return;
  const TraceRef& trace = mark->trace;
  if (response.unserved) {
    trace.tree->Undo(trace.id);
    mark->trace = {};
    return;
  }
  if (trace.tree->wants_tensors()) {
    const auto& names = header_->executor->io().outputs;
    for (OutputTensor output : response.outputs) {
      output.data = static_cast<const char*>(output.data) + at * output.size;
      trace.tree->Output(trace.id, names[output.index].name, output);
    }
  }
  if (!response.final) return;
  // A batch of no rows says that a cache answered.
  const bool ran = runs_ && response.timings && response.timings->batch_size > 0;
  trace.tree->Finish(trace.id, ran ? response.timings : nullptr, response.status, now_ns);
  if (response.abandoned) {
    // The run's thread may be reading the mark.
    trace.tree->Close();
  } else {
    mark->trace = {};
  }
}

bool TraceSink::Leave(uint32_t finals) {
  if (finals == 0 || open_.fetch_sub(finals, std::memory_order_acq_rel) != finals) return false;
  if (abandoned_.load(std::memory_order_relaxed)) return false;
  header_->sink = behind_;
  header_->traces.reset();
  return true;
}

void TraceSink::Deliver(std::span<const Response> responses) {
  const uint64_t now_ns = NowNs();
  uint32_t finals = 0;
  {
    const TraceHandOver together;
    for (const Response& response : responses) {
      Note(response, 0, now_ns);
      if (response.final) finals++;
      if (response.abandoned) abandoned_.store(true, std::memory_order_relaxed);
    }
  }
  ResponseSink* const behind = behind_;
  const bool last = Leave(finals);
  behind->Deliver(responses);
  if (last) delete this;
}

void TraceSink::DeliverAlike(const AlikeResponses& alike) {
  const uint64_t now_ns = NowNs();
  Response response;
  response.outputs = alike.outputs;
  response.timings = alike.timings;
  size_t at = 0;
  {
    const TraceHandOver together;
    for (Request* request : alike.requests) {
      response.request = request;
      Note(response, at++, now_ns);
    }
  }
  ResponseSink* const behind = behind_;
  const bool last = Leave(static_cast<uint32_t>(alike.requests.size()));
  try {
    behind->DeliverAlike(alike);
  } catch (const std::bad_alloc&) {
    // It took none of them. They have left, so they cannot be delivered here once more.
    Response starved;
    starved.status = Status::NoMemory();
    starved.timings = alike.timings;
    for (Request* request : alike.requests) {
      starved.request = request;
      behind->Deliver({&starved, 1});
    }
  }
  if (last) delete this;
}

}  // namespace tritonts
