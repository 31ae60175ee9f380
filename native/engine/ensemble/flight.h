// A flight: requests of one header that travel through an ensemble together.
//
// Requests of one group differ only in their bytes, so most steps answer them alike. The outputs of
// such a step are one piece of memory, in which the next step reads its inputs in place. If
// requests of a flight are answered apart (in several batches, with different shapes, some with
// errors), their tensors are kept apart, and the next step has a header for each request. A step of
// a flight ends when all requests that it sent have been answered.
//
// Each response of a decoupled step begins a flight of its own, a child, which runs the steps that
// depend on that response (flight_streams.cc). A step ends when its children have landed. Children
// respond to the caller in the order in which they began, while the caller has few unread
// responses. The root, which the caller's request began, responds last. In such ensembles a root
// has only one request.
//
//   root   a --> D                        final
//                |==> child: b --> y      response 0
//                `==> child: b --> y      response 1
//
// Ownership: the ensemble pools its flights. A flight under way owns the requests of its steps, and
// keeps its tensors' memory until their last reader has answered. The senders of the ensemble's
// requests own those requests' inputs until they are answered.
//
// Threads: the submitting thread begins a flight. From then on, the thread that delivers the last
// answer to a step acts for the flight. Several steps may end at the same time, so the fields that
// they share are atomic. `lock_` guards only the fields that a cancellation reads. The root's
// `tree_lock_` guards the lists of children.
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

// The sequence that a step's response names in its parameters (`sequence_id`, `sequence_start`,
// `sequence_end`). The steps behind it belong to that sequence, and so does the ensemble's
// response. Null: they belong to the caller's.
using NamedSequence = std::shared_ptr<const SequenceMark>;

// The header of a step's requests.
struct StepHeader : RequestHeader {
  FlightStep* step = nullptr;
  NamedSequence sequence;  // that its requests belong to
};

// A step of a flight.
struct FlightStep {
  Flight* flight = nullptr;
  uint32_t number = 0;
  FlightStep* next = nullptr;  // link in a relay, or in the list of steps that wait for their turn
  std::atomic<uint32_t> unsettled{0};   // inputs that are not settled yet
  std::atomic<uint32_t> unanswered{0};  // requests without an answer
  bool needed = false;
  std::atomic<bool> apart{false};  // a request was answered separately
  BatchTimings times;              // of all its requests, unless they are apart
  uint32_t admitted = 0;           // requests that count against max_inflight
  // Of a decoupled step: the count of responses whose children have not responded, the list of
  // these children in their order, and the step's failure, which is reported after them.
  StreamCount stream;
  Flight* first_child = nullptr;
  Flight* last_child = nullptr;
  Status failure;
  bool limited = false;
  bool sent = false;  // guarded by the flight's lock
  StepHeader header;  // of all its requests, if their inputs are not apart
  std::vector<std::unique_ptr<StepHeader>> headers;  // of each request, if their inputs are apart
  std::unique_ptr<Request[]> requests;
};

class Flight {
 public:
  Flight(Ensemble* ensemble, uint32_t index);

  // Makes room for `requests`. Throws std::bad_alloc.
  void Reserve(size_t requests);
  // Begins with neighbouring requests of one header. If this throws std::bad_alloc, the flight must
  // be reset.
  void Begin(std::span<Request* const> requests, std::shared_ptr<const EnsembleBindings> bindings,
             uint64_t number);
  // Drops its tensors and bindings.
  void Reset();
  // Begins with a response of a decoupled step.
  void BeginChild(FlightStep* from, const Response& response, uint64_t number) noexcept;
  // Adds the steps that can be submitted at once to the relay.
  void Start();
  // Lets landed children respond, in their order. Only for a root, which may have landed meanwhile.
  void RespondInOrder();

  // Prepares a step, and writes the requests to submit to `out`. Returns their number. 0: the step
  // has ended.
  size_t Prepare(FlightStep* step, uint64_t now_ns, Request** out);
  // The number of requests that a step would send: requests that have neither failed nor been
  // cancelled.
  uint32_t Alive() const;
  bool AnyAlive() const;

  // Takes a response to one request of a step.
  void Take(FlightStep* step, const Response& response);
  // Takes the responses to all its requests at once. They begin at request `first` of `alike`.
  void TakeAlike(FlightStep* step, const AlikeResponses& alike, size_t first);
  // Whether the responses from `first` on begin with responses to all requests of the flight, in
  // order, and tensors of all requests can be made of them.
  bool IsWhole(const FlightStep& step, const AlikeResponses& alike, size_t first) const;
  // Whether an output of a step under way may be in this kind of memory. The answer never changes.
  bool Takes(const FlightStep& step, uint32_t output, MemoryKind kind, int device) const;
  // Notes that `count` requests of the step were answered. The last answer ends the step.
  void Answered(FlightStep* step, uint32_t count);

  // Answers the requests: delivers their final responses to their sink. Then the flight belongs to
  // the pool.
  void Answer();

  // Cancels the steps' requests that serve one request. `bindings` are the flight's. The caller
  // shares ownership of them, because a flight that lands meanwhile drops its own.
  void Cancel(uint32_t position, const EnsembleBindings& bindings);
  // Fails all its requests with this status, unless they have failed or landed before.
  void Fail(const Status& status);

  // Whether its requests are calls of a model's batch.
  bool is_call() const { return header_->call != nullptr; }
  uint32_t count() const { return count_; }
  uint32_t index() const { return index_; }
  Ensemble* ensemble() const { return ensemble_; }
  const std::shared_ptr<const EnsembleBindings>& bindings() const { return bindings_; }
  const Request* request(uint32_t position) const { return outer_[position]; }
  uint64_t number() const { return number_; }
  Flight* root = this;  // changed only while the flight is idle

  Flight* next = nullptr;  // link in a relay, or in the pool
  uint32_t pins = 0;       // guarded by the ensemble's lock
  bool idle = true;        // likewise

 private:
  static constexpr uint32_t kNone = ~0u;

  // A tensor of one request, or of all requests.
  struct Part {
    bool present = false;
    DataType datatype = DataType::kInvalid;
    SmallVector<int64_t, 4> shape;
    SmallVector<Buffer, 1> chunks;  // of the first request, if the part is of all requests
    NamedSequence sequence;
    void Clear() {
      present = false;
      sequence.reset();
      shape.clear();
      chunks.clear();
    }
  };
  struct Tensor {
    std::atomic<uint32_t> unread{0};        // readers left: steps, and the caller
    std::atomic<uint32_t> unproduced{0};    // steps that may still produce it
    std::atomic<uint32_t> producer{kNone};  // the step that has produced it
    std::atomic<bool> touched{false};       // `parts` were written
    std::atomic<bool> shared{false};        // another tensor may have the same memory
    bool apart = false;
    Part all;
    std::vector<Part> parts;  // by request, if the requests are apart
    void Clear();
  };
  // The outcome of a request.
  struct Outcome {
    std::atomic<bool> failed{false};
    Status status;  // written by the thread that set `failed`
    bool limited = false;
    bool in_step = false;  // the status is a step's
    // Concurrent steps may add to these.
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
  Flight* NextToRespond();
  // Responds for a child whose turn it is. False: the caller must read responses first.
  bool Respond();
  bool HasReader();
  void FailRoot(const Status& status, bool limited, bool in_step);
  void FailOne(uint32_t position, const Status& status, bool limited, bool in_step);
  void FailStep(FlightStep* step, const Status& status);
  const Part& PartOf(uint32_t tensor, uint32_t position) const {
    const Tensor& one = tensors_[tensor];
    return one.apart ? one.parts[position] : one.all;
  }
  // Fills in a step's header, for all requests or for one. Not ok: an input is missing or does not
  // fit.
  Status Fill(const FlightStep& step, uint32_t position, uint32_t requests, uint64_t now_ns,
              StepHeader* header) const;
  // The error of a step without a required input. It is the ensemble's fault, not the caller's.
  Status NotMade(const FlightStep& step, uint32_t input) const;
  // Whether `step` is the only remaining reader of a tensor's memory, and reads it as one input
  // only. A decoupled step's children read the tensors that it carries.
  bool ReadsAlone(const FlightStep& step, uint32_t tensor) const;
  void Choose(const RequestHeader& header);
  // Ends a step, and adds the steps that are ready now to the relay.
  void End(FlightStep* step);
  // Notes that a step produces no more tensors, because it ended or is skipped.
  void EndProduction(const FlightStep& step);
  void Settle(uint32_t tensor);
  bool Skips(const FlightStep& step) const;
  void Land();
  void AddTimes(uint32_t position, const RequestHeader& header, const BatchTimings& timings);
  // Adds the times of steps that answered all requests alike to each request's times.
  void AddSharedTimes();
  // Adapts the outputs' batch dimension to the ensemble's configuration.
  void AdaptOutputs();
  // Claims a tensor for the step that produced it. False: another step was first.
  bool Claim(Tensor* tensor, uint32_t step) {
    uint32_t none = kNone;
    return tensor->producer.compare_exchange_strong(none, step, std::memory_order_acq_rel) ||
           none == step;
  }
  // The sequence that a response names, or the one that its request belongs to. Not ok: its
  // parameters name none that there can be. Throws std::bad_alloc.
  StatusOr<NamedSequence> SequenceOf(const FlightStep& step, const Response& response) const;
  // The parameters of the ensemble's response: the sequence of the first of its outputs that has
  // one. Throws std::bad_alloc.
  ResponseParameters ParametersOf(uint32_t position) const;
  // Stores an output as a tensor. Not ok: its shape does not match the model's configuration.
  Status Put(const FlightStep& from, const OutputTensor& output, Buffer buffer, Tensor* tensor,
             Part* part) const;
  // Shares the owner of an output's bytes, or copies them. Not ok: out of memory.
  StatusOr<Buffer> ShareOrCopy(const FlightStep& step, const OutputTensor& output, size_t size);
  // Whether an output has the memory of an input of the step. Marks such inputs as shared.
  bool SharesInput(const FlightStep& step, const Buffer& buffer);
  void AnswerEach();
  bool AnswerAlike();
  BatchTimings TimingsOf(uint32_t position) const;
  // Records the times of a request that ends at `now_ns`.
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
  std::vector<RunTotals::Part> parts_;  // likewise: the times of its requests
  std::atomic<uint32_t> under_way_{0};  // steps that are ready or sent
  std::atomic<bool> abandoned_{false};
  SpinLock lock_;
  // Of a child: the step whose response began it, and the bytes that the response counts as unread.
  FlightStep* from_ = nullptr;
  uint64_t counted_ = 0;
  uint32_t region_ = EnsembleGraph::kRoot;  // the region whose steps run in this flight
  bool responds_ = true;                    // it responds to the caller with its tensors
  SpinLock tree_lock_;  // the root's; guards all below but first_ns_, and the steps' children
  Flight* sibling_ = nullptr;
  bool landed_ = false;
  bool responding_ = false;  // a thread is in RespondInOrder
  uint64_t first_ns_ = 0;    // when a child first responded for the root; 0: not yet. Used by the
                             // thread in RespondInOrder, without the lock
  bool again_ = false;       // another thread called RespondInOrder meanwhile
};

}  // namespace tritonts
