// The contract between the engine and a runtime. A backend sees this header, what it includes, and
// no other part of the engine.
//
// Backends should not throw. If they do, the load or the requests concerned fail.
//
// The life of a model version:
//
//   Backend::Load            on a loader thread
//   Model::Describe
//   Model::Configure         once the configuration is complete
//   Model::CreateInstance    for each instance
//   Instance::Execute        for each batch
//   ~Instance, ~Model        on a thread that nobody waits for
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/datatype.h"
#include "engine/base/status.h"
#include "engine/memory/buffer.h"
#include "engine/memory/memory_copier.h"
#include "engine/memory/memory_use.h"
#include "engine/memory/pool.h"
#include "engine/model_description.h"
#include "engine/request/call_graph.h"
#include "engine/request/request.h"
#include "engine/request/response_sink.h"
#include "engine/request/row_inputs.h"
#include "engine/request/stream_count.h"

namespace tritonts {

// Files by path. They are shared, and nobody changes them.
using ModelFiles = std::map<std::string, std::shared_ptr<const std::string>>;

// What Load needs. TypeScript decides the settings (src/backends/<name>.ts), and the backend's
// header says what they mean.
struct ModelSpec {
  std::string name;
  int64_t version = 0;
  std::string path;  // the model's file (or folder) in its version folder
  std::map<std::string, std::string> settings;
  // If it is not empty, these are the version's files, by their paths in the version's folder, and
  // nothing is read from disk. `path` is one of them.
  ModelFiles files = {};
};

struct ModelIo {
  uint32_t max_batch_size = 0;  // 0: tensors have no batch dimension
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
};

struct InstanceSpec {
  std::string name;
  uint32_t index = 0;  // counted over all instance groups
  MemoryKind memory = MemoryKind::kHost;
  int device = 0;
};

// The requests that an instance runs together.
//
// The call of Execute, the occupation of the instance, and the run end at different times:
//
//   Execute    |---------|                      of an asynchronous instance: hands the run over
//   instance   |---------------|                until InstanceFree, or a blocking Execute returned
//   run        |----------------------------|   until its last request is done
//
// A run is valid during Execute, and until its last request is done and its instance is free.
// Whoever may use it later holds a RunRef; calls on the run are then ignored. A run keeps its
// instance alive until the run is done; a RunRef does not. Several runs of one instance may be
// under way.
//
// Requests are named by their position in requests(), or all together by kAll. Any thread that
// holds the run may call any function of it. A request that is done is its sink's again, and must
// not be looked at.
class Run {
 public:
  static constexpr uint32_t kAll = ~0u;

  std::span<Request* const> requests() const { return requests_; }
  uint32_t total_batch_size() const { return total_batch_size_; }  // rows of all requests

  // --- Inputs. What requests()[request] has in this batch, in the order of the model's inputs: its
  // own inputs, and those that the engine injects (row_inputs.h). Request::chunk gives the bytes.
  std::span<const InputTensor> inputs(uint32_t request) const {
    return row_inputs_ ? row_inputs_->Of(request) : requests_[request]->inputs();
  }
  const InputTensor* input(uint32_t request, uint32_t index) const {
    return row_inputs_ ? row_inputs_->Find(request, index) : requests_[request]->input(index);
  }
  // Whether the engine injects any into this batch.
  bool injects() const { return row_inputs_ != nullptr; }
  // How many requests, from this one on, have the same inputs but for their bytes, and these one
  // behind the other: chunk k of the next request follows chunk k of this one, where an input has
  // one chunk. A request that was released is not counted with one that was not.
  uint32_t neighbours(uint32_t request) const {
    const Request& first = *requests_[request];
    const auto past = static_cast<uint32_t>(requests_.size());
    uint32_t next = request + 1;
    if (row_inputs_) return 1;
    while (next < past && requests_[next]->header == first.header &&
           requests_[next]->position == first.position + (next - request) &&
           requests_[next]->released == first.released) {
      next++;
    }
    return next - request;
  }
  // Provides host memory. A block lives as long as somebody holds it.
  virtual BlockPool& pool() = 0;
  // Copies the instance's own kinds of memory (Instance::memory); null: it has none.
  virtual MemoryCopier* memory() = 0;

  // Time stamps of the run, in this order. A run that skips one gets the time of the next one.
  // `at_ns`, of the engine's clock, is for what a device tells afterwards; 0: now.
  virtual void MarkInputsReady(uint64_t at_ns = 0) = 0;
  virtual void MarkComputed(uint64_t at_ns = 0) = 0;

  // --- Outputs. They are declared, and the next response carries them. An output declared for one
  // request goes into the next response to that request. An output declared for kAll goes into the
  // next response to kAll; responses to single requests before that carry it, too, each with its
  // own rows. Declaring an output again replaces it. Shapes and data must stay valid until the call
  // of Respond; data without a block until that call has returned.

  // Declares output `index` and returns where to write it: the place that the request's sink has
  // for it, or a block. The memory is of kind `preferred` if possible; the buffer says which it is.
  // For kAll `shape` is as in SetOutput, for one request as in SetRequestOutput. CANCELLED: the
  // request is done. UNAVAILABLE: there is no memory. Not for BYTES, whose size does not follow
  // from the shape.
  virtual StatusOr<Buffer> Output(uint32_t request, uint32_t index, DataType datatype,
                                  std::span<const int64_t> shape,
                                  MemoryKind preferred = MemoryKind::kHost) = 0;
  // Declares output `index` for all requests: `data` has total_batch_size() rows of `tail` if the
  // model batches, else it is the one request's tensor of shape `tail`. `block` keeps the data
  // alive and says what kind of memory it is (null: host memory); no reference is taken over. The
  // data may be the bytes of the requests' inputs. But `tail` must not point to their shapes,
  // because a response gives the requests back one after the other.
  virtual void SetOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                         const void* data, size_t size, Block* block) = 0;
  // Like SetOutput, for models that batch and rows that vary in bytes (kBytes): row i is
  // [offsets[i], offsets[i + 1]) of `data`. `offsets` has total_batch_size() + 1 entries.
  virtual void SetRaggedOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                               const void* data, std::span<const size_t> offsets, Block* block) = 0;
  // Declares output `index` for one request.
  virtual void SetRequestOutput(uint32_t request, uint32_t index, DataType datatype,
                                std::span<const int64_t> shape, const void* data, size_t size,
                                Block* block) = 0;

  // --- Responses.

  // Responds to one request, or to kAll that are not done, with the declared outputs or with an
  // error. A request of a decoupled model may get any number of responses, and exactly one that is
  // final. Of another model it gets one: if that is not final, it becomes an error. With the final
  // one it is done, and later calls for it are ignored. If an output does not match what was
  // declared, the response is an error. Responses to one request are delivered one after the other,
  // so a sink must not cause another response to the same request before it has returned from
  // Deliver.
  virtual void Respond(uint32_t request, const Status& status, bool final = true) = 0;
  void RespondAll(const Status& status, bool final = true) { Respond(kAll, status, final); }
  // Ends one request, or kAll that are not done, without a further response (Triton: the flag FINAL
  // without a response). Outputs that were declared are dropped. Only for decoupled models:
  // requests of others end with an error.
  virtual void EndResponses(uint32_t request) = 0;
  // Releases a request's inputs early; else its final response releases them. Nobody may read them
  // afterwards.
  virtual void Release(uint32_t request) = 0;
  // Queues a request again at its model, with its inputs, instead of a final response. It then
  // belongs to a later run. Outputs declared for it are dropped.
  virtual void Reschedule(uint32_t request) = 0;

  // --- The pace of the callers of decoupled models. What a caller has not read is held for it, up
  // to a limit (StreamCount::kMostBytes, and the server's bytes in flight). A response beyond that
  // limit ends its request with UNAVAILABLE. So a backend asks before it sends, and waits.

  // What the request's caller has not read. Nothing: the request is done, or was cancelled, and
  // nothing more needs to be sent. If the answer is not `full`, the next `next` responses do not
  // end the request, whatever others send meanwhile; a later such answer replaces that.
  virtual std::optional<Unread> UnreadOf(uint32_t request, uint32_t next = 1) = 0;
  // Has the listener called when at most `at_most` responses are unread, or the request is
  // cancelled. A request has one listener. False: that is so already, or the request is done, and
  // the listener is not called. It is dropped when the request is done.
  virtual bool AwaitRead(uint32_t request, uint32_t at_most,
                         std::shared_ptr<ReadListener> listener) = 0;

  // Says that the instance may get its next batch. Execute is called for that one as soon as the
  // present call of Execute has returned. An asynchronous instance calls this once for each run,
  // before or after the responses. A blocking one may; otherwise it is free when Execute returns.
  virtual void InstanceFree() = 0;

 protected:
  friend class RunRef;
  virtual ~Run() = default;
  virtual void Retain() = 0;
  virtual void Drop() = 0;

  std::vector<Request*> requests_;
  uint32_t total_batch_size_ = 0;
  const RowInputs* row_inputs_ = nullptr;  // null: requests have their own inputs, and no others
};

// A counted reference to a run, for code that may use it after it is done. Any thread may copy and
// drop it.
class RunRef {
 public:
  RunRef() = default;
  explicit RunRef(Run& run) : run_(&run) { run.Retain(); }
  RunRef(const RunRef& other) : run_(other.run_) {
    if (run_) run_->Retain();
  }
  RunRef(RunRef&& other) noexcept : run_(std::exchange(other.run_, nullptr)) {}
  RunRef& operator=(RunRef other) noexcept {
    std::swap(run_, other.run_);
    return *this;
  }
  ~RunRef() {
    if (run_) run_->Drop();
  }

  explicit operator bool() const { return run_ != nullptr; }
  Run* operator->() const { return run_; }
  Run& operator*() const { return *run_; }

 private:
  Run* run_ = nullptr;
};

// Runs batches, in one of two ways.
// - Blocking: Execute does the work, on the instance's own thread or, if the backend allows that,
//   on the JS thread that submitted the batch. When it returns, the instance is free. Requests that
//   are not done then are an error of the backend, and fail.
// - Asynchronous: Execute only hands the run over and never blocks. It is called on whichever
//   thread found the batch: one that submits, the timer's, one that ended another run. The instance
//   has no thread. When the version ends, its runs are waited for until a limit, and then
//   abandoned.
// Calls of Execute of one instance never overlap, with one exception: a run on a JS thread may call
// InstanceFree before its Execute has returned.
class Instance {
 public:
  virtual ~Instance() = default;
  virtual bool asynchronous() const { return false; }
  // Runs a batch (blocking), or hands it over (asynchronous).
  virtual void Execute(Run& run) = 0;
  // Asks runs under way to end soon, with errors for their requests. Later runs end at once, too.
  // Any thread may call it.
  virtual void Terminate() {}
  // Whether its batches may have input `input` in memory of this kind on this device. It copes with
  // requests of which some have it in host memory. It does not change.
  virtual bool Takes(uint32_t /*input*/, MemoryKind kind, int /*device*/) const {
    return IsHostMemory(kind);
  }
  // Allocates and copies the kinds of memory that the instance works on, besides host memory. Not
  // owned; lives as long as the instance. Any thread may call it.
  virtual MemoryCopier* memory() { return nullptr; }
  // Becomes true when the instance can run nothing any more, because its device is lost. The
  // version's other instances get the batches then; where there is none, this one goes on to get
  // them, and fails them with the reason. Null: that does not happen. Not owned; lives as long as
  // the instance. It is asked once.
  virtual const std::atomic<bool>* lost() const { return nullptr; }
};

class Model {
 public:
  virtual ~Model() = default;
  virtual ModelDescription Describe() const = 0;
  // Fixes inputs and outputs. It is called once, before the first instance is created, on a loader
  // thread, or on a JS thread if the model starts at once.
  virtual Status Configure(const ModelIo& io) = 0;
  // Called on the same threads as Configure.
  virtual StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) = 0;
  // Whether Configure and CreateInstance take only microseconds, for a few instances and tensors.
  // Any thread may call it.
  virtual bool starts_at_once() const { return false; }
  // Whether the time of a run may depend on the data and not only on the shapes of its inputs. Such
  // a model never runs on a JS thread. Any thread may call it.
  virtual bool time_depends_on_data() const { return false; }
  // Whether a blocking instance's run may be repeated: Execute has no effect but its responses.
  // Then a batch of several requests that gets one error for all of them, as its first and only
  // response, is run again in halves once Execute has returned. What is said to the run after that
  // error is ignored. Any thread may call it.
  virtual bool may_run_again() const { return false; }
  // Facts about the runtime for users: "library", "version", "intra_op_threads", … Any thread may
  // call it.
  virtual std::map<std::string, std::string> Info() const { return {}; }
  // What it holds by now, where the runtime tells. Any thread may call it.
  virtual std::vector<MemoryUse> Memory() const { return {}; }
  // The places of its instances, if its batches may make calls; null: they do not.
  virtual std::shared_ptr<CallPlaces> call_places() const { return nullptr; }
  // Memory for an input of a request, which its batch reads without a copy. Empty: any memory will
  // do, or there is none. Any thread may call it.
  virtual BlockRef InputBlock(size_t) { return {}; }
};

// A runtime. It lives as long as the process.
class Backend {
 public:
  virtual ~Backend() = default;
  // Opens the runtime and the model. Called on loader threads, several at once.
  virtual StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) = 0;
  // Whether Execute may run on a JS thread: it calls nothing in JavaScript, and takes no lock that
  // a JS thread holds.
  virtual bool may_run_on_js_thread() const = 0;
};

}  // namespace tritonts
