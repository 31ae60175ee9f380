// Requests of one header that travel through an ensemble together: a flight.
//
// Requests of one group differ in their bytes alone, so most steps answer them alike, and what such
// a step made is one piece of memory, in which the next step reads their inputs in place. Where
// requests of a flight are answered apart (in several batches, with different shapes, some with
// errors), their tensors are kept apart, and the next step has a header for each of them. A step of
// a flight ends when all requests that it sent have been answered.
//
// Each response of a decoupled step begins a flight of its own, a child, in which the steps behind
// that step run (flight_streams.cc). A step ends when its children have landed. Children respond to
// the caller in the order in which they began, while the caller has few responses to read; the
// root, which the caller's request began, responds last. Requests of such ensembles fly alone.
//
//   root   a --> D                        final
//                |==> child: b --> y      response 0
//                `==> child: b --> y      response 1
//
// Ownership: the ensemble pools its flights. A flight in the air owns the requests of its steps,
// and keeps its tensors' memory until their last reader has answered. The inputs of the ensemble's
// requests stay their senders' until these are answered.
//
// Threads: a flight is begun by the thread that submits. From then on whoever holds the last answer
// to a step acts for the flight. Several steps may end at the same time: what they share is atomic.
// `lock_` guards only what a cancellation looks at; the root's `tree_lock_` the lists of children.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/spin_lock.h"
#include "engine/ensemble/plan.h"
#include "engine/request/request.h"
#include "engine/request/response_sink.h"
#include "engine/request/stream_count.h"

namespace tritonts {

class Ensemble;
class Flight;
struct FlightStep;

// The header of a step's requests.
struct StepHeader : RequestHeader {
  FlightStep* step = nullptr;
};

// A step of a flight.
struct FlightStep {
  Flight* flight = nullptr;
  uint32_t number = 0;
  FlightStep* next = nullptr;           // in a relay, or where it waits for its turn
  std::atomic<uint32_t> unsettled{0};   // inputs that may still come
  std::atomic<uint32_t> unanswered{0};  // requests without an answer
  bool needed = false;
  std::atomic<bool> apart{false};  // some request was answered on its own
  BatchTimings times;              // of all its requests, unless they are apart
  uint32_t admitted = 0;           // requests that count against max_inflight
  // Of a decoupled step: its responses whose children have not landed, these in their order, and
  // what it failed with, which is told behind them.
  StreamCount stream;
  Flight* first_child = nullptr;
  Flight* last_child = nullptr;
  Status failure;
  bool limited = false;
  bool sent = false;  // guarded by the flight's lock
  StepHeader header;  // of all its requests, if their inputs are alike
  std::vector<std::unique_ptr<StepHeader>> headers;  // of each one, if they are apart
  std::unique_ptr<Request[]> requests;
};

class Flight {
 public:
  Flight(Ensemble* ensemble, uint32_t index);

  // Makes room for `requests`. Throws std::bad_alloc.
  void Reserve(size_t requests);
  // Begins with requests of one header, which follow each other in it. If it throws std::bad_alloc,
  // it has to be reset.
  void Begin(std::span<Request* const> requests, std::shared_ptr<const EnsembleBindings> bindings,
             uint64_t number);
  // Forgets its tensors and bindings.
  void Reset();
  // Begins with a response of a decoupled step.
  void BeginChild(FlightStep* from, const Response& response, uint64_t number) noexcept;
  // Notes which steps can be submitted at once.
  void Start();
  // Lets the children that have landed respond, in their order. Only of a root; it may have landed.
  void Speak();

  // Prepares a step, and writes the requests to submit to `out`. Returns how many there are. None:
  // the step has ended.
  size_t Prepare(FlightStep* step, uint64_t now_ns, Request** out);
  // How many of its requests a step would send.
  uint32_t Alive() const;
  bool AnyAlive() const;

  // Takes a response to one request of a step.
  void Take(FlightStep* step, const Response& response);
  // Takes a response to all its requests at once: `data` of each output begins at request `first`.
  void TakeAlike(FlightStep* step, const AlikeResponses& alike, size_t first);
  // Whether the responses from `first` on begin with those of the whole flight.
  bool IsWhole(const FlightStep& step, const AlikeResponses& alike, size_t first) const;
  // Whether an output of a step that is under way may be in such memory. It stays the same.
  bool Takes(const FlightStep& step, uint32_t output, MemoryKind kind, int device) const;
  // Notes that requests of the step were answered. With the last one the step ends.
  void Answered(FlightStep* step, uint32_t count);

  // Answers the requests: their final responses go to their sink. Then the flight is the pool's.
  void Answer();

  // Cancels what is under way for one request. `bindings` are those that it flies with: who cancels
  // holds them, because a flight that lands meanwhile lets go of its own.
  void Cancel(uint32_t position, const EnsembleBindings& bindings);
  // Ends all its requests with this status, unless they have failed or landed before.
  void Fail(const Status& status);

  // Whether a model's batch waits for its requests.
  bool is_call() const { return header_->call != nullptr; }
  uint32_t count() const { return count_; }
  uint32_t index() const { return index_; }
  Ensemble* ensemble() const { return ensemble_; }
  const std::shared_ptr<const EnsembleBindings>& bindings() const { return bindings_; }
  const Request* request(uint32_t position) const { return outer_[position]; }
  uint64_t number() const { return number_; }
  Flight* root = this;  // set while it is idle

  Flight* next = nullptr;  // in a relay, or in the pool
  uint32_t pins = 0;       // guarded by the ensemble's lock
  bool idle = true;        // likewise

 private:
  static constexpr uint32_t kNone = ~0u;

  // A tensor of one request, or of all.
  struct Part {
    bool present = false;
    DataType datatype = DataType::kInvalid;
    SmallVector<int64_t, 4> shape;
    SmallVector<Buffer, 1> chunks;  // of the first request, if they are all
    void Clear() {
      present = false;
      shape.clear();
      chunks.clear();
    }
  };
  struct Tensor {
    std::atomic<uint32_t> unread{0};      // steps that have not read it, and whether the caller has
    std::atomic<uint32_t> unproduced{0};  // steps that may still produce it
    std::atomic<uint32_t> producer{kNone};  // the step that has produced it
    std::atomic<bool> touched{false};       // some of `parts` were written
    std::atomic<bool> shared{false};        // its memory is also another tensor's
    bool apart = false;
    Part all;
    std::vector<Part> parts;  // by request, if they are apart
    void Clear();
  };
  // How a request fared.
  struct Outcome {
    std::atomic<bool> failed{false};
    Status status;  // written by whoever set `failed`
    bool limited = false;
    bool in_step = false;  // the status is a step's
    // Steps that run at the same time may add to these at once.
    std::atomic<uint64_t> queue_ns{0};
    std::atomic<uint64_t> input_ns{0};
    std::atomic<uint64_t> infer_ns{0};
    std::atomic<uint64_t> output_ns{0};
    void ClearTimes() {
      for (std::atomic<uint64_t>* const sum : {&queue_ns, &input_ns, &infer_ns, &output_ns}) {
        sum->store(0, std::memory_order_relaxed);
      }
    }
  };

  bool Dead(uint32_t position) const {
    return outcomes_[position].failed.load(std::memory_order_acquire) ||
           root->outcomes_[root == this ? position : 0].failed.load(std::memory_order_acquire) ||
           outer_[position]->cancelled.load(std::memory_order_acquire);
  }
  // Takes a response of a decoupled step.
  void TakeOfMany(FlightStep* step, const Response& response);
  void TakeOutput(FlightStep* from, const Response& response);
  void LandChild();
  Flight* NextToSpeak();
  // Responds, as a child whose turn it is. False: the caller is to read first.
  bool Say();
  bool HasReader();
  void FailRoot(const Status& status, bool limited, bool in_step);
  void FailOne(uint32_t position, const Status& status, bool limited, bool in_step);
  void FailStep(FlightStep* step, const Status& status);
  const Part& PartOf(uint32_t tensor, uint32_t position) const {
    const Tensor& one = tensors_[tensor];
    return one.apart ? one.parts[position] : one.all;
  }
  // Makes the header of a step: of all requests, or of one. Not ok: an input does not fit.
  Status Fill(const FlightStep& step, uint32_t position, uint32_t requests, uint64_t now_ns,
              StepHeader* header) const;
  // Why a step cannot run without this input: the ensemble's fault, not its caller's.
  Status NotMade(const FlightStep& step, uint32_t input) const;
  // Whether nobody but `step` is still to read a tensor, which is one input of it.
  bool ReadsAlone(const EnsembleStep& step, uint32_t tensor) const;
  void Choose(const RequestHeader& header);
  // Notes a step that ended, and what is ready now.
  void End(FlightStep* step);
  // A step ended, or is skipped, so it produces nothing more.
  void EndProduction(const FlightStep& step);
  void Settle(uint32_t tensor);
  bool Skips(const FlightStep& step) const;
  void Land();
  void AddTimes(uint32_t position, const RequestHeader& header, const BatchTimings& timings);
  // Adds to a request's times those of the steps that all requests shared.
  void AddSharedTimes();
  // Gives the outputs the shapes that the ensemble's configuration says.
  void AdaptOutputs();
  // Claims a tensor for the step that produced it. False: another step was first.
  bool Claim(Tensor* tensor, uint32_t step) {
    uint32_t none = kNone;
    return tensor->producer.compare_exchange_strong(none, step, std::memory_order_acq_rel) ||
           none == step;
  }
  // Makes an output a tensor. Not ok: it does not have the shape that its configuration says.
  Status Put(const FlightStep& from, const OutputTensor& output, Buffer buffer, Tensor* tensor,
             Part* part) const;
  // Where an output's bytes are kept. Not ok: there is no memory.
  StatusOr<Buffer> Keep(const FlightStep& step, const OutputTensor& output, size_t size);
  // Whether memory of an output is that of an input of the step. Notes that they share it.
  bool SharesInput(const FlightStep& step, const Buffer& buffer);
  void AnswerEach();
  bool AnswerAlike();
  BatchTimings TimingsOf(uint32_t position) const;
  // Notes how long a request took that ends at `now_ns`.
  void AddPart(uint32_t position, uint64_t now_ns, bool ok);

  Ensemble* const ensemble_;
  const uint32_t index_;
  std::shared_ptr<const EnsembleBindings> bindings_;
  const RequestHeader* header_ = nullptr;  // the caller's
  uint64_t number_ = 0;
  uint32_t count_ = 0;
  uint32_t capacity_ = 0;
  std::vector<Request*> outer_;
  std::unique_ptr<Tensor[]> tensors_;
  std::unique_ptr<FlightStep[]> steps_;
  std::unique_ptr<Outcome[]> outcomes_;
  std::vector<OutputTensor> outputs_;   // kept allocated
  std::vector<RunTotals::Part> parts_;  // likewise: how long its requests took
  std::atomic<uint32_t> under_way_{0};  // steps that are ready or sent
  std::atomic<bool> abandoned_{false};
  SpinLock lock_;
  // Of a child: the step whose response it is, and what that counts as unread.
  FlightStep* from_ = nullptr;
  uint64_t counted_ = 0;
  uint32_t region_ = EnsembleGraph::kRoot;  // whose steps run in it
  bool responds_ = true;                    // its tensors are the response's
  SpinLock tree_lock_;                      // the root's; guards all below, and the steps' children
  Flight* sibling_ = nullptr;
  bool landed_ = false;
  bool speaking_ = false;  // a thread is in Speak
  uint64_t first_ns_ = 0;  // when the root was responded to first, by a child; 0: not yet
  bool again_ = false;     // another one was
};

}  // namespace tritonts
