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
#include <vector>

#include "engine/base/datatype.h"
#include "engine/base/small_vector.h"
#include "engine/memory/buffer.h"

namespace tritonts {

class Executor;
class ResponseSink;

// What a scheduler needs to know of a request. `next`, `previous` and `queued` belong to the queue
// that the request is in (request_queue.h).
struct Schedulable {
  Schedulable* next = nullptr;
  Schedulable* previous = nullptr;
  bool queued = false;

  uint32_t batch_size = 1;  // rows: max(1, first dim)
  uint64_t arrival_ns = 0;  // when its tick was submitted
  uint32_t priority = 0;    // 0: the model's default level
  uint64_t timeout_us = 0;  // 0: the model's default
  // The instance that alone may run it (a sequence's); kUnbound: any.
  static constexpr uint32_t kUnbound = ~0u;
  uint32_t bound = kUnbound;
  // Dims without batch of the inputs that must agree within a batch, and which inputs are present;
  // empty for models whose dims are all fixed. Requests batch together where the keys are equal.
  std::vector<int64_t> shape_key;
};

struct InputTensor {
  uint32_t index = 0;  // position in the model's inputs
  DataType datatype = DataType::kInvalid;
  SmallVector<int64_t, 4> shape;  // full, with the batch dimension where the model has one
  SmallVector<Buffer, 1> chunks;  // the bytes, in order; one chunk but for HTTP bodies

  size_t byte_size() const {
    size_t size = 0;
    for (const Buffer& chunk : chunks) size += chunk.size;
    return size;
  }
};

class Request : public Schedulable {
 public:
  // Idle until its sink prepares it and again when its sink is through with the final response;
  // done from when the engine made up that response.
  enum class State : uint8_t { kIdle, kSubmitted, kQueued, kRunning, kDone };

  ResponseSink* sink = nullptr;  // not owned; a sink outlives its requests (response_sink.h)
  Executor* version = nullptr;   // whom it is for; not owned, and outlives what it accepted
  // The sink's own name for it: a slot, its generation, and which of the slot's requests it is.
  uint32_t slot = 0;
  uint32_t generation = 0;
  uint32_t position = 0;
  uint64_t flush = 0;  // number of the tick it was submitted in
  // The sink's own: what it counts against the in-flight limit until the request ends, how much of
  // that it still holds then, and what kind of end it was (response_sink.h).
  uint64_t accounted_bytes = 0;
  uint32_t range_bytes = 0;
  bool unserved = false;
  bool abandoned = false;
  std::atomic<bool> cancelled{false};

  State state() const { return state_.load(std::memory_order_acquire); }
  // By whoever it belongs to; the last that is done to it before it is handed on.
  void set_state(State state) { state_.store(state, std::memory_order_release); }

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
    input.chunks.clear();
    return input;
  }
  void ClearInputs() {
    for (uint32_t i = 0; i < input_count_; i++) inputs_[i].chunks.clear();
    input_count_ = 0;
  }

  // Which outputs the caller wants; empty means all of them.
  std::vector<uint32_t> wanted;
  bool Wants(uint32_t output) const {
    if (wanted.empty()) return true;
    for (uint32_t index : wanted) {
      if (index == output) return true;
    }
    return false;
  }

 private:
  std::atomic<State> state_{State::kIdle};
  SmallVector<InputTensor, 1> inputs_;
  uint32_t input_count_ = 0;
};

}  // namespace tritonts
