// The contract between the engine and a runtime. A backend sees this header and what it includes,
// and no other part of the engine.
//
// Backends are not to throw; what they throw all the same fails the load or the requests concerned.
//
// Life of a model version: Backend::Load (a loader thread) -> Model::Describe -> Model::Configure
// (once its configuration is complete) -> Model::CreateInstance for each instance -> Execute, on
// the instance's own thread (or, where the backend allows it, on a JS thread, under the engine's
// lock on the instance, never both at once) -> instances and then the model are destroyed on a
// reaper thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buffer.h"
#include "datatype.h"
#include "pool.h"
#include "request.h"
#include "response_sink.h"
#include "status.h"

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
  bool optional = false;
};

struct ModelDescription {
  std::vector<TensorDescription> inputs;
  std::vector<TensorDescription> outputs;
};

// What Load needs. Settings are decided in TypeScript (src/backends/<name>.ts) and mean what the
// backend's header says.
struct ModelSpec {
  std::string name;
  int64_t version = 0;
  std::string path;  // the model's file (or folder) in its version folder
  std::map<std::string, std::string> settings;
  // Not empty: the version's files are these, by their paths in the version's folder, and nothing
  // is read from disk; `path` is one of them.
  std::map<std::string, std::string> files = {};
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

class Answers;

// The requests that an instance runs together. Owned by the engine; valid during Execute, and for
// the thread that Execute was called on, but for the answers.
class Batch {
 public:
  virtual ~Batch() = default;

  // One may stand for several callers' requests, its parts (request.h): who answers requests one by
  // one answers these together.
  std::span<Request* const> requests() const { return requests_; }
  uint32_t total_batch_size() const { return total_batch_size_; }  // rows over all requests
  // Host memory that lives as long as somebody holds it. The instance's thread only.
  virtual BlockPool& pool() = 0;

  // Time stamps of the run, in this order. A batch that skips one gets that of the next.
  virtual void MarkInputsReady() = 0;
  virtual void MarkComputed() = 0;

  // Declares output `index` for all requests of the batch: `data` has total_batch_size() rows of
  // `tail` (for models with a batch dimension), or is the one request's tensor of shape `tail`.
  // `block` keeps the data and is not consumed; `data` and `tail` must stay valid until Respond
  // returned. The bytes may be those of the requests' inputs, the tail not their shape: Respond
  // gives requests back one after the other.
  virtual void SetOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                         const void* data, size_t size, Block* block) = 0;
  // Like SetOutput for a batch dimension, of rows that vary in bytes (kBytes): row i is
  // [offsets[i], offsets[i + 1]) of `data`. `offsets` has total_batch_size() + 1 entries.
  virtual void SetRaggedOutput(uint32_t index, DataType datatype, std::span<const int64_t> tail,
                               const void* data, std::span<const size_t> offsets, Block* block) = 0;
  // Declares output `index` for one request of the batch.
  virtual void SetRequestOutput(uint32_t request, uint32_t index, DataType datatype,
                                std::span<const int64_t> shape, const void* data, size_t size,
                                Block* block) = 0;

  // Answers every request that is not answered yet, finally: with the declared outputs, or with an
  // error. What Execute leaves unanswered when it returns is failed by the engine, and so is an
  // answer whose outputs are not what they are said to be. Any thread.
  virtual void Respond(const Status& status) = 0;
  // Answers one request of the batch, finally. Any thread.
  virtual void RespondOne(uint32_t request, const Status& status) = 0;
  // The same for threads that may outlast Execute.
  Answers answers();

 protected:
  friend class Answers;
  static constexpr uint32_t kAll = ~0u;
  // Answers one request, or kAll that have no answer yet, of run number `run`; nothing where that
  // run is over. Any thread.
  virtual void Answer(uint64_t run, uint32_t request, const Status& status) = 0;

  uint64_t run_ = 0;  // number of the run, unique in its model version
  std::vector<Request*> requests_;
  uint32_t total_batch_size_ = 0;
};

// Answers the requests of one run, from any thread and at any time while the instance lives: what
// comes after Execute returned is ignored. Copied freely.
class Answers {
 public:
  Answers(Batch* batch, uint64_t run) : batch_(batch), run_(run) {}
  void Respond(const Status& status) const { batch_->Answer(run_, Batch::kAll, status); }
  void RespondOne(uint32_t request, const Status& status) const {
    batch_->Answer(run_, request, status);
  }

 private:
  Batch* batch_;
  uint64_t run_;
};

inline Answers Batch::answers() {
  return Answers(this, run_);
}

class Instance {
 public:
  virtual ~Instance() = default;
  // Runs a batch. The instance's thread.
  virtual void Execute(Batch& batch) = 0;
  // Asks a running Execute to end soon, with errors for its requests; sticky. Any thread.
  virtual void Terminate() {}
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
