#include "model_version.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "../platform/thread.h"
#include "clock.h"
#include "exit.h"
#include "guard.h"
#include "rules.h"

namespace tritonts {

ModelVersion::ModelVersion(uint32_t uid, std::string name, int64_t version, Backend* backend,
                           std::unique_ptr<Model> model, Timer* timer,
                           std::function<void()> on_drained)
    : uid_(uid),
      name_(std::move(name)),
      version_(version),
      backend_(backend),
      model_(std::move(model)),
      starts_at_once_(model_->starts_at_once()),
      timer_(timer),
      on_drained_(std::move(on_drained)) {}

ModelVersion::~ModelVersion() {
  TRITONTS_ASSERT(runners_.empty(), "a version was not destroyed");
}

Status ModelVersion::Start(VersionConfig config, uint32_t spin_cores) {
  {
    std::lock_guard lock(mutex_);
    TRITONTS_ASSERT(!started_ && !starting_, "a version was started twice");
    if (closed_) return Status::Cancelled("model '" + name_ + "': loading was given up");
    starting_.store(true, std::memory_order_release);
    spin_cores_ = spin_cores;
  }
  Status status = CreateInstances(std::move(config));
  if (status.ok()) started_.store(true, std::memory_order_release);
  starting_.store(false, std::memory_order_release);
  return status;
}

Status ModelVersion::CreateInstances(VersionConfig config) {
  Status status =
      Guarded(name_, "to take its configuration", [&] { return model_->Configure(config.io); });
  if (!status.ok()) return status;
  io_ = std::move(config.io);
  for (const TensorSpec& output : io_.outputs) {
    uint64_t bytes = ByteSize(output.datatype);
    for (size_t i = io_.max_batch_size > 0 ? 1 : 0; i < output.dims.size(); i++) {
      bytes *= output.dims[i] < 0 ? 0 : static_cast<uint64_t>(output.dims[i]);
    }
    known_output_bytes_ += bytes;
  }
  for (const TensorSpec& input : io_.inputs) {
    const bool variable = std::find(input.dims.begin() + (io_.max_batch_size > 0 ? 1 : 0),
                                    input.dims.end(), -1) != input.dims.end();
    variable_inputs_.push_back(variable);
    has_optional_ = has_optional_ || input.optional;
    keyed_ = keyed_ || variable || input.optional;
    has_strings_ = has_strings_ || input.datatype == DataType::kBytes;
  }
  std::vector<std::unique_ptr<InstanceRunner>> runners;
  for (const InstanceSpec& spec : config.instances) {
    auto instance =
        Guarded(name_, "to make an instance", [&] { return model_->CreateInstance(spec); });
    if (!instance.ok()) return instance.status();
    runners.push_back(
        std::make_unique<InstanceRunner>(spec, name_, io_.max_batch_size > 0, instance.take()));
    runners.back()->batch.Expect(&io_);
  }
  std::lock_guard lock(mutex_);
  runners_ = std::move(runners);
  if (backend_->may_run_on_js_thread()) run_times_ = RunTimes(config.inline_budget_ns);
  scheduler_ = std::make_unique<DynamicScheduler>(std::move(config.policy));
  return Status::Ok();
}

void ModelVersion::Submit(std::span<Request* const> requests, uint64_t now_ns, InlineTick* tick) {
  After after;
  InstanceRunner* mine = nullptr;
  std::vector<Request*> refused;
  Status reason;
  {
    std::lock_guard lock(mutex_);
    if (closed_ || !scheduler_) {
      refused.assign(requests.begin(), requests.end());
      reason = Status::Unavailable("model '" + name_ + "', version " + std::to_string(version_) +
                                   ": is being unloaded");
    } else {
      // Whoever waits already goes first, and elsewhere.
      const bool first = scheduler_->waiting() == 0;
      for (Request* request : requests) {
        TRITONTS_ASSERT(request->state() == Request::State::kSubmitted, "a request came in twice");
        Status status = scheduler_->Enqueue(request, now_ns);
        if (status.ok()) {
          request->set_state(Request::State::kQueued);
          in_flight_ += request->parts;
        } else {
          reason = status;
          refused.push_back(request);
        }
      }
      Dispatch(now_ns, nullptr, &after);
      if (tick && first) mine = ChooseInline(*tick, &after);
    }
  }
  Finish(after);
  if (mine) {
    std::unique_lock lock(mutex_, std::defer_lock);
    while (Run(mine, tick, &lock) == Ran::kHasNext) continue;
  }
  if (!refused.empty()) Refuse(refused, reason);
}

void ModelVersion::Cancel(Request* request) {
  {
    std::lock_guard lock(mutex_);
    request->cancelled.store(true, std::memory_order_relaxed);
    for (const auto& runner : runners_) runner->batch.CancelPart(*request);
    if (!scheduler_ || !scheduler_->Cancel(request)) return;
  }
  Request* const one[] = {request};
  Fail(one, Status::Cancelled("model '" + name_ + "': the request was cancelled"));
}

Statistics ModelVersion::statistics() const {
  while (true) {
    {
      std::lock_guard lock(mutex_);
      Statistics statistics = statistics_;
      if (std::all_of(runners_.begin(), runners_.end(), [&](const auto& runner) {
            return !runner->busy || runner->batch.AddAnswered(&statistics);
          })) {
        return statistics;
      }
    }
    std::this_thread::yield();  // an answer is being handed over
  }
}

std::map<std::string, std::string> ModelVersion::Info() const {
  std::lock_guard lock(mutex_);
  return stop_ || !model_ ? std::map<std::string, std::string>() : model_->Info();
}

void ModelVersion::OnTimer(uint64_t now_ns) {
  After after;
  {
    std::lock_guard lock(mutex_);
    Dispatch(std::max(now_ns, NowNs()), nullptr, &after);
  }
  Finish(after);
}

void ModelVersion::Close() {
  bool drained = false;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    drained = in_flight_ == 0;
  }
  if (drained) on_drained_();
}

bool ModelVersion::drained() const {
  std::lock_guard lock(mutex_);
  if (in_flight_ > 0) return false;
  return std::none_of(runners_.begin(), runners_.end(), [](const auto& r) { return r->busy; });
}

void ModelVersion::Abort(const Status& status) {
  std::vector<Schedulable*> waiting;
  {
    std::lock_guard lock(mutex_);
    if (scheduler_) scheduler_->Drain(&waiting);
  }
  std::vector<Request*> requests;
  for (Schedulable* schedulable : waiting) requests.push_back(static_cast<Request*>(schedulable));
  Terminate();
  if (!requests.empty()) Fail(requests, status);
}

void ModelVersion::Terminate() {
  std::lock_guard lock(mutex_);
  terminated_ = true;
  // A terminate flag only: no backend waits or calls back in there.
  for (const auto& runner : runners_) runner->instance->Terminate();
}

void ModelVersion::Destroy() {
  timer_->Remove(this);
  std::vector<std::unique_ptr<InstanceRunner>> runners;
  {
    std::lock_guard lock(mutex_);
    TRITONTS_ASSERT(in_flight_ == 0, "a version was destroyed with requests in flight");
    stop_ = true;
    runners.swap(runners_);
  }
  for (auto& runner : runners) {
    runner->bell->Ring();
    if (runner->thread.joinable()) runner->thread.join();
  }
  runners.clear();
  model_.reset();
}

void ModelVersion::Leak() {
  timer_->Remove(this);
  const Status status =
      Status::Internal("model '" + name_ + "': a run did not return; its instance was given up");
  std::vector<InstanceRunner*> busy;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    for (const auto& runner : runners_) {
      if (runner->busy) busy.push_back(runner.get());
      if (runner->running) CountGivenUpCalls(1);
      if (runner->thread.joinable()) runner->thread.detach();
      runner->bell->Ring();
    }
  }
  // A run that comes back now finds `stop_` and leaves its batch alone; one that was assigned but
  // not begun never begins.
  for (InstanceRunner* runner : busy) runner->batch.Abandon(status);
}

void ModelVersion::Dispatch(uint64_t now_ns, InstanceRunner* preferred, After* after) {
  if (!scheduler_ || terminated_ || Exiting()) return;
  // Only what just became free is asked first: it is awake already.
  if (preferred && !preferred->busy && !Offer(preferred, now_ns, preferred, after)) return;
  bool threads = runners_.empty();
  for (const auto& runner : runners_) {
    if (scheduler_->waiting() == 0) return;
    if (!StartThread(runner.get())) continue;
    threads = true;
    if (!runner->busy && !Offer(runner.get(), now_ns, preferred, after)) return;
  }
  if (!threads) scheduler_->Drain(&after->stranded);
}

bool ModelVersion::StartThread(InstanceRunner* runner) {
  if (runner->thread.joinable()) return true;
  try {
    runner->thread = std::thread([this, runner] { RunInstance(runner); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

// False: nothing to run at present for this instance, nor then for another one.
bool ModelVersion::Offer(InstanceRunner* runner, uint64_t now_ns, InstanceRunner* self,
                         After* after) {
  decision_.Clear();
  scheduler_->Next(runner->index, now_ns, &decision_);
  for (Schedulable* schedulable : decision_.expire) {
    after->expired.push_back(static_cast<Request*>(schedulable));
  }
  if (decision_.wake_at_ns != 0) timer_->Schedule(this, decision_.wake_at_ns);
  if (decision_.take.empty()) return false;
  runner->batch.Assign(decision_, ++batches_);
  runner->busy = true;
  runner->assigned_ns = now_ns;
  if (run_times_.enabled()) {
    const auto requests = std::as_const(runner->batch).requests();
    runner->batch_class = RunTimes::Class(requests, runner->batch.total_batch_size(), has_strings_);
  }
  if (runner != self) after->wake.Add(runner);
  return true;
}

void ModelVersion::EndedLocked(size_t count, After* after) {
  TRITONTS_ASSERT(in_flight_ >= count, "more requests ended than were accepted");
  in_flight_ -= count;
  if (closed_ && in_flight_ == 0) after->drained = true;
}

void ModelVersion::Finish(const After& after) {
  after.wake.Notify();
  if (!after.expired.empty()) {
    Fail(after.expired, Status::Unavailable("model '" + name_ + "': request timeout expired"));
  }
  if (!after.stranded.empty()) {
    std::vector<Request*> requests;
    for (Schedulable* one : after.stranded) requests.push_back(static_cast<Request*>(one));
    Fail(requests, Status::Unavailable("model '" + name_ +
                                       "': the system has no thread for any of its instances"));
  }
  if (after.drained) on_drained_();
}

void ModelVersion::Refuse(std::span<Request* const> requests, const Status& status) {
  std::vector<Response> responses;
  for (Request* request : requests) {
    TRITONTS_ASSERT(request->state() == Request::State::kSubmitted ||
                        request->state() == Request::State::kQueued,
                    "a request ended twice");
    request->set_state(Request::State::kDone);
    Response response;
    response.request = request;
    response.status = status;
    responses.push_back(std::move(response));
  }
  DeliverAll(responses);
}

void ModelVersion::Fail(std::span<Request* const> requests, const Status& status) {
  const uint64_t now = NowNs();
  uint64_t ns = 0;
  size_t parts = 0;
  for (Request* request : requests) {
    parts += request->parts;
    ns += request->parts * (now - request->arrival_ns);
  }
  {
    // Before the answers: whoever has one finds it counted.
    std::lock_guard lock(mutex_);
    statistics_.fail.Add(parts, ns);
    (status.code() == Code::kCancelled ? statistics_.cancelled : statistics_.rejected) += parts;
  }
  Refuse(requests, status);
  After after;
  {
    std::lock_guard lock(mutex_);
    EndedLocked(parts, &after);
  }
  Finish(after);
}

void ModelVersion::SetShapeKey(Request* request) const {
  request->shape_key.clear();
  if (!keyed_) return;
  const size_t first = io_.max_batch_size > 0 ? 1 : 0;
  for (const InputTensor& input : request->inputs()) {
    if (has_optional_) request->shape_key.push_back(input.index);
    if (!variable_inputs_[input.index]) continue;
    request->shape_key.insert(request->shape_key.end(), input.shape.begin() + first,
                              input.shape.end());
  }
}

bool ModelVersion::MayRunInline(const InstanceRunner& runner, const InlineTick& tick) const {
  return runner.memory == MemoryKind::kHost && run_times_.Fits(runner.batch_class, tick.spent_ns);
}

InstanceRunner* ModelVersion::ChooseInline(const InlineTick& tick, After* after) {
  InstanceRunner* runner = after->wake.front();
  if (!runner || !MayRunInline(*runner, tick)) return nullptr;
  after->wake.DropFront();
  runner->on_caller = runner->running = true;
  return runner;
}

ModelVersion::Ran ModelVersion::Run(InstanceRunner* runner, InlineTick* tick,
                                    std::unique_lock<std::mutex>* lock) {
  const uint64_t began = NowNs();
  {
    RuntimeCall call;
    BatchRun& batch = runner->batch;
    batch.Begin(began);
    const Status status = Guarded(name_, "to run", [&] {
      if (!call.allowed()) return Status::Cancelled("the process is exiting");
      runner->instance->Execute(batch);
      return Status::Ok();
    });
    if (!status.ok()) batch.Respond(status);
    batch.End();
  }
  const uint64_t now = NowNs();
  // Not the answers: to deliver these the JS thread needs more time than to write them.
  const uint64_t ran_ns = runner->batch.ran_ns();
  After after;
  Ran ran = Ran::kIdle;
  lock->lock();
  runner->running = false;
  if (stop_) {  // given up while it ran: what it would touch is not ours any more
    CountGivenUpCalls(-1);
    lock->unlock();
    return Ran::kGivenUp;
  }
  run_times_.Note(runner->batch_class, ran_ns);
  const size_t ended = runner->batch.Account(&statistics_);
  runner->busy = false;
  EndedLocked(ended, &after);
  scheduler_->Finished(runner->index, now);
  Dispatch(now, runner, &after);
  if (tick) tick->spent_ns += ran_ns;
  if (!runner->busy) {
    runner->on_caller = false;
  } else if (!tick || MayRunInline(*runner, *tick)) {
    runner->running = true;
    ran = Ran::kHasNext;
  } else {
    runner->on_caller = false;
    after.wake.Add(runner);
  }
  // The runner's thread waits under this lock.
  if (!tick && ran == Ran::kIdle && !after.any()) return ran;
  lock->unlock();
  if (after.any()) Finish(after);
  return ran;
}

void ModelVersion::RunInstance(InstanceRunner* runner) {
  platform::NameThread("tritonts-model");
  platform::ComputeForLong();
  std::unique_lock lock(mutex_);
  while (true) {
    const uint64_t began = NowNs();
    const Spin spin = Await(runner->bell.get(), &runner->spin, spin_cores_, began, &lock,
                            [&] { return (runner->busy && !runner->on_caller) || stop_; });
    if (stop_) return;
    runner->spin.Note(spin, runner->assigned_ns > began ? runner->assigned_ns - began : 0);
    runner->running = true;
    lock.unlock();
    Ran ran = Ran::kHasNext;
    while (ran == Ran::kHasNext) ran = Run(runner, nullptr, &lock);
    if (ran == Ran::kGivenUp) return;
    if (!lock.owns_lock()) lock.lock();
  }
}

}  // namespace tritonts
