// The contract between the engine and a runtime. A backend sees this header and what it includes,
// and no other part of the engine.
//
// Backends are not to throw; what they throw all the same fails the load or the requests concerned.
//
// Life of a model version: Backend::Load (a loader thread) -> Model::Describe -> Model::Configure
// (once its configuration is complete) -> Model::CreateInstance for each instance -> Execute, for
// each batch -> instances and then the model are destroyed, on a thread that nobody waits for.
#pragma once

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
#include "engine/memory/pool.h"
#include "engine/request/request.h"
#include "engine/request/response_sink.h"

namespace tritonts {

// One input or output of a model, as configured. `dims` are full: -1 first where the model batches.
struct TensorSpec {
  std::string name;
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> dims;
  bool optional = false;
};

// One input or output as the runtime tells it.
struct TensorDescription {
  std::string name;
  DataType datatype = DataType::kInvalid;  // kInvalid: a type Triton has no name for
  std::string type_name;                   // the runtime's own word for the type
  std::vector<int64_t> dims;               // full; -1 where dynamic
  bool has_rank = true;                    // false: nobody knows how many dims; `dims` is empty
  bool optional = false;
  // Of each dim, "" where it has none; equal ones are the same dim. Empty where the runtime has no
  // such names.
  std::vector<std::string> dim_names = {};
};

struct ModelDescription {
  std::vector<TensorDescription> inputs;
  std::vector<TensorDescription> outputs;
  // Why outputs may have other rows than inputs though their dims have one name: a clause, such as
  // "the model has the operator NonZero"; empty: nothing speaks for it.
  std::string rows_vary = {};
};

// Files by path; shared, and not changed by anybody.
using ModelFiles = std::map<std::string, std::shared_ptr<const std::string>>;

// What Load needs. Settings are decided in TypeScript (src/backends/<name>.ts) and mean what the
// backend's header says.
struct ModelSpec {
  std::string name;
  int64_t version = 0;
  std::string path;  // the model's file (or folder) in its version folder
  std::map<std::string, std::string> settings;
  // Not empty: the version's files are these, by their paths in the version's folder, and nothing
  // is read from disk; `path` is one of them.
  ModelFiles files = {};
};

struct ModelIo {
  uint32_t max_batch_size = 0;  // 0: tensors have no batch dimension
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
};

struct InstanceSpec {
  std::string name;
  uint32_t index = 0;  // over all groups of the version
  MemoryKind memory = MemoryKind::kHost;
  int device = 0;
};

// The requests that an instance runs together.
//
// Three lives that are not one: the call of Execute, the instance, and the run.
//
//   Execute    |---------|                      of an asynchronous instance: hands the run over
//   instance   |---------------|                until InstanceFree, or a blocking Execute returned
//   run        |----------------------------|   until its last request is done
//
// A run is valid during Execute, and until its last request is done and its instance free; who may
// come later than that holds a RunRef, and what is said to the run then is ignored. As long as a
// run is not done it keeps its instance; a RunRef does not. Several runs of one instance may be
// under way.
//
// Requests are named by their position in requests(), or all together by kAll. What a request is to
// be given belongs to whoever holds the run; any thread may call any function of it, but requests
// that are done are their sinks' again, and not to be looked at.
class Run {
 public:
  static constexpr uint32_t kAll = ~0u;

  std::span<Request* const> requests() const { return requests_; }
  uint32_t total_batch_size() const { return total_batch_size_; }  // rows over all requests
  // Host memory that lives as long as somebody holds it.
  virtual BlockPool& pool() = 0;
  // The instance's own kinds of memory (Instance::memory); null: it has none.
  virtual MemoryCopier* memory() = 0;

  // Time stamps of the run, in this order, between its beginning and its end. A run that skips one
  // gets that of the next.
  virtual void MarkInputsReady() = 0;
  virtual void MarkComputed() = 0;

  // --- Outputs. What is declared for a request is what its next response carries; what is declared
  // for all, what the next response to all does, and responses to single requests before that, each
  // its own rows. To declare an output again replaces it. Shapes and data must stay valid until the
  // response is given (and data without a block until that returned).

  // Where to write output `index`, which it declares: the place that the request's sink has for it,
  // or a block; best of kind `preferred`, but the buffer says. `shape` is as in SetOutput for kAll,
  // as in SetRequestOutput for one request. CANCELLED: the request is done. UNAVAILABLE: no memory.
  // Not for BYTES, whose size the shape does not tell.
  virtual StatusOr<Buffer> Output(uint32_t request, uint32_t index, DataType datatype,
                                  std::span<const int64_t> shape,
                                  MemoryKind preferred = MemoryKind::kHost) = 0;
  // Declares output `index` for all requests: `data` has total_batch_size() rows of `tail` (for
  // models with a batch dimension), or is the one request's tensor of shape `tail`. `block` keeps
  // the data, says of what kind its memory is (null: the host's), and is not consumed. The bytes
  // may be those of the requests' inputs, the tail not their shape: a response gives requests back
  // one after the other.
  virtual void SetOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                         const void* data, size_t size, Block* block) = 0;
  // Like SetOutput for a batch dimension, of rows that vary in bytes (kBytes): row i is
  // [offsets[i], offsets[i + 1]) of `data`. `offsets` has total_batch_size() + 1 entries.
  virtual void SetRaggedOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                               const void* data, std::span<const size_t> offsets, Block* block) = 0;
  // Declares output `index` for one request.
  virtual void SetRequestOutput(uint32_t request, uint32_t index, DataType datatype,
                                std::span<const int64_t> shape, const void* data, size_t size,
                                Block* block) = 0;

  // --- Responses.

  // Responds to one request, or to kAll that are not done: with the declared outputs, or with an
  // error; any number of times, the last time finally. With its final response a request is done:
  // what is said of it later is ignored. An output that is not what it is said to be makes an error
  // of the response. Responses to one request are delivered one after the other: a sink must not
  // cause another one to the same request before it returned from this one.
  virtual void Respond(uint32_t request, const Status& status, bool final = true) = 0;
  void RespondAll(const Status& status, bool final = true) { Respond(kAll, status, final); }
  // Gives a request's inputs back, before its final response does. Nobody may read them any more.
  virtual void Release(uint32_t request) = 0;
  // Queues a request again at its model, with its inputs, in place of a final response: it is a
  // later run's. What was declared for it is dropped.
  virtual void Reschedule(uint32_t request) = 0;

  // The instance may be given its next batch, of which Execute is called as soon as this call of it
  // has returned. An asynchronous instance says that once for each run, before or after the
  // responses; a blocking one may, and else does when Execute returns.
  virtual void InstanceFree() = 0;

 protected:
  friend class RunRef;
  virtual ~Run() = default;
  virtual void Retain() = 0;
  virtual void Drop() = 0;

  std::vector<Request*> requests_;
  uint32_t total_batch_size_ = 0;
};

// A counted reference to a run, for whoever may outlast it. Copied freely; any thread.
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

// What runs batches, in one of two ways.
// - Blocking: Execute does the work, on the instance's own thread (or, where the backend allows
//   that, on a JS thread that submitted the batch). When it returns, the instance is free, and
//   requests that are not done are failed: to leave them is an error of the backend.
// - Asynchronous: Execute only hands the run over, on whichever thread found it (one that submits,
//   a timer's, one that ended another run), and never blocks; the instance has no thread. Its runs
//   are waited for until the version's end has a limit, and are abandoned then.
// Execute is never called twice at once, but for a blocking instance whose run on a JS thread said
// InstanceFree before it returned.
class Instance {
 public:
  virtual ~Instance() = default;
  virtual bool asynchronous() const { return false; }
  // Runs a batch, or hands it over.
  virtual void Execute(Run& run) = 0;
  // Asks runs under way to end soon, with errors for their requests; sticky. Any thread.
  virtual void Terminate() {}
  // Who allocates and copies the kinds of memory that it works on, besides the host's; not owned,
  // and as long-lived as the process. Any thread.
  virtual MemoryCopier* memory() { return nullptr; }
};

class Model {
 public:
  virtual ~Model() = default;
  virtual ModelDescription Describe() const = 0;
  // Fixes inputs and outputs; called once, before the first instance. A loader thread, or a JS
  // thread where the model starts at once.
  virtual Status Configure(const ModelIo& io) = 0;
  // As Configure.
  virtual StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) = 0;
  // Whether these two take some microseconds, for a few instances and tensors. Any thread.
  virtual bool starts_at_once() const { return false; }
  // Whether a run may take a time that the shapes of its inputs do not tell, by far: such a model
  // never runs on a JS thread. Any thread.
  virtual bool time_depends_on_data() const { return false; }
  // What people want to know of the runtime: "library", "version", "intra_op_threads", … Any
  // thread.
  virtual std::map<std::string, std::string> Info() const { return {}; }
};

// Lives as long as the process.
class Backend {
 public:
  virtual ~Backend() = default;
  // Opens the runtime and the model. A loader thread; several may call at once.
  virtual StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) = 0;
  // Whether Execute may run on a JS thread: no callbacks into JavaScript, no lock a JS thread
  // holds.
  virtual bool may_run_on_js_thread() const = 0;
};

}  // namespace tritonts
