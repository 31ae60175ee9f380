// How a version begins and ends.
#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "engine/base/exit.h"
#include "engine/base/guard.h"
#include "engine/base/rules.h"
#include "engine/scheduling/dynamic_scheduler.h"
#include "engine/scheduling/policy_scheduler.h"
#include "engine/sequences/make_sequence_scheduler.h"
#include "engine/statistics/response_counts.h"
#include "engine/version/model_version.h"

namespace tritonts {

namespace {

// `a` times `b`, but at most kMostBytes.
uint64_t Times(uint64_t a, uint64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > ModelVersion::kMostBytes / b ? ModelVersion::kMostBytes : a * b;
}

}  // namespace

ModelVersion::ModelVersion(uint32_t uid, std::string name, int64_t version, Backend* backend,
                           std::unique_ptr<Model> model, Timer* timer,
                           std::function<void()> on_drained)
    : Served(std::move(on_drained)),
      uid_(uid),
      name_(std::move(name)),
      version_(version),
      backend_(backend),
      model_(std::move(model)),
      starts_at_once_(model_->starts_at_once()),
      call_places_(model_->call_places()),
      timer_(timer),
      exits_(Status::Unavailable(Reason::kClosed, "model '" + name_ + "': the process is exiting")),
      expired_(
          Status::Unavailable(Reason::kTimedOut, "model '" + name_ + "': request timeout expired")),
      no_thread_(Status::Unavailable(
          Reason::kNoMemory, "model '" + name_ + "': the system has no thread for its instances")),
      broken_(Status::Unavailable(
          Reason::kNoMemory,
          "model '" + name_ +
              "': an earlier request of the sequence could not leave its state: there was no "
              "memory for it, or its size changed although use_same_buffer_for_input_output is "
              "set")),
      did_not_return_(Status::Internal("model '" + name_ +
                                       "': a run did not return; its instance was abandoned")),
      context_(name_, false, nullptr),
      refusal_(Status::Unavailable(
          Reason::kNotReady,
          "model '" + name_ + "', version " + std::to_string(version_) + ": is being unloaded")) {}

ModelVersion::~ModelVersion() {
  EndLayers();
  TRITONTS_ASSERT(runners_.empty(), "a version was not destroyed");
}

Status ModelVersion::Start(VersionConfig config, uint32_t spin_cores,
                           const std::function<bool()>& cancelled) {
  {
    std::lock_guard lock(mutex_);
    TRITONTS_ASSERT(!started_ && !starting_, "a version was started twice");
    if (closed_) {
      return MakeStatus(
          [&] { return Status::Cancelled("model '" + name_ + "': loading was cancelled"); });
    }
    starting_.store(true, std::memory_order_release);
    spin_cores_ = spin_cores;
  }
  unload_wait_ns_.store(config.unload_wait_ns, std::memory_order_relaxed);
  Status status;
  try {
    const std::vector<WarmupSample> warmup = std::move(config.warmup);
    status = CreateInstances(std::move(config));
    if (status.ok() && !warmup.empty()) status = WarmUp(warmup, cancelled);
  } catch (const std::bad_alloc&) {
    status = context_.no_memory;
  }
  if (status.ok()) started_.store(true, std::memory_order_release);
  // After this LeaveToStart returns false, unless it returned true before.
  std::lock_guard lock(mutex_);
  starting_.store(false, std::memory_order_release);
  return status;
}

Status ModelVersion::CreateInstances(VersionConfig config) {
  Status status = Guarded(name_, "to take its configuration",
                          [&] { return model_->Configure(config.io, config.json); });
  if (!status.ok()) return status;
  io_ = std::move(config.io);
  context_ = RunContext(name_, io_.max_batch_size > 0, &io_);
  context_.decoupled = config.decoupled;
  if (config.decoupled) context_.responses = std::make_shared<ResponseCounts>();
  if (config.preserve_ordering || (config.sequences && config.sequences->preserve_ordering)) {
    context_.order = std::make_shared<ResponseOrder>();
  }
  // A model may have noted a request of a sequence, even if the run failed.
  context_.rerun_in_halves =
      config.rerun_in_halves && model_->may_run_again() && !config.decoupled && !config.sequences;
  NoteSizes();
  std::vector<std::unique_ptr<InstanceRunner>> runners;
  std::vector<InstanceRunner*> all;
  std::vector<std::unique_ptr<GpuTotals>> gpus;
  bool bound = false;
  for (const InstanceSpec& spec : config.instances) {
    const size_t number = runners.size();
    auto made = MakeRunner(spec, config.gate,
                           number < config.claims.size() ? config.claims[number] : GateClaim());
    if (!made.ok()) return made.status();
    bound = bound || !spec.host_policy.empty();
    runners.push_back(made.take());
    all.push_back(runners.back().get());
    if (spec.memory != MemoryKind::kDevice) continue;
    auto totals = std::find_if(gpus.begin(), gpus.end(),
                               [&](const auto& gpu) { return gpu->device == spec.device; });
    if (totals == gpus.end()) {
      totals = gpus.insert(gpus.end(), std::make_unique<GpuTotals>(spec.device, config.latencies));
    }
    all.back()->totals = totals->get();
  }
  // A larger need may have raised what there is of a resource.
  if (config.gate) config.gate->AdmitAndTell();
  NoteDevices(all);
  const bool by_bytes = std::any_of(
      io_.inputs.begin(), io_.inputs.end(),
      [](const TensorSpec& input) { return input.datatype == DataType::kBytes || input.ragged; });
  // A decoupled model may wait until the JS thread reads its responses. One with a host policy runs
  // on its own threads alone, because others are not bound.
  const bool may_run_inline = backend_->may_run_on_js_thread() && !model_->time_depends_on_data() &&
                              !config.decoupled && !bound;
  const uint64_t budget = may_run_inline ? config.inline_budget_ns : 0;
  const uint64_t guest_budget = may_run_inline ? config.guest_budget_ns : 0;
  auto dispatcher = std::make_unique<Dispatcher>(MakeScheduler(&config), std::move(all), &context_,
                                                 InlinePolicy(budget, by_bytes, guest_budget));
  auto latencies = std::make_unique<Latencies>(std::move(config.latencies));
  std::lock_guard lock(mutex_);
  runners_ = std::move(runners);
  latencies_ = std::move(latencies);
  gpus_ = std::move(gpus);
  dispatcher_ = std::move(dispatcher);
  return Status::Ok();
}

StatusOr<std::unique_ptr<InstanceRunner>> ModelVersion::MakeRunner(
    const InstanceSpec& spec, const std::shared_ptr<Gate>& gate, const GateClaim& claim) {
  const platform::ScopedHostPolicy policy(spec.host_policy);
  if (!policy.fault().empty()) return Status::Internal(policy.fault());
  auto instance =
      Guarded(name_, "to make an instance", [&] { return model_->CreateInstance(spec); });
  if (!instance.ok()) return instance.status();
  auto runner = std::make_unique<InstanceRunner>(spec, instance.take());
  if (gate) {
    const Status status = runner->JoinGate(gate, weak_from_this(), spec.index, claim);
    if (!status.ok()) return status;
  }
  return runner;
}

std::unique_ptr<Scheduler> ModelVersion::MakeScheduler(VersionConfig* config) {
  if (config->queue) {
    queue_policies_ = std::make_shared<const QueuePolicies>(std::move(*config->queue));
  }
  if (config->scheduler) return config->scheduler();
  config->policy.hook = model_->batch_hook();
  alone_ = config->sequences.has_value();
  if (alone_) {
    return MakeSequenceScheduler(std::move(*config->sequences),
                                 static_cast<uint32_t>(config->instances.size()), name_,
                                 config->budget);
  }
  if (!queue_policies_) return std::make_unique<DynamicScheduler>(std::move(config->policy));
  return std::make_unique<PolicyScheduler>(std::move(config->policy), queue_policies_, name_);
}

void ModelVersion::NoteSizes() {
  const size_t first = io_.max_batch_size > 0 ? 1 : 0;
  for (const TensorSpec& output : io_.outputs) {
    uint64_t bytes = ByteSize(output.datatype);
    for (size_t i = output.rows_in_values ? 0 : first; i < output.dims.size(); i++) {
      bytes = Times(bytes, output.dims[i] < 0 ? 0 : static_cast<uint64_t>(output.dims[i]));
    }
    known_output_bytes_ = std::min(known_output_bytes_ + bytes, kMostBytes);
  }
  for (const TensorSpec& input : io_.inputs) {
    const bool variable =
        !input.ragged && std::find(input.dims.begin() + static_cast<ptrdiff_t>(first),
                                   input.dims.end(), -1) != input.dims.end();
    keyed_inputs_.push_back(input.rows_in_values ? Keyed::kValues
                            : variable           ? Keyed::kDims
                                                 : Keyed::kNothing);
    const bool optional = input.optional && !input.internal;
    has_optional_ = has_optional_ || optional;
    keyed_ = keyed_ || keyed_inputs_.back() != Keyed::kNothing || optional;
  }
}

uint64_t ModelVersion::KnownOutputBytes(uint64_t rows) const {
  return Times(rows, known_output_bytes_);
}

std::map<std::string, std::string> ModelVersion::Info() const {
  {
    std::lock_guard lock(mutex_);
    if (stop_ || !model_) return {};
    BeginCall();
  }
  std::map<std::string, std::string> info;
  try {
    info = model_->Info();
  } catch (...) {
    // Info is then empty. No request depends on it.
  }
  EndCall();
  return info;
}

void ModelVersion::EndCall() const {
  std::lock_guard lock(mutex_);
  if (--calls_ == 0) calls_changed_.notify_all();
}

void ModelVersion::Close(const Status& reason) {
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    if (!reason.ok()) refusal_ = reason;
    if (dispatcher_ && dispatcher_->scheduler().timed()) {
      // Sequences without a request end, so that others get their slots.
      const uint64_t now = NowNs();
      dispatcher_->scheduler().Close(now);
      Dispatch(now, nullptr, &orders);
    }
    NoteDrained(&orders);
  }
  Carry(&orders);
}

bool ModelVersion::idle() const {
  std::lock_guard lock(mutex_);
  return DrainedLocked();
}

void ModelVersion::AbortAccepted(const Status& status) {
  RequestChain waiting;
  Orders orders;
  {
    std::lock_guard lock(mutex_);
    aborted_ = refusal_ = status;
    terminated_ = true;
    if (dispatcher_) {
      dispatcher_->scheduler().Drain(&waiting);
      dispatcher_->WithdrawHeld(NowNs(), &waiting, &orders);
    }
  }
  if (orders.left) orders.left->AdmitAndTell();
  // The withdrawn batches lost their places in the order.
  if (context_.order) context_.order->Go();
  // This comes before Terminate, because a backend that is asked to end a run may never return.
  if (!waiting.empty()) Fail(&waiting, status);
  Terminate();
}

void ModelVersion::Terminate() {
  size_t count = 0;
  {
    std::lock_guard lock(mutex_);
    terminated_ = true;
    if (stop_) return;
    count = runners_.size();
    BeginCall();
  }
  for (size_t i = 0; i < count; i++) {
    InstanceRunner* runner = nullptr;
    {
      std::lock_guard lock(mutex_);
      // Nothing is removed from a version that is terminated.
      runner = runners_[i].get();
    }
    if (!runner) continue;
    try {
      runner->instance->Terminate();
    } catch (...) {
      // The instance's runs go on until they end or are abandoned.
    }
  }
  EndCall();
}

void ModelVersion::Destroy() {
  timer_->Remove(this);
  RetireLayers();
  std::vector<std::unique_ptr<InstanceRunner>> runners;
  {
    std::unique_lock lock(mutex_);
    TRITONTS_ASSERT(DrainedLocked(), "a version was destroyed with requests in flight");
    TRITONTS_ASSERT(!destroyed_, "a version was destroyed twice");
    destroyed_ = true;
    stop_ = true;
    calls_changed_.wait(lock, [this] { return calls_ == 0 && starts_ == 0; });
    runners.swap(runners_);
  }
  std::erase(runners, nullptr);
  for (auto& runner : runners) {
    runner->bell->Ring();
    runner->thread.Join();
  }
  {
    std::lock_guard lock(mutex_);
    dispatcher_.reset();
  }
  runners.clear();
  model_.reset();
}

bool ModelVersion::abandoned() const {
  std::lock_guard lock(mutex_);
  return abandoned_;
}

bool ModelVersion::LeaveToStart() {
  std::lock_guard lock(mutex_);
  if (starting()) left_to_start_ = true;
  return left_to_start_;
}

bool ModelVersion::left_to_start() const {
  std::lock_guard lock(mutex_);
  return left_to_start_;
}

void ModelVersion::Abandon() {
  timer_->Remove(this);
  PooledRun* first = nullptr;
  std::shared_ptr<Gate> gate;
  {
    std::unique_lock lock(mutex_);
    abandoned_ = true;
    stop_ = true;
    warmed_.notify_all();
    calls_changed_.wait(lock, [this] { return starts_ == 0; });
    if (dispatcher_) first = dispatcher_->under_way();
    // Other versions must not wait at the gate for runs that do not return.
    for (const auto& runner : runners_) {
      if (runner) runner->LeaveGateForGood();
    }
    for (const auto& runner : runners_) {
      if (runner && runner->gate) gate = runner->gate;
    }
    for (const auto& runner : runners_) {
      if (!runner) continue;
      runner->thread.Detach();
      runner->bell->Ring();
    }
  }
  if (gate) gate->AdmitAndTell();
  // Held responses are delivered: the order does not wait for the abandoned runs.
  if (context_.order) context_.order->Open();
  // A run that returns now finds `stop_` set and is left alone. A run that was assigned but not
  // begun never begins. So no run is added to the list any more, and none leaves it.
  for (PooledRun* run = first; run; run = run->next) {
    if (run->Abandon(did_not_return_)) CountAbandonedCalls(1);
  }
}

}  // namespace tritonts
