// The contract between the engine and a backend. Of the engine, a backend sees this header, what it
// includes, and these (scripts/engine-arrows.mjs reads the names here):
//
//   engine/batch/collector.h        gathers the inputs of a batch
//   engine/request/shape_values.h   reads the values of shape tensors
//   engine/base/clock.h             the engine's time
//   engine/base/exit.h              calls of runtimes while the process exits
//   engine/base/json_text.h         writes JSON
//
// Backends should not throw. If one does, the load or the affected requests fail.
//
// The life of a model version:
//
//   Backend::Load            on a loader thread
//   Model::Describe
//   Model::Configure         once the configuration is complete
//   Model::CreateInstance    for each instance
//   Instance::Execute        for each batch
//   ~Instance, ~Model        on a thread that no caller waits for
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/datatype.h"
#include "engine/base/status.h"
#include "engine/memory/buffer.h"
#include "engine/memory/memory_copier.h"
#include "engine/memory/memory_use.h"
#include "engine/memory/pool.h"
#include "engine/model_description.h"
#include "engine/request/batch_hook.h"
#include "engine/request/call_graph.h"
#include "engine/request/model_io.h"
#include "engine/request/request.h"
#include "engine/request/response_parameters.h"
#include "engine/request/response_sink.h"
#include "engine/request/row_inputs.h"
#include "engine/request/stream_count.h"
#include "platform/host_policy.h"

namespace tritonts {

// The files of a version, by path. Shared and immutable.
using ModelFiles = std::map<std::string, std::shared_ptr<const std::string>>;

// The parameters of Backend::Load. TypeScript decides the settings (src/backends/<name>/). The
// header of the backend documents them.
struct ModelSpec {
  std::string name;
  int64_t version = 0;
  std::string path;  // the model's file (or folder) in its version folder
  std::map<std::string, std::string> settings;
  // If not empty, these are all files of the version, by their paths in its folder, and nothing is
  // read from disk. `path` is one of these paths.
  ModelFiles files = {};
  // The policies of all its instances together. A backend binds the thread that loads the model to
  // it while the runtime starts threads for this model alone, and not while it starts others.
  platform::HostPolicy host_policy = {};
};

struct InstanceSpec {
  std::string name;
  uint32_t index = 0;  // counted over all instance groups
  MemoryKind memory = MemoryKind::kHost;
  int device = 0;
  // What the instance's thread is bound to, and the thread that creates the instance.
  platform::HostPolicy host_policy = {};
};

// The requests that an instance runs together.
//
// The call of Execute, the occupation of the instance, and the run end at different times:
//
//   Execute    |---------|                      of an asynchronous instance: hands the run over
//   instance   |---------------|                until InstanceFree, or a blocking Execute returned
//   run        |----------------------------|   until its last request is done
//
// A run is valid during Execute, and until its last request is done and its instance is free. Code
// that may use a run later holds a RunRef. Calls on a run that is done are ignored. A run keeps its
// instance alive until the run is done; a RunRef does not. An instance may have several runs under
// way.
//
// A parameter `request` is a position in requests(), or kAll for all requests. Any thread that
// holds the run may call any of its functions.
//
// A request that is done belongs to its sink again and must not be read.
class Run {
 public:
  static constexpr uint32_t kAll = ~0u;

  std::span<Request* const> requests() const { return requests_; }
  uint32_t total_batch_size() const { return total_batch_size_; }  // rows of all requests

  // --- Inputs. The inputs of requests()[request] in this batch, in the order of the model's
  // inputs: the request's own, and those that the engine injects (row_inputs.h). Request::chunk
  // gives the bytes.
  std::span<const InputTensor> inputs(uint32_t request) const {
    return row_inputs_ ? row_inputs_->Of(request) : requests_[request]->inputs();
  }
  const InputTensor* input(uint32_t request, uint32_t index) const {
    return row_inputs_ ? row_inputs_->Find(request, index) : requests_[request]->input(index);
  }
  // Whether the engine injects inputs into this batch.
  bool injects() const { return row_inputs_ != nullptr; }
  // The number of requests, from this one on, whose inputs differ in their bytes alone and are
  // adjacent in memory. If an input has one chunk, chunk k of the next request follows chunk k of
  // this one. Released and unreleased requests are not counted together.
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
  // The number of those neighbours that differ in their bytes alone: also in no sequence.
  uint32_t alike(uint32_t request) const {
    return requests_[request]->header->marks().empty() ? neighbours(request) : 1;
  }
  // Provides host memory. A block lives until its last reference is dropped.
  virtual BlockPool& pool() = 0;
  // Copies the instance's own kinds of memory (Instance::memory). Null: it has none.
  virtual MemoryCopier* memory() = 0;

  // Time stamps of the run, to be set in this order. A run that skips one gets the time of the
  // next. `at_ns` is a time of the engine's clock, for backends whose device reports it later; 0:
  // now.
  virtual void MarkInputsReady(uint64_t at_ns = 0) = 0;
  virtual void MarkComputed(uint64_t at_ns = 0) = 0;

  // Whether a backend must declare output `index`: a request wants it, or the engine keeps it.
  bool Needs(uint32_t index) const {
    const auto is_wanted = [index](const Request* one) { return one->header->Wants(index); };
    return std::any_of(requests_.begin(), requests_.end(), is_wanted) ||
           std::find(kept_outputs_.begin(), kept_outputs_.end(), index) != kept_outputs_.end();
  }
  // The outputs that the engine keeps, such as the states of sequences, whether or not a request
  // wants them.
  std::span<const uint32_t> kept_outputs() const { return kept_outputs_; }

  // --- Outputs. The backend declares outputs, and the next response carries them. The next
  // response to a request carries the outputs declared for that request. The next response to kAll
  // carries the outputs declared for kAll. Responses to single requests before it carry them too,
  // each with its own rows. Declaring an output again replaces it. Shapes and data must stay valid
  // until Respond is called. Data without a block must stay valid until Respond has returned.

  // Declares output `index` and returns the buffer to write it to: memory provided by the request's
  // sink, or a block. The memory is of kind `preferred` if possible; the buffer says which kind it
  // is. For kAll, `shape` is as in SetOutput; for one request, as in SetRequestOutput. CANCELLED:
  // the request is done. UNAVAILABLE: out of memory. Not for BYTES, whose size does not follow from
  // the shape.
  virtual StatusOr<Buffer> Output(uint32_t request, uint32_t index, DataType datatype,
                                  std::span<const int64_t> shape,
                                  MemoryKind preferred = MemoryKind::kHost) = 0;
  // Declares output `index` for all requests. If the model batches, `data` has total_batch_size()
  // rows of shape `tail`; otherwise it is the single request's tensor of shape `tail`. `block`
  // keeps the data alive and gives its kind of memory (null: host memory). The run takes its own
  // reference to the block. `data` may point to the bytes of the requests' inputs. `tail` must not
  // point to their shapes, because a response returns its requests to their sinks one after the
  // other.
  virtual void SetOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                         const void* data, size_t size, Block* block) = 0;
  // Like SetOutput, for models that batch and rows that vary in size (kBytes). Row i is
  // [offsets[i], offsets[i + 1]) of `data`. `offsets` has total_batch_size() + 1 entries.
  virtual void SetRaggedOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                               const void* data, std::span<const size_t> offsets, Block* block) = 0;
  // Declares output `index` for one request.
  virtual void SetRequestOutput(uint32_t request, uint32_t index, DataType datatype,
                                std::span<const int64_t> shape, const void* data, size_t size,
                                Block* block) = 0;

  // Declares the parameters of the next response to one request, instead of those that were
  // declared for it before. A ResponseParameterList has made them.
  virtual void SetParameters(uint32_t request, ResponseParameters parameters) = 0;

  // Drops the outputs and the parameters declared for one request that no response has carried.
  virtual void DropOutputs(uint32_t request) = 0;

  // --- Responses.

  // Responds to one request, or to all that are not done (kAll), with the declared outputs or with
  // an error. A request of a decoupled model may get any number of responses, of which exactly one
  // is final. A request of any other model gets one response; a response that is not final becomes
  // an error. The final response makes the request done, and later calls for it are ignored. If an
  // output does not match its declaration, the response is an error. Responses to a request are
  // delivered one after the other. So a sink must not cause another response to the same request
  // before it has returned from Deliver.
  virtual void Respond(uint32_t request, const Status& status, bool final = true) = 0;
  void RespondAll(const Status& status, bool final = true) { Respond(kAll, status, final); }
  // Ends one request, or all that are not done (kAll), without a further response (Triton: the flag
  // FINAL without a response). Declared outputs are dropped. Only for decoupled models; requests of
  // other models end with an error.
  virtual void EndResponses(uint32_t request) = 0;
  // Releases a request's inputs early. Otherwise its final response releases them. After that they
  // must not be read.
  virtual void Release(uint32_t request) = 0;
  // Queues a request again at its model, with its inputs, instead of a final response. The request
  // then belongs to a later run. Outputs declared for it are dropped. `seen`: the model has run it,
  // so that it no longer starts or ends its sequence (Triton: the release flag RESCHEDULE).
  virtual void Reschedule(uint32_t request, bool seen = true) = 0;

  // --- Flow control for decoupled models. The engine holds responses that the caller has not read,
  // up to a limit (StreamCount::kMostBytes, and the server's bytes in flight). A response beyond
  // the limit ends its request with UNAVAILABLE. So a backend checks before it sends, and waits.

  // What the request's caller has not read. nullopt: the request is done or cancelled, and needs no
  // more responses. If the result is not `full`, the next `next` responses do not end the request,
  // whatever other requests send meanwhile. A later result replaces this guarantee.
  virtual std::optional<Unread> UnreadOf(uint32_t request, uint32_t next = 1) = 0;
  // Registers a listener, to be called when at most `at_most` responses are unread or the request
  // is cancelled. A request has one listener. False: the condition already holds or the request is
  // done, and the listener is not called. The listener is dropped when the request is done.
  virtual bool AwaitRead(uint32_t request, uint32_t at_most,
                         std::shared_ptr<ReadListener> listener) = 0;

  // Says that the instance may get its next batch. Execute is called for that batch once the
  // present call of Execute has returned. An asynchronous instance calls this once for each run,
  // before or after the responses. A blocking instance may call it; otherwise it is free when
  // Execute returns.
  virtual void InstanceFree() = 0;

 protected:
  friend class RunRef;
  virtual ~Run() = default;
  virtual void Retain() = 0;
  virtual void Drop() = 0;

  std::vector<Request*> requests_;
  uint32_t total_batch_size_ = 0;
  const RowInputs* row_inputs_ = nullptr;  // null: requests have only their own inputs
  std::span<const uint32_t> kept_outputs_;
};

// A counted reference to a run, for code that may use the run after it is done. Thread-safe to copy
// and drop.
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
//
// Blocking: Execute does the work, on the instance's own thread or, if the backend allows that, on
// the JS thread that submitted the batch. When it returns, the instance is free. Requests that are
// not done then are a fault of the backend, and fail, unless the instance leaves requests open.
//
// Asynchronous: Execute only hands the run over and never blocks. It runs on the thread that found
// the batch: a submitting thread, the timer's, or one that ended another run. The instance has no
// thread. When the version ends, its runs are waited for until a time limit, and then abandoned.
//
// Calls of Execute of one instance never overlap, with one exception: a run on a JS thread may call
// InstanceFree before its Execute has returned.
class Instance {
 public:
  virtual ~Instance() = default;
  virtual bool asynchronous() const { return false; }
  // Whether requests may stay open after a blocking Execute has returned, as those of decoupled
  // models may. The instance is free then, and other threads respond. The answer is constant.
  virtual bool leaves_open() const { return false; }
  // Runs a batch (blocking), or hands it over (asynchronous).
  virtual void Execute(Run& run) = 0;
  // Asks runs under way to end soon, with errors for their requests. Later runs also end at once.
  // Thread-safe.
  virtual void Terminate() {}
  // Whether batches of this instance may have input `input` in memory of this kind on this device.
  // If so, the instance also accepts batches in which some requests have the input in host memory.
  // The answer is constant.
  virtual bool Takes(uint32_t /*input*/, MemoryKind kind, int /*device*/) const {
    return IsHostMemory(kind);
  }
  // Allocates and copies the kinds of memory, besides host memory, that the instance works on. Not
  // owned; lives as long as the instance. Thread-safe.
  virtual MemoryCopier* memory() { return nullptr; }
  // A flag that becomes true when the instance's device is lost, so that the instance can run
  // nothing any more. The version's other instances then get the batches. If there is no other
  // instance, this one still gets them and fails them with the reason. Null: the device cannot be
  // lost. Not owned; lives as long as the instance. Called once.
  virtual const std::atomic<bool>* lost() const { return nullptr; }
};

class Model {
 public:
  virtual ~Model() = default;
  virtual ModelDescription Describe() const = 0;
  // Takes the completed configuration: its inputs and outputs as the engine has them, and all of it
  // as JSON in Triton's form (TRITONBACKEND_ModelConfig), with 64-bit integers as numbers;
  // json/json.h reads it. Called once, before the first instance is created, on a loader thread, or
  // on a JS thread if the model starts at once. `json` is borrowed for the call.
  virtual Status Configure(const ModelIo& io, std::string_view json) = 0;
  // Called on the same threads as Configure.
  virtual StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) = 0;
  // Whether Configure and CreateInstance take only microseconds with few instances and tensors.
  // Thread-safe.
  virtual bool starts_at_once() const { return false; }
  // Whether the duration of a run may depend on the data, and not only on the shapes of its inputs.
  // Such a model never runs on a JS thread. Thread-safe.
  virtual bool time_depends_on_data() const { return false; }
  // Whether a run of a blocking instance may be repeated, because responses are the only effect of
  // Execute. If a batch of several requests gets one error for all of them as its first and only
  // response, it is run again in halves after Execute has returned. Further calls on the run after
  // that error are ignored. Thread-safe.
  virtual bool may_run_again() const { return false; }
  // Facts about the runtime for users: "library", "version", "intra_op_threads", … Thread-safe.
  virtual std::map<std::string, std::string> Info() const { return {}; }
  // The memory that the model uses now, if the runtime reports it. Thread-safe.
  virtual std::vector<MemoryUse> Memory() const { return {}; }
  // The model's own decision about batches of the dynamic batcher. Null: it has none. Asked once,
  // after Configure. Not owned; lives as long as the model.
  virtual BatchHook* batch_hook() { return nullptr; }
  // The call places of the model's instances, if its batches may make calls. Null: they make none.
  virtual std::shared_ptr<CallPlaces> call_places() const { return nullptr; }
  // Memory for an input of a request, from which a batch can read the input without a copy. Empty:
  // any memory will do, or none is left. Thread-safe.
  virtual BlockRef InputBlock(size_t) { return {}; }
};

// A runtime. It lives as long as the process.
class Backend {
 public:
  virtual ~Backend() = default;
  // Opens the runtime and the model. Called on loader threads, concurrently.
  virtual StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) = 0;
  // Opens the runtime without a model, with the settings that Load would get. Returns what
  // Model::Info reports about the runtime: "library" and "version". Empty: the backend has no
  // runtime. Called on loader threads, concurrently.
  virtual StatusOr<std::map<std::string, std::string>> OpenRuntime(
      const std::map<std::string, std::string>& /*settings*/) {
    return std::map<std::string, std::string>();
  }
  // Whether Execute may run on a JS thread: it does not call into JavaScript, and takes no lock
  // that a JS thread holds.
  virtual bool may_run_on_js_thread() const = 0;
};

}  // namespace tritonts
