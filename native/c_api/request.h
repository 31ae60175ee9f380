// Requests as C callers make them. A request keeps what was set, and makes the engine's header of
// it at each submission.
//
//              submit                    the engine has it                release callback
//   idle ---------------> submitting ---------------------> in flight -----------------------> idle
//     ^                    |  |  \--cancel--> cancel wanted --^  |                               |
//     '-----refused--------'  |                                  '---a run was abandoned--->
//     abandoned
//                             '--its lazy model is not loaded--> parked --loaded--> submitting
//                                                                  '--cancel--> ending --> idle
//
// `word_` has this state, and the number of the submission. A submission waits for the
// cancellations under way, so that none of them meets the wrong submission.
//
// Ownership: by references: of the handle, and of each submission until its release callback. An
// abandoned request keeps the latter for ever. It shares its model, and through that the
// attachment.
//
// Threads: what was set belongs to the caller while the request is idle. Any thread may call Cancel
// and Complete.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "c_api/calls.h"
#include "c_api/model.h"
#include "c_api/response.h"
#include "engine/memory/pool.h"
#include "engine/request/parameter_list.h"
#include "engine/request/request.h"
#include "engine/request/stream_count.h"
#include "include/tritonts.h"

namespace tritonts::c_api {

class EndedRequests;

class ApiRequest final : public Request {
 public:
  // What the caller has set of an input.
  struct Input {
    std::string name;
    DataType datatype = DataType::kInvalid;
    std::vector<int64_t> dims;
    struct Part {
      const void* data = nullptr;
      size_t size = 0;
    };
    SmallVector<Part, 1> parts;
    uint64_t bytes = 0;
    bool raw = false;  // see AddRawInput
  };

  explicit ApiRequest(std::shared_ptr<Model> model) : model_(std::move(model)) {
    Request::header = &header_;
  }

  // --- For the caller, while it is idle. All but the first throw std::bad_alloc.
  bool idle() const;
  void SetCallbacks(tritonts_response_fn response, tritonts_release_fn release, void* user);
  // INVALID_ARG: a part or an input has too many bytes or dims, or no address.
  Status SetInput(const char* name, DataType datatype, std::span<const int64_t> dims,
                  const void* data, size_t size);
  // Sets an input without bytes, which AppendInput adds. INVALID_ARG: the request has it already,
  // or it has too many dims.
  Status AddInput(const char* name, DataType datatype, std::span<const int64_t> dims);
  // The same for the only input of a model. Its datatype and dims follow from the model and the
  // number of bytes when it is submitted. The bytes of an input BYTES are those of its one element.
  Status AddRawInput(const char* name);
  Status AppendInput(const char* name, const void* data, size_t size);
  // INVALID_ARG: the request has no such input.
  Status RemoveInput(const char* name);
  // Removes the bytes of an input. INVALID_ARG: the request has no such input.
  Status RemoveInputData(const char* name);
  void RemoveInputs() {
    same_ = false;
    inputs_.clear();
  }
  // With `data` null it is written to the engine's memory.
  Status AddOutput(const char* name, void* data, size_t size);
  bool HasOutput(const char* name) const;
  // INVALID_ARG: it is not requested.
  Status RemoveOutput(const char* name);
  void RemoveOutputs() {
    same_ = false;
    outputs_.clear();
  }
  // INVALID_ARG: it is too long.
  Status SetId(const std::string& id);
  void SetPriority(uint64_t priority) {
    same_ = false;
    priority_ = priority;
  }
  void SetTimeout(uint64_t timeout_us) {
    same_ = false;
    timeout_us_ = timeout_us;
  }
  // UNSUPPORTED: the text is too long.
  Status SetSequence(uint64_t number, const char* text, bool start, bool end);
  // INVALID_ARG: the name is reserved, or there are too many, or too many bytes.
  Status SetParameter(const std::string& name,
                      std::variant<std::string, int64_t, double, bool> value);
  void RemoveParameters() {
    same_ = false;
    parameters_.clear();
    names_.Clear();
    parameter_bytes_ = 0;
  }

  const std::vector<Input>& given_inputs() const { return inputs_; }
  const std::shared_ptr<Model>& model() const { return model_; }
  Client& client() const { return *model_->client(); }
  void Retain(uint32_t references = 1) {
    references_.fetch_add(references, std::memory_order_relaxed);
  }
  void Release(uint32_t references = 1);

  // --- Submissions (submit.cc). Begins one; INVALID_ARG: it is not idle.
  Status Begin();
  // Undoes Begin.
  void Undo();
  // Makes the header for the version that serves now, and checks it. `except`: a version that has
  // refused it, or 0. Throws std::bad_alloc.
  Status Build(uint64_t now_ns, uint64_t flush, uint32_t except = 0);
  const std::shared_ptr<const Binding>& binding() const { return binding_; }
  // The number of the submission under way.
  uint64_t submission() const { return word_.load() & ~kPhases; }
  // Its model is not loaded: it waits in the model's list (sleepers.h). False: it was cancelled
  // before. Called with the lock of the list.
  bool Park();
  // It is submitted again. False: a cancellation has claimed it, and ends it. Called with the lock
  // of the list.
  bool Unpark();
  Status WasCancelled() const;
  // Ends a submission that the engine does not have, with an error.
  void EndUnsent(const Status& status);
  // The engine has taken the submission: cancels it, if that was asked for meanwhile.
  void NoteSubmitted(uint64_t submission);
  void Cancel();

  // --- Deliveries (client.cc). The response to a final or other response of the engine; null:
  // there is no memory for it. `shapes` null: they are made here.
  tritonts_response* Take(const Response& response, ResponseBlocks* blocks, size_t number = 0,
                          const OutputShapes* shapes = nullptr) noexcept;
  // The engine has finished with it, or has abandoned it.
  void TakeBack(bool is_abandoned);
  // The call of the final response.
  Call& last_call() { return last_call_; }
  StreamCount* stream() const { return stream_.get(); }
  const std::vector<OutputTarget>& targets() const { return targets_; }
  // Makes the calls of a response; `next` are those that follow, or null. Frees the request if
  // nobody has it any more.
  static void Complete(Call* call, const Call* next, EndedRequests* ended);

  // Of the thread that submits it: its position there; why the engine refused it; and whether
  // because the version is gone.
  size_t place = 0;
  Status refusal;
  bool gone = false;
  uint32_t waits = 0;  // how often the submission has waited for its lazy model

  // Links of the attachment's list, guarded by its lock; and of a delivery's list.
  ApiRequest* next_live = nullptr;
  ApiRequest* previous_live = nullptr;
  ApiRequest* next_ended = nullptr;

 private:
  enum Phase : uint64_t {
    kIdle,
    kSubmitting,
    kCancelWanted,
    kInFlight,
    kAbandoned,
    kParked,
    kEnding,  // a cancellation has claimed it
  };
  static constexpr uint64_t kPhases = 7;
  static constexpr uint64_t kNextSubmission = 8;

  struct Output {
    std::string name;
    void* data = nullptr;
    size_t size = 0;
  };

  ~ApiRequest() = default;
  // Uses the header of the last submission again, if nothing that it was made of has changed.
  // Throws std::bad_alloc.
  bool BuildAgain(uint64_t now_ns, uint64_t flush);
  // Whether a header that was just made can be used again.
  bool MayBuildAgain() const;
  Input* Find(const char* name);
  // INVALID_ARG: the request has it already.
  Status Insert(Input input);
  Status NoInput(const char* name) const;
  Status CheckDims(const char* name, size_t dims) const;
  Status AddPart(Input* input, const void* data, size_t size);
  // Copies the bytes of an input, behind those of `head`. Null: there is no memory.
  BlockRef CopyParts(const Input& input, std::string_view head = {});
  Status BuildRawInput(class ::tritonts::RequestBuilder* builder);
  Status AddSource(class ::tritonts::RequestBuilder* builder, InputTensor* tensor,
                   const Input& input);
  Status BuildInputs(class ::tritonts::RequestBuilder* builder);
  Status BuildOutputs(class ::tritonts::RequestBuilder* builder);
  std::string Text() const { return "model '" + model_->key().name + "'"; }

  const std::shared_ptr<Model> model_;
  std::atomic<uint32_t> references_{1};
  std::atomic<uint64_t> word_{kIdle};
  std::atomic<uint32_t> cancelling_{0};  // threads in Cancel

  // Set by the caller.
  tritonts_response_fn response_ = nullptr;
  tritonts_release_fn release_ = nullptr;
  void* user_ = nullptr;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::string id_;
  uint64_t priority_ = 0;
  uint64_t timeout_us_ = 0;
  SequenceMark sequence_;
  std::vector<RequestParameter> parameters_;
  ParameterNames names_;
  uint64_t parameter_bytes_ = 0;

  // Of the last submission.
  std::shared_ptr<const Binding> binding_;
  std::shared_ptr<StreamCount> stream_;  // of a decoupled model
  std::vector<OutputTarget> targets_;
  RequestHeader header_;
  bool same_ = false;   // the header fits what the caller has set
  uint32_t epoch_ = 0;  // of the server, when the header was made
  Call last_call_;
};

}  // namespace tritonts::c_api
