#include "plugins/batcher.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "plugins/error.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

namespace {

thread_local bool forms_batch = false;
// How many threads do. Mostly none, which is faster to read than what is the thread's own.
std::atomic<uint32_t> forming{0};

// What follows from an error of a function that decides.
constexpr const char* kAlone = "requests run alone";

// Calls a function of custom batching.
template <typename Function, typename... Arguments>
Status CallBatching(Function function, Arguments... arguments) noexcept {
  forming.fetch_add(1, std::memory_order_relaxed);
  const bool outer = std::exchange(forms_batch, true);
  const Status status = CallPlugin(function, arguments...);
  forms_batch = outer;
  forming.fetch_sub(1, std::memory_order_relaxed);
  return status;
}

}  // namespace

bool FormsBatch() noexcept {
  return forming.load(std::memory_order_relaxed) > 0 && forms_batch;
}

Status NotWhileBatching(const char* function) {
  return Status::Unavailable(Reason::kNone, std::string(function) +
                                                ": must not be called by a function of custom "
                                                "batching, which only reads the request");
}

Batcher::Batcher(const BackendFunctions& functions, std::shared_ptr<const ModelTensors> tensors)
    : functions_(functions),
      tensors_(std::move(tensors)),
      candidate_(tensors_.get(), tensors_->io.inputs.size()) {}

StatusOr<std::unique_ptr<Batcher>> Batcher::Make(const BackendFunctions& functions,
                                                 TRITONBACKEND_Model* model,
                                                 std::shared_ptr<const ModelTensors> tensors) {
  std::unique_ptr<Batcher> made(new Batcher(functions, std::move(tensors)));
  Status status =
      CallPlugin(functions.TRITONBACKEND_ModelBatcherInitialize, &made->batcher_, model);
  if (!status.ok()) {
    made->batcher_ = nullptr;
    return status;
  }
  return made;
}

Batcher::~Batcher() {
  // There is nobody left to tell of an error. Without a batcher, its initialiser has failed, or
  // has made none.
  if (batcher_) (void)CallPlugin(functions_.TRITONBACKEND_ModelBatcherFinalize, batcher_);
}

void Batcher::Begin() {
  user_ = nullptr;
  const Status status = CallBatching(functions_.TRITONBACKEND_ModelBatchInitialize,
                                     static_cast<const TRITONBACKEND_Batcher*>(batcher_), &user_);
  began_ = status.ok();
  if (!began_) Note(status, "TRITONBACKEND_ModelBatchInitialize", kAlone);
}

bool Batcher::Includes(const Request& request) {
  // Without its rule, the plug-in may not be able to run requests together.
  if (!began_) return false;
  bool includes = false;
  candidate_.queued = &request;
  const Status status = CallBatching(functions_.TRITONBACKEND_ModelBatchIncludeRequest, &candidate_,
                                     user_, &includes);
  candidate_.queued = nullptr;
  if (status.ok()) return includes;
  Note(status, "TRITONBACKEND_ModelBatchIncludeRequest", kAlone);
  return false;
}

void Batcher::End() {
  if (!began_) return;
  began_ = false;
  const Status status = CallBatching(functions_.TRITONBACKEND_ModelBatchFinalize, user_);
  if (!status.ok()) Note(status, "TRITONBACKEND_ModelBatchFinalize", "the batch runs all the same");
}

void Batcher::Note(const Status& status, const char* function, const char* effect) noexcept {
  // A function that fails for each batch must not fill the log.
  if (std::exchange(has_failed_, true)) return;
  TRITONSERVER_Error* const error = Guard([&] {
    const std::string text = "model '" + tensors_->model + "': " + function + " failed (" + effect +
                             "): " + status.message();
    return TakeError(TRITONSERVER_LogMessage(TRITONSERVER_LOG_ERROR, nullptr, 0, text.c_str()));
  });
  // Without memory, the log does without the line.
  (void)TakeError(error);
}

}  // namespace tritonts::plugins
