// One inference request, as schedulers, backends and sinks see it.
//
// Ownership: the sink owns the memory of its requests. It prepares a request (a port does so on the
// JS thread) and gives it to the engine with Executor::Submit. From then on only the engine may
// touch it, and while it is in a run, only that run. When its final response is delivered, it
// belongs to the sink again. Other threads may only set `cancelled` and read the state meanwhile.
//
//            Submit              a scheduler takes it           final response
//   submitted ------> queued ------------------------> running ----------------> done
//       |                |   <------------------------    |                       |
//       |                |            Reschedule                                  | the sink is
//       |                |                                                        | through with it
//       +----------------+--------------------------------------------------> done --> idle
//         refused          cancelled, expired, drained
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/datatype.h"
#include "engine/base/small_vector.h"
#include "engine/memory/buffer.h"
#include "engine/request/sequence_mark.h"
#include "engine/request/trace_mark.h"

namespace tritonts {

class Call;
class Executor;
class RegionUse;
class Request;
class ResponseSink;
class StreamCount;

// A named parameter that a caller passes to the model with a request, or that the model returns
// with a response.
struct RequestParameter {
  std::string name;
  std::variant<std::string, int64_t, double, bool> value;
};

// The parameters of a response, each name once (response_parameters.h). They never change, and are
// shared because sinks may keep them. Null: the response has none.
using ResponseParameters = std::shared_ptr<const std::vector<RequestParameter>>;

struct InputTensor {
  uint32_t index = 0;  // position in the model's inputs
  DataType datatype = DataType::kInvalid;
  // True for overlays (row_inputs.h): the bytes belong to one request, whatever its position in the
  // header.
  bool of_one = false;
  SmallVector<int64_t, 4> shape;  // full shape, with the batch dimension if the model has one
  // The bytes of the header's first request, in order: one chunk, except for HTTP bodies. If
  // several requests share the header, there is one chunk, and the bytes of the other requests
  // follow it. That chunk has no owner, unless it is in device memory.
  SmallVector<Buffer, 1> first_chunks;

  size_t byte_size() const {
    size_t size = 0;
    for (const Buffer& chunk : first_chunks) size += chunk.size;
    return size;
  }
};

// Everything about a request except its bytes. Requests that are submitted together and differ only
// in their bytes, and in their sequences, share a header, like those of a port's group. Requests
// whose bytes are part
// of `shape_key` (shape tensors) do not. Owned by the sink. While one of its requests is not idle,
// only ReleaseChunks and the queue (`waiting`) change it.
struct RequestHeader {
  ResponseSink* sink = nullptr;  // not owned; outlives its requests (response_sink.h)
  Executor* executor = nullptr;  // not owned; outlives the requests that it accepted
  uint32_t batch_size = 1;       // rows: max(1, first dim)
  uint64_t arrival_ns = 0;       // when its tick was submitted
  uint64_t flush = 0;            // number of that tick
  // The variable dims, without the batch dimension, which inputs are present, and the values of
  // shape tensors (shape_values.h). Requests batch together only if their keys are equal. Empty for
  // models whose dims are all fixed.
  std::vector<int64_t> shape_key;
  // The outputs that the caller wants; empty: all outputs.
  std::vector<uint32_t> wanted;
  // The caller's priority, time-out and parameters; 0: not given.
  uint64_t priority = 0;
  uint64_t timeout_ns = 0;
  std::vector<RequestParameter> parameters;
  // The call that the requests belong to, if a model made them while it ran a batch (call_graph.h).
  // Null: no model did.
  std::shared_ptr<Call> call;
  // Outputs that go to regions, and what keeps regions alive (region_use.h). Null: the requests use
  // no region.
  std::shared_ptr<RegionUse> regions;
  // The traces of the requests. Null: neither they nor what caused them is traced.
  std::unique_ptr<HeaderTraces> traces;
  // Derived by the executor from priority and time-out (queue_policy.h): the level at which the
  // requests wait, and their deadline (NowNs' clock; 0: none).
  uint64_t level = 0;
  uint64_t deadline_ns = 0;
  uint32_t requests = 1;  // how many share the header
  // The requests are null rows: they have no caller, and fill the empty slots of a batch
  // (row_inputs.h).
  bool null_row = false;
  // Another request caused them: they are steps of an ensemble, or calls of a model's batch.
  bool inner = false;
  // Used by the queue in which the requests wait until their deadline (policy_queue.h): the number
  // of waiting requests, the first of them, and the header's place in the heap of deadlines.
  struct Waiting {
    uint32_t count = 0;
    Request* first = nullptr;
    size_t place = 0;
  };
  Waiting waiting = {};
  // Of a decoupled model: the unread responses of each request, by position (stream_count.h). Null:
  // unread responses are not counted, and any number may be sent. Not owned.
  StreamCount* streams = nullptr;
  // For the sink's use: its name for the requests (slot, generation); the bytes that each request
  // is charged until it ends; and the part of that charge that lasts until the response is read.
  uint32_t slot = 0;
  uint32_t generation = 0;
  uint64_t accounted_bytes = 0;
  uint32_t range_bytes = 0;

  // The present inputs, in the order of the model's inputs. Their memory is kept between uses.
  std::span<InputTensor> inputs() { return {inputs_.data(), input_count_}; }
  std::span<const InputTensor> inputs() const { return {inputs_.data(), input_count_}; }
  const InputTensor* input(uint32_t index) const {
    if (index < input_count_ && inputs_[index].index == index) return &inputs_[index];
    for (uint32_t i = 0; i < input_count_; i++) {
      if (inputs_[i].index == index) return &inputs_[i];
    }
    return nullptr;
  }
  InputTensor& AddInput() {
    if (input_count_ == inputs_.size()) inputs_.push_back(InputTensor());
    InputTensor& input = inputs_[input_count_++];
    input.first_chunks.clear();
    return input;
  }
  void ClearInputs() {
    for (InputTensor& input : inputs()) input.first_chunks.clear();
    input_count_ = 0;
  }
  // Releases memory that the inputs own. Does nothing if several requests share the header.
  void ReleaseChunks() {
    if (requests > 1) return;
    for (uint32_t i = 0; i < input_count_; i++) {
      SmallVector<Buffer, 1>& chunks = inputs_[i].first_chunks;
      for (const Buffer& chunk : chunks) {
        if (!chunk.owner) continue;
        chunks.clear();
        break;
      }
    }
  }
  // By position: the sequence of each request. Empty: none of the requests has one.
  std::span<SequenceMark> marks() { return {marks_.data(), mark_count_}; }
  std::span<const SequenceMark> marks() const { return {marks_.data(), mark_count_}; }
  // Gives each request a mark without an id, unless they have marks. Throws std::bad_alloc.
  void AddMarks() {
    if (mark_count_ > 0) return;
    if (marks_.size() < requests) marks_.resize(requests);
    mark_count_ = requests;
  }
  void ClearMarks() {
    for (SequenceMark& mark : marks()) mark.Clear();
    mark_count_ = 0;
  }
  bool Wants(uint32_t output) const {
    if (wanted.empty()) return true;
    for (const uint32_t index : wanted) {
      if (index == output) return true;
    }
    return false;
  }

 private:
  SmallVector<InputTensor, 1> inputs_;
  uint32_t input_count_ = 0;
  std::vector<SequenceMark> marks_;  // unused ones have no id
  uint32_t mark_count_ = 0;
};

// Small, so that the requests of a batch fit in the L1 cache: the engine iterates over them several
// times.
class Request {
 public:
  // kIdle: the request belongs to the sink. kDone: the engine has made the final response, and the
  // sink has not finished with it. The diagram above shows the transitions.
  enum class State : uint8_t { kIdle, kSubmitted, kQueued, kRunning, kDone };

  // Links of the queue (request_queue.h) or chain (request_chain.h) that it is in.
  Request* next = nullptr;
  Request* previous = nullptr;
  RequestHeader* header = nullptr;  // not owned
  uint32_t position = 0;            // its index among the header's requests
  static constexpr uint32_t kUnbound = ~0u;
  // A note of the executor that has the request.
  union {
    // Of a version: the only instance that may run the request, for example because of its
    // sequence; kUnbound: any instance may.
    uint32_t bound = kUnbound;
    // Of an ensemble: the index of the request's flight.
    uint32_t flight;
  };
  bool queued = false;
  bool delayed = false;   // missed its deadline: other requests of its level go first
  bool released = false;  // its inputs were released: their bytes must not be read
  // For the sink's use: whether the request is charged in the budget, and how it ended.
  bool charged = false;
  bool unserved = false;
  bool abandoned = false;
  std::atomic<bool> cancelled{false};

  State state() const { return state_.load(std::memory_order_acquire); }
  // Called only by the present owner of the request, as its last step before it hands the request
  // over.
  void set_state(State state) { state_.store(state, std::memory_order_release); }

  // Makes an idle request ready to be submitted. Called only by its sink.
  void Prepare(bool is_charged = true) {
    bound = kUnbound;
    // Clear the flag of the previous queue; some queues ignore it.
    delayed = false;
    released = unserved = abandoned = false;
    charged = is_charged;
    cancelled.store(false, std::memory_order_relaxed);
    set_state(State::kSubmitted);
  }
  // Releases the inputs. Called only by the present owner of the request.
  void ReleaseInputs() {
    released = true;
    header->ReleaseChunks();
  }

  std::span<const InputTensor> inputs() const { return std::as_const(*header).inputs(); }
  const InputTensor* input(uint32_t index) const { return header->input(index); }
  // The caller's options; see RequestHeader.
  uint64_t priority() const { return header->priority; }
  uint64_t timeout_ns() const { return header->timeout_ns; }
  std::span<const RequestParameter> parameters() const { return header->parameters; }
  // The sequence that it belongs to, as its sender says.
  const SequenceMark& sequence() const {
    const std::span<const SequenceMark> marks = std::as_const(*header).marks();
    return marks.empty() ? kNoSequence : marks[position];
  }
  // The same for its present owner, which may write to it. The header has marks.
  SequenceMark& mark() const { return header->marks()[position]; }
  const RequestParameter* parameter(std::string_view name) const {
    for (const RequestParameter& one : header->parameters) {
      if (one.name == name) return &one;
    }
    return nullptr;
  }
  // This request's bytes of an input: the number of chunks, and each chunk, in order.
  size_t chunks(const InputTensor& input) const { return released ? 0 : input.first_chunks.size(); }
  Buffer chunk(const InputTensor& input, size_t number = 0) const {
    const Buffer& first = input.first_chunks[number];
    const size_t before = input.of_one ? 0 : position * first.size;
    return {static_cast<char*>(first.data) + before, first.size, first.kind, first.device,
            first.owner};
  }

 private:
  std::atomic<State> state_{State::kIdle};
};

static_assert(sizeof(void*) != 8 || sizeof(Request) == 40, "requests have grown");

}  // namespace tritonts
