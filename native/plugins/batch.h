// A batch as a plug-in sees it: its requests, and what the plug-in makes of them.
//
//   Execute          the plug-in            all requests settled
//   idle ---------> has the requests ---------------------------> idle
//
//   a request:   held --RequestRelease--> released
//                the final response is sent, in any order
//                -> delivered when it is both, and settled when nothing of it is left: neither the
//                   request, nor a factory, nor an unsent response
//
// The final response also waits while another response has a buffer in memory of the request's
// sender (Run::Output), because the plug-in may write there until it sends or deletes that one.
//
// The final response waits for the release, because a plug-in may read a request until then, and
// the engine's request is its sender's again after the final response. A request of which nothing
// is left without a final response fails.
//
// Ownership: a BatchPool has the batches of an instance, which are used again, with their requests,
// so that a batch allocates nothing. A batch in use keeps its pool. Objects that a plug-in uses
// after it has given them back stay in memory as long as the pool, and calls with them are refused
// until they are used again: a request at the earliest when as many other requests of the instance
// as the pool sets aside have ended, what belongs to a request with the next one that is made for
// it. From then on a stale handle is that of the new object, and nothing can tell them apart.
//
// Threads: a plug-in may use different requests on different threads at once, and send responses of
// one request on several. What is made for one response is used on one thread at a time. `lock` of
// a request guards what its comments say.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend.h"
#include "engine/base/spin_lock.h"
#include "plugins/abi/types.h"
#include "plugins/buffer_attributes.h"
#include "plugins/shared_outputs.h"

namespace tritonts::plugins {

class Batch;
class BatchPool;

// What the requests of a version have in common. Immutable.
struct ModelTensors {
  std::string model;  // its name
  ModelIo io;
  bool decoupled = false;
  bool iterative = false;  // requests may be released to run again
  // Of a model with implicit state: the output that the engine keeps, and the input that it
  // becomes.
  std::vector<std::pair<uint32_t, uint32_t>> states;
};

}  // namespace tritonts::plugins

// An input by its position among those of the request. So a stale handle never leads to memory of
// an earlier request.
struct TRITONBACKEND_Input {
  TRITONBACKEND_Request* request = nullptr;
  TRITONSERVER_BufferAttributes attributes = {};  // of the last chunk that was asked for
};

struct TRITONBACKEND_Output {
  TRITONBACKEND_Response* response = nullptr;
  uint32_t index = 0;  // position in the model's outputs
  tritonts::DataType datatype = tritonts::DataType::kInvalid;
  tritonts::SmallVector<int64_t, 4> shape;
  bool has_buffer = false;
  bool in_place = false;  // the run knows the output already
  bool shared = false;    // in memory of its batch (SharedOutputs)
  tritonts::Buffer buffer;
  TRITONSERVER_BufferAttributes attributes = {};
};

struct TRITONBACKEND_State {
  TRITONBACKEND_Request* request = nullptr;
  uint32_t index = 0;
  tritonts::DataType datatype = tritonts::DataType::kInvalid;
  std::vector<int64_t> shape;
  tritonts::Buffer buffer;
  bool live = false;  // made for the request that its batch has now
  bool updated = false;
  TRITONSERVER_BufferAttributes attributes = {};
};

struct TRITONBACKEND_Response {
  TRITONBACKEND_Request* request = nullptr;
  bool live = false;  // neither sent nor deleted
  // Room for all outputs of the model, so that their addresses stay. `output_count` are in use.
  std::vector<TRITONBACKEND_Output> outputs;
  uint32_t output_count = 0;
  tritonts::ResponseParameterList parameters;
};

struct TRITONBACKEND_ResponseFactory {
  TRITONBACKEND_Request* request = nullptr;
  bool live = false;  // not deleted
};

struct TRITONBACKEND_Request {
  enum class Final : uint8_t {
    kNone,     // not sent
    kWaiting,  // sent, and waits for the release, or for a borrower
    kMade,     // the engine has it, or the request runs again
  };

  TRITONBACKEND_Request(tritonts::plugins::Batch* its_batch, uint32_t its_position, size_t inputs,
                        size_t outputs)
      : batch(its_batch), position(its_position), inputs(inputs) {
    response.outputs.resize(outputs);
    response.request = factory.request = this;
    for (TRITONBACKEND_Input& input : this->inputs) input.request = this;
  }
  // Of custom batching (batcher.h): stands for one queued request after the other.
  TRITONBACKEND_Request(const tritonts::plugins::ModelTensors* its_tensors, size_t inputs)
      : batch(nullptr), position(0), tensors(its_tensors), inputs(inputs) {
    response.request = factory.request = this;
    for (TRITONBACKEND_Input& input : this->inputs) input.request = this;
  }

  // Null: it is of custom batching, and never held.
  tritonts::plugins::Batch* const batch;
  const uint32_t position;  // in the batch
  // Of custom batching: the model's tensors, and the queued request that it stands for at the
  // moment.
  const tritonts::plugins::ModelTensors* const tensors = nullptr;
  const tritonts::Request* queued = nullptr;

  tritonts::SpinLock lock;  // guards all below, unless stated otherwise
  // What may still lead to a response: the request while it is held, its factories, and its unsent
  // responses.
  uint32_t holders = 0;
  bool held = false;  // read without the lock by calls that take the request
  Final final = Final::kNone;
  bool empty = false;       // the final response has no content
  bool answered = false;    // of a model that is not decoupled: there was a response
  uint64_t shared = 0;      // the outputs of that response in shared memory (SharedOutputs)
  tritonts::Status status;  // of the final response
  // The unsent response whose outputs are in the run's or the batch's memory; null: none.
  const TRITONBACKEND_Response* placed = nullptr;
  bool placed_with_sender = false;  // an output of `placed` is in memory of the request's sender
  // The unsent response that had such memory when another one was sent; null: none.
  const TRITONBACKEND_Response* borrower = nullptr;
  // Those that are made while the first one lives. They are used again.
  std::vector<std::unique_ptr<TRITONBACKEND_Response>> more_responses;
  std::vector<std::unique_ptr<TRITONBACKEND_ResponseFactory>> more_factories;

  // Without the lock: made when they are asked for.
  std::vector<TRITONBACKEND_Input> inputs;
  // Only until the release: those of the request first, then those that are used again.
  std::vector<std::unique_ptr<TRITONBACKEND_State>> states;
  uint32_t state_count = 0;
  TRITONBACKEND_Response response;  // the first one
  TRITONBACKEND_ResponseFactory factory;
};

namespace tritonts::plugins {

// A kind of memory, as plug-ins name it.
inline TRITONSERVER_MemoryType MemoryTypeOf(MemoryKind kind) {
  return kind == MemoryKind::kDevice   ? TRITONSERVER_MEMORY_GPU
         : kind == MemoryKind::kPinned ? TRITONSERVER_MEMORY_CPU_PINNED
                                       : TRITONSERVER_MEMORY_CPU;
}
// The reverse. An unknown type is host memory.
inline MemoryKind MemoryKindOf(TRITONSERVER_MemoryType type) {
  return type == TRITONSERVER_MEMORY_GPU          ? MemoryKind::kDevice
         : type == TRITONSERVER_MEMORY_CPU_PINNED ? MemoryKind::kPinned
                                                  : MemoryKind::kHost;
}

class Batch {
 public:
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // --- For the thread that calls Execute.
  TRITONBACKEND_Request** requests() { return handles_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(run_->requests().size()); }
  // Execute begins. `gathers`: responses that become final on this thread are delivered together
  // when it ends. `watched`: or after a moment, if it lasts long.
  void Begin(bool gathers, bool watched);
  // Execute has ended. If `status` is not ok, the requests that the plug-in still holds are taken
  // back and fail with it. Drops the thread's reference.
  void End(const Status& status);

  // Whether this thread is in Execute of the batch.
  bool executes_here() const;

  // --- For any thread that has a holder of a request.
  const ModelTensors& tensors() const { return *tensors_; }
  Run& run() const { return *run_; }
  // Whether the instance was asked to end.
  bool terminated() const;

  // Whether the caller of a request no longer waits for responses.
  bool IsCancelled(TRITONBACKEND_Request* request) const;

  // Makes a response, or a factory, of a request that is held or has a factory. Throws
  // std::bad_alloc.
  TRITONBACKEND_Response* MakeResponse(TRITONBACKEND_Request* request);
  TRITONBACKEND_ResponseFactory* MakeFactory(TRITONBACKEND_Request* request);
  // Makes a state of a request that is held. Throws std::bad_alloc.
  TRITONBACKEND_State* MakeState(TRITONBACKEND_Request* request);
  // The memory of an output. Once for each output.
  Status Place(TRITONBACKEND_Output* output, size_t size, MemoryKind preferred);
  // Sends a response, which is deleted in any case.
  Status Send(TRITONBACKEND_Response* response, bool is_final, const Status& status);
  void Delete(TRITONBACKEND_Response* response);
  // Ends the responses to a request.
  Status SendFinal(TRITONBACKEND_ResponseFactory* factory);
  void Delete(TRITONBACKEND_ResponseFactory* factory);
  // Gives a request back. `again`: it is to run once more.
  Status Release(TRITONBACKEND_Request* request, bool again);

 private:
  friend class BatchPool;
  friend class GatherWatch;
  Batch() = default;
  ~Batch() = default;

  // For the pool. Throws std::bad_alloc.
  void Assign(Run& run, std::shared_ptr<BatchPool> pool);

  // An error of the plug-in with the model's name in its text. Throws std::bad_alloc.
  Status Named(const Status& status) const;
  // Send for models that are not decoupled, and for decoupled ones.
  Status SendOnly(TRITONBACKEND_Response* response, bool is_final, const Status& status);
  Status SendStreamed(TRITONBACKEND_Response* response, bool is_final, const Status& status);
  // Whether a response may be sent to a request, whose lock is held.
  Status CheckMaySend(const TRITONBACKEND_Request& request) const;
  // The final response to a request was made: delivers it, unless it waits.
  void Finish(TRITONBACKEND_Request* request);
  // Notes, with the request's lock, that another response than `placed` ends the request.
  void ForgetPlaced(TRITONBACKEND_Request* request);
  // A response will write no more. Delivers the final one if that has waited for it.
  void EndBorrowing(const TRITONBACKEND_Response* response);
  // Makes states of a request of the old ones that the plug-in has not replaced, while the inputs
  // are there. Throws std::bad_alloc.
  void KeepStates(TRITONBACKEND_Request* request);
  // Gives the engine the states of a request.
  void DeclareStates(const TRITONBACKEND_Request& request);
  // What is wrong with the outputs of a response that is to be sent.
  Status CheckOutputs(const TRITONBACKEND_Response& response) const;
  void Declare(const TRITONBACKEND_Response& response);
  // Waits until the request's caller has read enough for one more response. UNAVAILABLE: it has
  // not, and this is a thread of JavaScript, on which it would read.
  Status AwaitRoom(uint32_t position);
  // Places an output in memory that the requests of the batch share. False: it must be elsewhere.
  bool PlaceShared(TRITONBACKEND_Output* output, size_t size);
  void Free(TRITONBACKEND_Response* response);
  // Drops its parameters and the buffers of its outputs.
  static void ClearOutputs(TRITONBACKEND_Response* response);
  // Drops a holder. The caller does not have the request's lock.
  void DropHolder(TRITONBACKEND_Request* request);
  // Passes a request's final response to the engine, now or at the end of Execute.
  void Deliver(TRITONBACKEND_Request* request);
  void DeliverNow(TRITONBACKEND_Request* request);
  void DeliverGathered();
  void DeliverAll(const std::vector<TRITONBACKEND_Request*>& requests);
  void Drop();

  std::shared_ptr<BatchPool> pool_;        // null: idle
  const ModelTensors* tensors_ = nullptr;  // the pool's
  RunRef run_;
  std::vector<std::unique_ptr<TRITONBACKEND_Request>>
      requests_;  // as many as the largest batch had
  std::vector<TRITONBACKEND_Request*> handles_;
  // Requests that are not settled, and the thread in Execute.
  std::atomic<uint32_t> references_{0};
  std::mutex sending_;  // of a decoupled model: held from the outputs of a response to its sending
  // Written by the thread in Execute.
  SharedOutputs shared_;
  bool shares_ = false;  // requests may have outputs there
  // Only for the thread in Execute.
  Batch* outer_ = nullptr;
  bool gathers_ = false;
  bool to_watch_ = false;  // the GatherWatch must know of the first response that waits
  bool watched_ = false;   // the GatherWatch knows the batch
  std::vector<TRITONBACKEND_Request*> delivering_;

  // Requests whose responses wait for those of others. Not longer than a moment: the thread in
  // Execute delivers them, or the watch if that thread is busy.
  SpinLock gather_lock_;  // guards the next two
  uint64_t first_gathered_ns_ = 0;
  std::vector<TRITONBACKEND_Request*> gathered_;
  std::vector<TRITONBACKEND_Request*> flushing_;  // only the watch uses it

  Batch* next_ = nullptr;  // of the pool's list
  uint32_t ended_ = 0;     // the requests that it had, while it is idle
};

// The batches of an instance. Any thread may call any function.
class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  explicit BatchPool(std::shared_ptr<const ModelTensors> tensors) : tensors_(std::move(tensors)) {}
  ~BatchPool();
  BatchPool(const BatchPool&) = delete;
  BatchPool& operator=(const BatchPool&) = delete;

  // A batch for a run, with a reference for the thread that calls Execute. Throws std::bad_alloc.
  Batch* Acquire(Run& run);
  const ModelTensors& tensors() const { return *tensors_; }
  void Terminate() { terminated_.store(true, std::memory_order_relaxed); }
  bool terminated() const { return terminated_.load(std::memory_order_relaxed); }

 private:
  friend class Batch;
  void Return(Batch* batch);

  const std::shared_ptr<const ModelTensors> tensors_;
  std::atomic<bool> terminated_{false};
  // Ended requests that are not used again yet, so that stale handles are refused. More of them
  // would only be more memory that goes through the processor's caches.
  static constexpr uint32_t kSetAside = 8;

  SpinLock lock_;          // guards all below
  Batch* idle_ = nullptr;  // the one that ended first
  Batch* last_idle_ = nullptr;
  uint32_t idle_requests_ = 0;  // that idle batches had
};

}  // namespace tritonts::plugins
