#include "instance.h"

#include <algorithm>
#include <new>
#include <utility>

namespace tritonts::openvino {

namespace {

Status Exiting() {
  return Status::Unavailable(Reason::kClosed, "the process is exiting");
}

Status Ended() {
  return Status::Cancelled("the run was asked to end");
}

Status OfModel(const CompiledModel& model, const Status& status) {
  if (status.ok()) return status;
  return status.With("model '" + model.plan()->model + "': " + status.message());
}

}  // namespace

OneRequestInstance::OneRequestInstance(std::shared_ptr<const CompiledModel> model)
    : model_(std::move(model)), slot_(model_->library(), model_->plan()) {}

Status OneRequestInstance::Prepare() {
  return slot_.Create(model_->get());
}

void OneRequestInstance::Execute(Run& run) {
  struct Releaser {
    InferSlot* slot;
    ~Releaser() { slot->Release(); }
  } const releaser{&slot_};
  run.RespondAll(OfModel(*model_, RunBatch(run)));
}

Status OneRequestInstance::RunBatch(Run& run) {
  if (terminated_) return Ended();
  Status status = slot_.Bind(run);
  if (!status.ok()) return status;
  run.MarkInputsReady();
  const Library& library = model_->library();
  status = library.Take(library.table().infer_request_infer(slot_.request()));
  run.MarkComputed();
  if (!ran_) library.Did("infer");
  ran_ = true;
  if (!status.ok()) return terminated_ ? Ended() : status;
  return slot_.Declare(run);
}

void OneRequestInstance::Terminate() {
  terminated_ = true;
  slot_.Cancel();
}

ManyRequestsInstance::ManyRequestsInstance(std::shared_ptr<const CompiledModel> model,
                                           uint32_t requests)
    : model_(std::move(model)) {
  for (uint32_t i = 0; i < requests; i++) slots_.push_back(std::make_unique<Slot>(this, *model_));
  computed_.reserve(requests);
}

Status ManyRequestsInstance::Prepare() {
  const Library& library = model_->library();
  for (const auto& slot : slots_) {
    if (Status status = slot->infer.Create(model_->get()); !status.ok()) return status;
    Status status = library.Take(
        library.table().infer_request_set_callback(slot->infer.request(), &slot->callback));
    if (!status.ok()) return status;
  }
  if (thread_.Start([this] { AnswerBatches(); })) return Status::Ok();
  return Status::Unavailable(Reason::kNoMemory, "the system has no thread for an instance");
}

ManyRequestsInstance::~ManyRequestsInstance() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
      return std::all_of(slots_.begin(), slots_.end(), [](const auto& slot) { return slot->idle; });
    });
    closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.Join();
}

void ManyRequestsInstance::Execute(Run& run) {
  Slot* slot = nullptr;
  bool more = false;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& one : slots_) {
      if (!one->idle) continue;
      if (slot) more = true;
      if (!slot) slot = one.get();
    }
    slot->idle = false;  // there is one if the instance was free
    if (!more) waiting_ = RunRef(run);
  }
  slot->run = RunRef(run);
  const RunRef held = slot->run;
  Status status;
  try {
    status = OfModel(*model_, Begin(*slot, run));
  } catch (const std::bad_alloc&) {
    status = Status::NoMemory();
  }
  if (!status.ok()) End(*slot, status);
  if (more) held->InstanceFree();
}

Status ManyRequestsInstance::Begin(Slot& slot, Run& run) {
  if (terminated_) return Ended();
  slot.call.emplace(false);
  if (!slot.call->allowed()) return openvino::Exiting();
  Status status = slot.infer.Bind(run);
  if (!status.ok()) return status;
  run.MarkInputsReady();
  const Library& library = model_->library();
  status = library.Take(library.table().infer_request_start_async(slot.infer.request()));
  // Terminate may have come before the start.
  if (status.ok() && terminated_) slot.infer.Cancel();
  return status;
}

void ManyRequestsInstance::Computed(void* argument) {
  auto* const slot = static_cast<Slot*>(argument);
  ManyRequestsInstance* const owner = slot->owner;
  const std::lock_guard lock(owner->mutex_);
  owner->computed_.push_back(slot);
  owner->changed_.notify_all();
}

void ManyRequestsInstance::AnswerBatches() {
  platform::NameThread("openvino");
  const Library& library = model_->library();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !computed_.empty(); });
    if (computed_.empty()) return;
    Slot* const slot = computed_.front();
    computed_.erase(computed_.begin());
    lock.unlock();
    // The callback does not tell how the run ended. It has ended, so this returns at once.
    Status status;
    try {
      status = library.Take(library.table().infer_request_wait(slot->infer.request()));
      slot->run->MarkComputed();
      if (!ran_) library.Did("infer");
      ran_ = true;
      if (!status.ok() && terminated_) status = Ended();
      if (status.ok()) status = slot->infer.Declare(*slot->run);
      status = OfModel(*model_, status);
    } catch (const std::bad_alloc&) {
      status = Status::NoMemory();
    }
    End(*slot, status);
    lock.lock();
  }
}

void ManyRequestsInstance::End(Slot& slot, const Status& status) {
  const RunRef run = std::exchange(slot.run, RunRef());
  run->RespondAll(status);
  slot.infer.Release();
  slot.call.reset();
  RunRef waiting;
  {
    const std::lock_guard lock(mutex_);
    slot.idle = true;
    waiting = std::exchange(waiting_, RunRef());
    changed_.notify_all();
  }
  // The instance may be destroyed from here on.
  if (waiting) waiting->InstanceFree();
}

void ManyRequestsInstance::Terminate() {
  terminated_ = true;
  for (const auto& slot : slots_) slot->infer.Cancel();
}

}  // namespace tritonts::openvino
