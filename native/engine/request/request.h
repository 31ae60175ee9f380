// One inference request, as schedulers, backends and sinks see it.
//
// Who may touch it: its sink prepares it (a port, on the JS thread), then gives it to the engine
// with Executor::Submit. From then on it belongs to the engine, and while it is in a run to that
// run, until its final response is delivered to the sink; then it is the sink's again. Only
// `cancelled` may be set, and the state read, by another thread in between.
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
#include <span>
#include <utility>
#include <vector>

#include "engine/base/datatype.h"
#include "engine/base/small_vector.h"
#include "engine/memory/buffer.h"

namespace tritonts {

class Executor;
class ResponseSink;

struct InputTensor {
  uint32_t index = 0;  // position in the model's inputs
  DataType datatype = DataType::kInvalid;
  SmallVector<int64_t, 4> shape;  // full, with the batch dimension where the model has one
  // The bytes of the header's first request, in order: one chunk but for HTTP bodies. Where
  // requests share the header, one without an owner, behind which the others' bytes follow.
  SmallVector<Buffer, 1> first_chunks;

  size_t byte_size() const {
    size_t size = 0;
    for (const Buffer& chunk : first_chunks) size += chunk.size;
    return size;
  }
};

// What a request says besides its bytes. Requests that differ in their bytes alone, and were
// submitted together, share one: those of a port's group do. Its sink's; nobody changes it while
// one of its requests is not idle, but for ReleaseChunks.
struct RequestHeader {
  ResponseSink* sink = nullptr;  // not owned; a sink outlives its requests (response_sink.h)
  Executor* executor = nullptr;  // whom it is for; not owned, and outlives what it accepted
  uint32_t batch_size = 1;       // rows: max(1, first dim)
  uint64_t arrival_ns = 0;       // when its tick was submitted
  uint64_t flush = 0;            // number of that tick
  // Dims without batch of the inputs that must agree within a batch, and which inputs are present;
  // empty for models whose dims are all fixed. Requests batch together where the keys are equal.
  std::vector<int64_t> shape_key;
  // Which outputs the caller wants; empty means all of them.
  std::vector<uint32_t> wanted;
  uint32_t requests = 1;  // that share it
  // The sink's own: its name for the requests, and what each of them counts against the in-flight
  // limit until it ends, of which so much is held until its answer is read.
  uint32_t slot = 0;
  uint32_t generation = 0;
  uint64_t accounted_bytes = 0;
  uint32_t range_bytes = 0;

  // Present inputs in the order of the model's. Kept allocated between uses.
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
  // Lets go of memory that the inputs own. Where requests share the header there is none, and
  // nothing is written.
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
};

// Small, so that those of a batch are in the processor's nearest cache: they are gone through many
// times on their way.
class Request {
 public:
  // Idle until its sink prepares it and again when its sink is through with the final response;
  // done from when the engine made up that response.
  enum class State : uint8_t { kIdle, kSubmitted, kQueued, kRunning, kDone };

  // Of the queue that it is in (request_queue.h).
  Request* next = nullptr;
  Request* previous = nullptr;
  RequestHeader* header = nullptr;  // not owned
  uint32_t position = 0;            // which of the header's requests it is
  // The instance that alone may run it (a sequence's); kUnbound: any.
  static constexpr uint32_t kUnbound = ~0u;
  uint32_t bound = kUnbound;
  bool queued = false;
  bool released = false;  // its inputs are given back: nobody may read their bytes
  // The sink's own: whether it is counted against the limit, and what kind of end it was.
  bool charged = false;
  bool unserved = false;
  bool abandoned = false;
  std::atomic<bool> cancelled{false};

  State state() const { return state_.load(std::memory_order_acquire); }
  // By whoever it belongs to; the last that is done to it before it is handed on.
  void set_state(State state) { state_.store(state, std::memory_order_release); }

  // An idle one becomes one to submit. Its sink's.
  void Prepare(bool is_charged = true) {
    bound = kUnbound;
    released = unserved = abandoned = false;
    charged = is_charged;
    cancelled.store(false, std::memory_order_relaxed);
    set_state(State::kSubmitted);
  }
  // Gives the inputs back. Whoever has the request.
  void ReleaseInputs() {
    released = true;
    header->ReleaseChunks();
  }

  std::span<const InputTensor> inputs() const { return std::as_const(*header).inputs(); }
  const InputTensor* input(uint32_t index) const { return header->input(index); }
  // This request's bytes of one of its inputs: so many chunks, in order.
  size_t chunks(const InputTensor& input) const { return released ? 0 : input.first_chunks.size(); }
  Buffer chunk(const InputTensor& input, size_t number = 0) const {
    const Buffer& first = input.first_chunks[number];
    return {static_cast<char*>(first.data) + position * first.size, first.size, first.kind,
            first.device, first.owner};
  }

 private:
  std::atomic<State> state_{State::kIdle};
};

}  // namespace tritonts
