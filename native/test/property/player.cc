#include "player.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "engine/base/abandon.h"
#include "engine/scheduling/dynamic_scheduler.h"
#include "engine/scheduling/policy_scheduler.h"
#include "engine/sequences/make_sequence_scheduler.h"
#include "neighbour.h"
#include "sink.h"
#include "timer.h"

namespace tritonts::test {

// --- The backend.

class Player::PlayedInstance final : public Instance {
 public:
  PlayedInstance(Player* player, uint32_t index) : player_(player), index_(index) {
    const std::lock_guard lock(player_->mutex_);
    if (!player_->instances_.insert(index).second) player_->Fail("two instances have one number");
  }
  ~PlayedInstance() override {
    const std::lock_guard lock(player_->mutex_);
    player_->instances_.erase(index_);
  }
  bool asynchronous() const override { return player_->schedule_.setup.is_asynchronous(index_); }
  void Execute(tritonts::Run& run) override { player_->OnExecute(index_, run); }
  void Terminate() override { player_->terminations_++; }
  MemoryCopier* memory() override {
    static FakeDevice device;
    return player_->schedule_.setup.has_device ? &device : nullptr;
  }

 private:
  Player* const player_;
  const uint32_t index_;
};

class Player::PlayedModel final : public Model {
 public:
  explicit PlayedModel(Player* player) : player_(player) {}
  ModelDescription Describe() const override { return {}; }
  bool may_run_again() const override { return true; }
  Status Configure(const ModelIo&, std::string_view) override { return Status::Ok(); }
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override {
    return std::unique_ptr<Instance>(new PlayedInstance(player_, spec.index));
  }

 private:
  Player* const player_;
};

class Player::PlayedBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec&) override {
    return Status::Internal("a player makes its models itself");
  }
  bool may_run_on_js_thread() const override { return true; }
};

namespace {

QueuePolicy PolicyOf(const LevelSetup& level) {
  using OnTimeout = QueuePolicy::OnTimeout;
  return {level.delays ? OnTimeout::kDelay : OnTimeout::kReject, level.timeout_ns,
          level.may_override, level.most};
}

QueuePolicies PoliciesOf(const QueueSetup& setup) {
  QueuePolicies policies{setup.levels, setup.usual_level, PolicyOf(setup.general), {}};
  for (const auto& [level, own] : setup.own) policies.own[level] = PolicyOf(own);
  return policies;
}

SequencePolicy PolicyOf(const Setup& setup, const DynamicPolicy& dynamic) {
  using Kind = SequenceControl::Kind;
  const SequenceSetup& sequences = *setup.sequences;
  SequencePolicy policy;
  policy.strategy =
      sequences.direct ? SequencePolicy::Strategy::kDirect : SequencePolicy::Strategy::kOldest;
  policy.slots = sequences.slots;
  policy.max_batch_size = setup.max_batch_size;
  policy.max_idle_ns = sequences.idle_ns;
  policy.minimum_slot_utilization =
      static_cast<float>(sequences.share) / static_cast<float>(sequences.slots);
  policy.max_queue_delay_ns = setup.delay_ns;
  policy.dynamic = dynamic;
  policy.iterative = sequences.iterative;
  if (sequences.state) {
    SequenceStateSpec& state = policy.states.emplace_back();
    state.input = sequences.controls ? 3 : 1;
    state.output = 1;
    state.datatype = DataType::kFp32;
    state.first_shape = {1, 1};
  }
  if (sequences.controls) {
    SequenceControl start{Kind::kStart, 1, DataType::kInt32, {}};
    start.values[1][0] = 1;
    policy.controls = {start, {Kind::kCorrelationId, 2, DataType::kUint64, {}}};
  }
  return policy;
}

}  // namespace

// --- A schedule from beginning to end.

Player::Player(const Schedule& schedule)
    : schedule_(schedule), model_(schedule.setup), executing_(kMostInstances) {
  for (const bool own : {false, true}) sinks_[own] = std::make_unique<Sink>(this, own);
}

Player::~Player() = default;

bool Player::Start() {
  static PlayedBackend backend;
  version_ = std::make_shared<ModelVersion>(
      1, "m", 1, &backend, std::make_unique<PlayedModel>(this), &timer_, [this] { drained_++; });
  version_->OnLeft([this] {
    told_left_ = true;
    return true;
  });
  const Setup& setup = schedule_.setup;
  if (const auto rate = static_cast<uint32_t>(schedule_.steps.size() % 4); rate > 0) {
    TraceSetting::Options traces;
    traces.timestamps = traces.tensors = true;
    traces.rate = rate;
    traces.file = "/dev/null";
    tracer_ = std::make_shared<Tracer>();
    traces_before_ = TraceTree::alive();
    if (!tracer_->Set("", Tracer::Update{traces, false}).ok()) return false;
    version_->SetTracer(tracer_, 1, true);
  }
  VersionConfig config;
  config.latencies.histograms = true;
  config.io = {setup.max_batch_size,
               {{"x", DataType::kFp32, {-1, -1}, false}},
               {{"y", DataType::kFp32, {-1, -1}, false}}};
  if (setup.adds) {
    config.io.inputs.push_back({"slot", DataType::kUint32, {-1, 1}, false});
    config.io.outputs.push_back({"kept", DataType::kFp32, {-1, -1}, false});
    config.io.inputs.back().internal = config.io.outputs.back().internal = true;
  }
  if (setup.sequences && setup.sequences->controls) {
    config.io.inputs.push_back({"start", DataType::kInt32, {-1, 1}, false});
    config.io.inputs.push_back({"id", DataType::kUint64, {-1, 1}, false});
    config.io.inputs[1].internal = config.io.inputs[2].internal = true;
  }
  if (setup.sequences && setup.sequences->state) {
    config.io.inputs.push_back({"state", DataType::kFp32, {-1, -1}, false});
    config.io.outputs.push_back({"next", DataType::kFp32, {-1, -1}, false});
    config.io.inputs.back().internal = config.io.outputs.back().internal = true;
  }
  config.io.inputs[0].ragged = setup.ragged;
  if (setup.gate > 0) {
    config.gate = gate_ = std::make_shared<CountingGate>(setup.gate);
    neighbour_ = std::make_unique<Neighbour>(gate_, &timer_);
    if (!neighbour_->started()) return false;
  }
  for (uint32_t i = 0; i < setup.asynchronous.size(); i++) {
    config.instances.push_back({"m_" + std::to_string(i), i, MemoryKind::kHost, 0});
  }
  // The budget fits any measured time.
  if (setup.runs_inline) config.inline_budget_ns = uint64_t{3600} * 1'000'000'000;
  config.preserve_ordering = setup.ordered;
  config.rerun_in_halves = setup.halves;
  config.decoupled = setup.decoupled();
  const DynamicPolicy policy{setup.max_batch_size, setup.preferred, setup.delay_ns,
                             setup.across && !setup.ordered};
  std::shared_ptr<const QueuePolicies> queue;
  if (setup.queue) {
    config.queue = PoliciesOf(*setup.queue);
    queue = std::make_shared<const QueuePolicies>(*config.queue);
  }
  if (setup.sequences) config.sequences = PolicyOf(setup, policy);
  config.scheduler = [this, policy, queue, sequences = config.sequences,
                      adds = setup.adds]() -> std::unique_ptr<Scheduler> {
    std::unique_ptr<Scheduler> inner;
    if (sequences) {
      const auto instances = static_cast<uint32_t>(schedule_.setup.asynchronous.size());
      inner = MakeSequenceScheduler(*sequences, instances, "m");
    } else if (queue) {
      inner = std::make_unique<PolicyScheduler>(policy, queue, "m");
    } else {
      inner = std::make_unique<DynamicScheduler>(policy);
    }
    return std::make_unique<ClockedScheduler>(std::move(inner), view_, adds);
  };
  view_->now_ns = model_.now_ns;
  ScheduledAt(nullptr) = 0;
  return version_->Start(std::move(config)).ok();
}

std::string Player::Play(const Schedule& schedule) {
  const std::shared_ptr<Player> player(new Player(schedule));
  if (!player->Start()) return "the version does not start";
  std::string failure = player->Run();
  if (player->tracer_) player->tracer_->Stop();
  if (!failure.empty() || player->model_.abandoned()) {
    tritonts::Abandon(player);
    player->Leave();
  }
  return failure;
}

std::string Player::Run() {
  while (next_ < schedule_.steps.size() && !model_.abandoned()) {
    Do(schedule_.steps[next_++]);
    Settle();
    if (failed_) return failure_ + ", after step " + std::to_string(next_);
  }
  if (!model_.abandoned()) End();
  return failure_;
}

void Player::End() {
  const bool aborts = schedule_.steps.size() % 3 == 0;
  if (!model_.closed()) Do({Do::kClose});
  Settle();
  for (int round = 0; !failed_ && !model_.drained(); round++) {
    if (aborts || round == 100) Do({Do::kAbort});
    if (round > 200) {
      return Fail("the version does not run out of requests: " +
                  std::to_string(model_.queue().size()) + " wait");
    }
    // Each of them may start another.
    for (size_t i = 0; i < model_.runs().size(); i++) {
      const ModelRun* const run = model_.runs()[i].get();
      if (!run->begun || run->over()) continue;
      PlayedRun* const played = played_[run].get();
      RespondToAll(played, {Do::kRespondToAll});
      // Its memory may already be another run's. Its instance may have let another thread in.
      if (run->over()) {
        Settle();
        continue;
      }
      On(played, false, [&] {
        {
          std::lock_guard lock(mutex_);
          model_.InstanceFree(played->model);
        }
        played->run->InstanceFree();
      });
      if (!schedule_.setup.is_asynchronous(run->instance) && !run->returned) Return(played, false);
      Settle();
    }
    if (model_.neighbour_inside()) MeetNeighbour();
    Advance({Do::kAdvance, false, 11, 0});
    Settle();
  }
  Settle();
  if (failed_) return;
  version_->Destroy();
  version_.reset();
  if (tracer_) {
    if (TraceTree::alive() != traces_before_) return Fail("a trace has not ended");
  }
  Late({Do::kLate, false, 0, 0, 0});
  played_.clear();
}

void Player::Leave() {
  if (!model_.abandoned()) {
    Fail("left");
    version_->Close();
    version_->Abort(Status::Cancelled("left"));
    version_->Abandon();
  }
  std::lock_guard lock(mutex_);
  for (const auto& [model, played] : played_) played->leaves = true;
  changed_.notify_all();
}

// --- Comparing.

void Player::Fail(const std::string& what) {
  std::lock_guard lock(failure_mutex_);
  if (!failed_) failure_ = what;
  failed_ = true;
}

std::string Player::Difference() {
  model_.FreeLate();
  std::ostringstream out;
  const auto differs = [&](uint64_t is, uint64_t should, const char* what) {
    if (is == should) return false;
    out << what << ": " << is << " instead of " << should;
    return true;
  };
  for (const auto& life : lives_) {
    if (!life->expected.empty()) {
      out << "request " << life->id << ": a response is missing, of code "
          << static_cast<int>(life->expected.front().code);
      return out.str();
    }
  }
  for (const uint32_t i : model_.present()) {
    if (model_.abandoned()) break;
    const bool taken =
        std::any_of(executing_[i].begin(), executing_[i].end(),
                    [](const PlayedRun* one) { return one->parked && !one->leaves; });
    if (model_.next(i) && !taken) {
      out << "instance " << i << ": does not begin its batch";
      return out.str();
    }
  }
  // A run keeps its version alive until it is accounted for. The version does that and asks for the
  // next batch under one lock, so a later holder of the lock finds both done.
  const auto keeping = std::count_if(model_.runs().begin(), model_.runs().end(),
                                     [](const auto& run) { return !run->over(); });
  if (!model_.abandoned() &&
      differs(static_cast<uint64_t>(version_.use_count()) - 1, static_cast<uint64_t>(keeping),
              "runs that keep the version")) {
    return out.str();
  }
  const Statistics statistics = version_->statistics();
  const Counts counts = model_.counts();
  std::map<uint32_t, uint64_t> batches;
  for (const auto& [rows, batch] : statistics.batches) batches[rows] = batch.compute_infer.count;
  if (differs(statistics.success.count, counts.success, "success") ||
      differs(statistics.fail.count, counts.fail, "fail") ||
      differs(statistics.cancelled, counts.cancelled, "cancelled") ||
      differs(statistics.rejected, counts.rejected, "rejected") ||
      differs(statistics.refused, counts.refused, "refused") ||
      differs(statistics.inference_count, counts.rows, "inference_count") ||
      differs(statistics.execution_count, counts.executions, "execution_count") ||
      differs(statistics.reruns, counts.reruns, "reruns") ||
      differs(statistics.queue.count, counts.success, "queue") ||
      differs(statistics.compute_input.count, counts.success, "compute_input") ||
      differs(statistics.compute_infer.count, counts.success, "compute_infer") ||
      differs(statistics.compute_output.count, counts.success, "compute_output")) {
    return out.str();
  }
  if (batches != counts.batches) return "other batch sizes";
  // A successful request is in one class of each histogram. A failed one is counted for at most one
  // reason.
  const VersionMetrics metrics = version_->metrics({});
  for (const LatencyHistogram& phase : metrics.latencies.phases) {
    const auto& classes = phase.counts();
    const uint64_t all = std::accumulate(classes.begin(), classes.end(), uint64_t{0});
    if (differs(all, counts.success, "a histogram")) return out.str();
  }
  const uint64_t reasons = statistics.cancelled + statistics.rejected + statistics.backend_failed;
  if (reasons > counts.fail) return "more reasons than failures";
  if (differs(view_->kept, model_.kept(), "outputs that were kept")) return out.str();
  if (neighbour_ && !model_.abandoned() && neighbour_->runs() != model_.neighbour_inside()) {
    return "the other version at the gate";
  }
  if (gate_ && gate_->broken() > 0) return "an instance asked the gate twice";
  if (view_->broken > 0) return "the scheduler was asked about an instance that is not free";
  if (model_.abandoned()) return {};
  if (differs(view_->waiting, model_.queue().size(), "requests that wait")) return out.str();
  for (const uint32_t i : model_.present()) {
    if (differs(view_->occupied >> i & 1, model_.occupied(i), "occupied")) return out.str();
  }
  if (differs(model_.closed() && version_->drained(), model_.drained(), "drained") ||
      differs(drained_ > 0, model_.drained(), "was told that it is drained") ||
      differs(terminations_, model_.terminations(), "terminations")) {
    return out.str();
  }
  if (model_.any_left() && !told_left_) return "nothing tells that RemoveLeft is to be called";
  if (instances_ != model_.present()) return "other instances";
  if (gate_ && differs(gate_->known(), instances_.size() + 1, "instances at the gate")) {
    return out.str();
  }
  const uint64_t wake = model_.wake_ns();
  const uint64_t scheduled = ScheduledAt(version_.get());
  if (wake != 0 && (scheduled == 0 || scheduled > wake)) {
    differs(scheduled, wake, "timer");
    return out.str();
  }
  return {};
}

void Player::Settle() {
  const bool alone = std::all_of(schedule_.setup.asynchronous.begin(),
                                 schedule_.setup.asynchronous.end(), [](bool one) { return one; });
  const auto until =
      std::chrono::steady_clock::now() + (alone ? std::chrono::seconds(0) : kPatience);
  std::unique_lock lock(mutex_);
  std::string difference = Difference();
  while (!failed_ && !difference.empty()) {
    if (std::chrono::steady_clock::now() > until) return Fail(difference);
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
    difference = Difference();
  }
  if (failed_) return;
  for (const auto& run : model_.runs()) {
    if (!run->begun) continue;
    PlayedRun* const played = played_[run.get()].get();
    if (std::count(visible_.begin(), visible_.end(), played) == 0) visible_.push_back(played);
    if (!run->over()) CheckInputs(*played);
  }
  // A run that is over and has no reference must not be used any more.
  std::erase_if(visible_,
                [](const PlayedRun* one) { return one->model->over() && !one->reference; });
}

}  // namespace tritonts::test
