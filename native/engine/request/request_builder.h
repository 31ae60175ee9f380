// Makes requests for the engine; there is no other way in. A port, a flight of an ensemble, a call
// of a Python model and a warm-up build their requests with it, and C callers will, too.
//
//   RequestBuilder builder({&header, sink, executor, now_ns});   header, group, call
//   builder.AddInput(index, datatype) and Lend / Keep / Pass / Read   the sources of the inputs
//   builder.WriteTo(output, place)                               targets of outputs, if a region
//   builder.Finish()                                             keys of the queue
//   request.Prepare(); Admission admission(...)                  budget, and calls between models
//   executor->Submit(requests)
//
// Senders of unchecked requests call FitToModel (version/shapes.h) and CheckRequest
// (version/check_request.h) before Finish. Outputs without a region as target go where the sink
// says (ResponseSink::Place, ResponseSink::Takes).
//
// Ownership: the sender (mostly the sink) owns the header, the requests and the memory that it
// lends, until the final response. A builder lives on the stack while one header is made. It
// allocates only to grow the header's vectors, which keep their memory between uses.
//
// Threads: only the thread that the idle header belongs to. The header is not shared until Submit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/base/rules.h"
#include "engine/memory/memory_copier.h"
#include "engine/request/call_graph.h"
#include "engine/request/executor.h"
#include "engine/request/region_use.h"
#include "engine/request/request.h"

namespace tritonts {

class RequestBuilder {
 public:
  struct Parts {
    RequestHeader* header = nullptr;
    ResponseSink* sink = nullptr;
    Executor* executor = nullptr;  // null: its version is gone, and the requests will be refused
    uint64_t arrival_ns = 0;
    uint64_t flush = 0;
    uint32_t requests = 1;  // requests that share the header
    // The outer request that the first of these requests serves, for example in an ensemble. The
    // others serve those behind it in its header. They inherit flush, priority, time-out,
    // parameters and sequences, their traces are parts of the outer ones, and their call is a step
    // of the outer call. Null: they serve no other request.
    const Request* serves = nullptr;
  };

  // Starts a header, and clears its previous use. The sink sets `streams`. Throws std::bad_alloc,
  // like all functions here.
  explicit RequestBuilder(const Parts& parts) : header_(*parts.header) {
    header_.sink = parts.sink;
    header_.executor = parts.executor;
    header_.batch_size = 1;
    header_.arrival_ns = parts.arrival_ns;
    header_.flush = parts.flush;
    header_.requests = parts.requests;
    header_.wanted.clear();
    if (header_.call) header_.call.reset();
    if (header_.regions) header_.regions.reset();
    if (header_.traces) header_.traces.reset();
    header_.inner = false;
    header_.ClearInputs();
    header_.ClearMarks();
    if (parts.serves) {
      Serve(*parts.serves);
    } else {
      header_.priority = header_.timeout_ns = 0;
      header_.parameters.clear();
    }
  }

  RequestHeader& header() { return header_; }

  // --- Inputs, in any order.
  InputTensor& AddInput(uint32_t index, DataType datatype) {
    InputTensor& input = header_.AddInput();
    input.index = index;
    input.datatype = datatype;
    input.shape.clear();
    return input;
  }
  // The source is memory that the sender keeps until the final response, such as a slab. It has the
  // bytes of the first request, followed by those of the other requests.
  void Lend(InputTensor* input, void* data, size_t size) {
    Pass(input, {data, size, MemoryKind::kHost, 0, {}});
  }
  // The source is a block, which the engine releases after it was last read.
  void Keep(InputTensor* input, BlockRef block, size_t size) {
    void* const data = block->data();
    Pass(input, {data, size, MemoryKind::kHost, 0, std::move(block)});
  }
  // The source is any memory: shared memory, device memory, a part of an HTTP body.
  void Pass(InputTensor* input, Buffer buffer) {
    TRITONTS_ASSERT(header_.requests == 1 || !buffer.owner || !IsHostMemory(buffer.kind),
                    "an input of several requests has an owner");
    input->first_chunks.push_back(std::move(buffer));
  }

  // The source is `size` bytes for each request from `range.data` on. The range's owner is kept
  // until the last request has ended. Requests get the owner only of device memory, because an
  // owner may write to the memory or keep it.
  void Read(InputTensor* input, const Buffer& range, size_t size) {
    regions().Hold(range.owner);
    Pass(input, {range.data, size, range.kind, range.device,
                 IsHostMemory(range.kind) ? BlockRef() : range.owner});
  }

  // --- Targets of outputs. `place` is the first request's, and those of the others follow it. Its
  // owner is kept until the last request has ended.
  void WriteTo(uint32_t output, Buffer place) { regions().Aim(output, std::move(place)); }
  // What the requests use of regions.
  RegionUse& regions() {
    if (!header_.regions) header_.regions = std::make_shared<RegionUse>(header_.requests);
    return *header_.regions;
  }

  // --- Everything besides inputs and targets.
  void SetRows(uint32_t rows) { header_.batch_size = std::max(1u, rows); }
  void Want(std::span<const int32_t> outputs) {
    header_.wanted.assign(outputs.begin(), outputs.end());
  }
  void Want(uint32_t output) { header_.wanted.push_back(output); }
  // The caller's priority and time-out; 0: not given. `parameters` is how many will be added.
  void SetAttributes(uint64_t priority, uint64_t timeout_us, size_t parameters = 0) {
    header_.priority = priority;
    header_.timeout_ns = std::min(timeout_us, UINT64_MAX / 1000) * 1000;
    header_.parameters.reserve(parameters);
  }
  void AddParameter(std::string_view name, std::variant<std::string, int64_t, double, bool> value) {
    header_.parameters.push_back({std::string(name), std::move(value)});
  }
  // The request at this position is one of a sequence. The id has at most kMostSequenceIdBytes
  // bytes.
  void SetSequence(uint32_t position, uint64_t number, std::string_view text, bool start,
                   bool end) {
    header_.AddMarks();
    SequenceMark& mark = header_.marks()[position];
    mark.id.number = text.empty() ? number : 0;
    mark.id.text.assign(text);
    mark.start = start;
    mark.end = end;
  }
  // The batch with this number makes the requests (call_graph.h).
  void CallBy(uint32_t number, const std::string& model) {
    header_.call = Call::Make(number, model);
    if (!header_.call) return;
    header_.inner = true;
    const TraceParent& trace = header_.call->trace();
    for (uint32_t i = 0; trace.id != 0 && i < header_.requests; i++) {
      traces().parents.push_back({i, trace});
    }
  }
  // A front end has begun this trace for the first request (engine/trace/tracer.h).
  void TraceAs(uint64_t id) { traces().chosen = id; }

  // Completes the header: its executor, if there is one, sets the queue's keys.
  void Finish() {
    if (header_.executor) header_.executor->SetQueueKeys(&header_);
  }

 private:
  void Serve(const Request& first) {
    const RequestHeader& outer = *first.header;
    header_.flush = outer.flush;
    header_.priority = outer.priority;
    header_.timeout_ns = outer.timeout_ns;
    header_.parameters = outer.parameters;
    header_.inner = true;
    if (outer.traces) {
      for (const auto& mark : outer.traces->own) {
        const uint32_t at = mark.position - first.position;  // huge if it is before the first
        if (at < header_.requests && mark.trace) traces().parents.push_back({at, mark.trace});
      }
    }
    if (!outer.marks().empty()) {
      header_.AddMarks();
      for (size_t i = 0; i < header_.requests; i++) {
        header_.marks()[i] = outer.marks()[first.position + i];
        header_.marks()[i].place = nullptr;
      }
    }
    if (outer.call) header_.call = Call::Step(outer.call, header_.executor->name());
  }

  HeaderTraces& traces() {
    if (!header_.traces) header_.traces = std::make_unique<HeaderTraces>();
    return *header_.traces;
  }

  RequestHeader& header_;
};

}  // namespace tritonts
