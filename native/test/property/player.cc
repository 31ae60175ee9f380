#include "player.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "engine/base/abandon.h"
#include "sink.h"
#include "timer.h"

namespace tritonts::test {

namespace {

constexpr auto kPatience = std::chrono::seconds(10);
constexpr int kDeepest = 6;

}  // namespace

// --- The backend.

class Player::PlayedInstance final : public Instance {
 public:
  PlayedInstance(Player* player, uint32_t index) : player_(player), index_(index) {}
  bool asynchronous() const override { return player_->schedule_.setup.asynchronous[index_]; }
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
  Status Configure(const ModelIo&) override { return Status::Ok(); }
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

// --- A schedule from beginning to end.

Player::Player(const Schedule& schedule)
    : schedule_(schedule),
      model_(schedule.setup),
      executing_(schedule.setup.asynchronous.size()) {
  for (const bool own : {false, true}) sinks_[own] = std::make_unique<Sink>(this, own);
}

bool Player::Start() {
  static PlayedBackend backend;
  version_ = std::make_shared<ModelVersion>(1, "m", 1, &backend,
                                            std::make_unique<PlayedModel>(this), &timer_,
                                            [this] { drained_++; });
  const Setup& setup = schedule_.setup;
  VersionConfig config;
  config.io = {setup.max_batch_size,
               {{"x", DataType::kFp32, {-1, -1}, false}},
               {{"y", DataType::kFp32, {-1, -1}, false}}};
  for (uint32_t i = 0; i < setup.asynchronous.size(); i++) {
    config.instances.push_back({"m_" + std::to_string(i), i, MemoryKind::kHost, 0});
  }
  // Whatever was measured once fits.
  if (setup.runs_inline) config.inline_budget_ns = uint64_t{3600} * 1'000'000'000;
  const DynamicPolicy policy{setup.max_batch_size, setup.preferred, setup.delay_ns};
  config.scheduler = [this, policy] {
    return std::make_unique<ClockedScheduler>(policy, schedule_.setup.max_queue, view_);
  };
  view_->now_ns = model_.now_ns;
  ScheduledAt(nullptr) = 0;
  return version_->Start(std::move(config)).ok();
}

std::string Player::Play(const Schedule& schedule) {
  const std::shared_ptr<Player> player(new Player(schedule));
  if (!player->Start()) return "the version does not start";
  std::string failure = player->Run();
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
    if (!failure_.empty()) return failure_ + ", after step " + std::to_string(next_);
  }
  if (!model_.abandoned()) End();
  return failure_;
}

void Player::End() {
  const bool aborts = schedule_.steps.size() % 3 == 0;
  if (!model_.closed()) Do({Do::kClose});
  Settle();
  for (int round = 0; failure_.empty() && !model_.drained(); round++) {
    if (aborts || round == 100) Do({Do::kAbort});
    if (round > 200) {
      return Fail("the version does not run out of requests: " +
                  std::to_string(model_.queue().size()) + " wait");
    }
    // Another one may come of each.
    for (size_t i = 0; i < model_.runs().size(); i++) {
      const ModelRun* const run = model_.runs()[i].get();
      if (!run->begun || run->over()) continue;
      PlayedRun* const played = played_[run].get();
      RespondToAll(played, {Do::kRespondToAll});
      On(played, false, [&] {
        {
          std::lock_guard lock(mutex_);
          model_.InstanceFree(played->model);
        }
        played->run->InstanceFree();
      });
      if (played->parked) Return(played, false);
      Settle();
    }
    Advance({Do::kAdvance, false, 11, 0});
    Settle();
  }
  Settle();
  if (!failure_.empty()) return;
  version_->Destroy();
  version_.reset();
  Late({Do::kLate, false, 0, 0, 0});
  played_.clear();
}

void Player::Leave() {
  if (!model_.abandoned()) {
    {
      std::lock_guard lock(mutex_);
      if (failure_.empty()) failure_ = "left";
    }
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
  if (failure_.empty()) failure_ = what;
}

std::string Player::Difference() {
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
  for (uint32_t i = 0; i < executing_.size() && !model_.abandoned(); i++) {
    const bool taken = std::any_of(executing_[i].begin(), executing_[i].end(),
                                   [](const PlayedRun* one) { return one->parked && !one->leaves; });
    if (model_.next(i) && !taken) {
      out << "instance " << i << ": does not begin its batch";
      return out.str();
    }
  }
  // A run keeps its version until it is accounted for, which is one with asking for the next batch:
  // whoever has the version's lock after that finds both done.
  const auto keeping = std::count_if(model_.runs().begin(), model_.runs().end(),
                                     [](const auto& run) { return !run->over(); });
  if (!model_.abandoned() && differs(static_cast<uint64_t>(version_.use_count()) - 1,
                                     static_cast<uint64_t>(keeping), "runs that keep the version")) {
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
      differs(statistics.inference_count, counts.rows, "inference_count") ||
      differs(statistics.execution_count, counts.executions, "execution_count") ||
      differs(statistics.queue.count, counts.success, "queue") ||
      differs(statistics.compute_input.count, counts.success, "compute_input") ||
      differs(statistics.compute_infer.count, counts.success, "compute_infer") ||
      differs(statistics.compute_output.count, counts.success, "compute_output")) {
    return out.str();
  }
  if (batches != counts.batches) return "other batch sizes";
  if (view_->broken > 0) return "the scheduler was asked about an instance that is not free";
  if (model_.abandoned()) return {};
  if (differs(view_->waiting, model_.queue().size(), "requests that wait")) return out.str();
  for (uint32_t i = 0; i < executing_.size(); i++) {
    if (differs(view_->occupied >> i & 1, model_.occupied(i), "occupied")) return out.str();
  }
  if (differs(model_.closed() && version_->drained(), model_.drained(), "drained") ||
      differs(drained_ > 0, model_.drained(), "was told that it is drained") ||
      differs(terminations_, model_.terminations() * executing_.size(), "terminations")) {
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
  const auto until = std::chrono::steady_clock::now() + (alone ? std::chrono::seconds(0) : kPatience);
  std::unique_lock lock(mutex_);
  std::string difference = Difference();
  while (failure_.empty() && !difference.empty()) {
    if (std::chrono::steady_clock::now() > until) return Fail(difference);
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
    difference = Difference();
  }
  if (!failure_.empty()) return;
  for (const auto& run : model_.runs()) {
    if (!run->begun) continue;
    PlayedRun* const played = played_[run.get()].get();
    if (std::count(visible_.begin(), visible_.end(), played) == 0) visible_.push_back(played);
    if (!run->over()) CheckInputs(*played);
  }
  // What is over and has no reference is nobody's concern any more.
  std::erase_if(visible_, [](const PlayedRun* one) { return one->model->over() && !one->reference; });
}

// --- Steps.

void Player::DoInside() {
  if (depth_ >= kDeepest) return;
  depth_++;
  while (next_ < schedule_.steps.size() && schedule_.steps[next_].inside && failure_.empty()) {
    Do(schedule_.steps[next_++]);
  }
  depth_--;
}

Player::PlayedRun* Player::PickRun(uint32_t number, bool parked) {
  std::vector<PlayedRun*> runs;
  for (PlayedRun* one : visible_) {
    if (one->model->over() || busy_.count(one->model) > 0) continue;
    if (!parked || (one->parked && !one->leaves)) runs.push_back(one);
  }
  return runs.empty() ? nullptr : runs[number % runs.size()];
}

void Player::On(PlayedRun* played, bool its_thread, const std::function<void()>& task) {
  std::unique_lock lock(mutex_);
  if (!its_thread || !played->parked || played->leaves) {
    lock.unlock();
    return task();
  }
  played->task = task;
  changed_.notify_all();
  if (!changed_.wait_for(lock, kPatience, [&] { return !played->task; })) Fail("a call hangs");
}

void Player::Do(const Step& step) {
  const auto locked = [this](auto what) {
    std::lock_guard lock(mutex_);
    what();
  };
  PlayedRun* const played = PickRun(step.a);
  const auto at = [&] { return step.b % static_cast<uint32_t>(played->model->batch.size()); };
  const bool its_thread = step.c % 2 == 1;
  switch (step.what) {
    case Do::kSubmit:
      return Submit(step);
    case Do::kCancel:
      return Cancel(step);
    case Do::kRespond:
      if (played) On(played, its_thread, [&] { Respond(played, step); });
      return;
    case Do::kRespondToAll:
      if (played) On(played, its_thread, [&] { RespondToAll(played, step); });
      return;
    case Do::kReschedule:
      if (!played) return;
      return On(played, its_thread, [&] {
        locked([&] { model_.Reschedule(played->model, at()); });
        played->run->Reschedule(at());
      });
    case Do::kRelease: {
      if (!played) return;
      const uint32_t position = step.c % 5 == 0 ? tritonts::Run::kAll : at();
      return On(played, its_thread, [&] {
        locked([&] { model_.Release(played->model, position); });
        played->run->Release(position);
      });
    }
    case Do::kInstanceFree:
      if (!played) return;
      return On(played, its_thread, [&] {
        locked([&] { model_.InstanceFree(played->model); });
        played->run->InstanceFree();
      });
    case Do::kReturn:
    case Do::kThrow: {
      const bool throws = step.what == Do::kThrow;
      if (throws && !inner_.empty()) inner_.back()->throws = true;
      PlayedRun* const parked = PickRun(step.a, true);
      if (depth_ == 0 && parked) Return(parked, throws);
      return;
    }
    case Do::kLate:
      return Late(step);
    case Do::kAdvance:
      return Advance(step);
    case Do::kTimer:
      return FireTimer();
    case Do::kClose:
      locked([&] { model_.Close(); });
      return version_->Close();
    case Do::kTerminate:
      locked([&] { model_.Terminate(); });
      return version_->Terminate();
    case Do::kAbort: {
      const Code code = step.a % 2 == 0 ? Code::kCancelled : Code::kUnavailable;
      locked([&] { model_.Abort(code); });
      return version_->Abort({code, "aborted"});
    }
    case Do::kAbandon:
      if (depth_ == 0) Abandon();
      return;
    default:
      return;
  }
}

void Player::Submit(const Step& step) {
  std::vector<Request*> requests;
  {
    std::lock_guard lock(mutex_);
    std::vector<Life*> lives;
    for (uint32_t i = 0; i <= step.a % 4; i++) {
      lives.push_back(Prepare(step, i));
      requests.push_back(&SlotOf(*lives.back())->request);
    }
    model_.Submit(lives);
  }
  InlineTick tick;
  const bool ticks = schedule_.setup.runs_inline && depth_ == 0 && step.c % 2 == 0;
  version_->Submit(requests, view_->now_ns, ticks ? &tick : nullptr);
}

void Player::Cancel(const Step& step) {
  std::vector<Request*> requests;
  {
    std::lock_guard lock(mutex_);
    std::vector<Life*> lives;
    for (uint32_t i = 0; i <= step.b % 3 && !slots_.empty(); i++) {
      // Whoever has it now; nobody, maybe.
      Slot* const slot = slots_[(step.a + i * 7) % slots_.size()].get();
      if (slot->held || std::count(requests.begin(), requests.end(), &slot->request) > 0) continue;
      requests.push_back(&slot->request);
      if (slot->life) lives.push_back(slot->life);
    }
    model_.Cancel(lives);
  }
  version_->Cancel(requests);
}

void Player::Respond(PlayedRun* played, const Step& step) {
  const uint32_t position = step.b % static_cast<uint32_t>(played->model->batch.size());
  const uint32_t how = step.b / 64 % 8;  // an error, or where the output lies
  const bool final = step.c / 2 % 3 > 0;
  Life* const life = played->model->batch[position];
  const Code code = how == 0 ? Code::kInternal : how == 1 ? Code::kUnavailable : Code::kOk;
  const std::vector<float> values = Values(*life, step.c);
  bool open = false;
  {
    std::lock_guard lock(mutex_);
    open = !played->model->done[position];
    std::vector<std::vector<float>> all(played->model->batch.size());
    if (how > 3) all[position] = values;
    model_.Respond(played->model, position, code, final, all);
  }
  tritonts::Run& run = *played->run;
  const std::vector<int64_t> shape{int64_t{life->rows}, int64_t{life->width}};
  BlockRef block;
  if (open && how == 7) {
    block = run.pool().Acquire(values.size() * sizeof(float));
    std::copy(values.begin(), values.end(), static_cast<float*>(block->data()));
    run.SetRequestOutput(position, 0, DataType::kFp32, shape, block->data(),
                         values.size() * sizeof(float), block.get());
  } else if (how > 3) {
    const MemoryKind kind = how == 4 ? MemoryKind::kDevice : MemoryKind::kHost;
    auto place = run.Output(position, 0, DataType::kFp32, shape, kind);
    if (place.ok() != open) Fail("an output has a place where it should not, or none");
    if (place.ok()) {
      const Buffer from{const_cast<float*>(values.data()), values.size() * sizeof(float),
                        MemoryKind::kHost, 0, {}};
      if (!CopyBytes(from, place.value(), run.memory()).ok()) Fail("an output cannot be written");
    }
  }
  run.Respond(position, {code, "as it was told"}, final);
}

void Player::RespondToAll(PlayedRun* played, const Step& step) {
  const ModelRun& model = *played->model;
  const uint32_t how = step.b / 64 % 4;
  const bool final = step.b % 4 > 0 || step.a == 0;
  const Code code = how == 0 ? Code::kInternal : Code::kOk;
  std::vector<std::vector<float>> values;
  std::vector<float> whole;
  bool open = false;
  // Without a batch dimension a tensor for all is one request's.
  const bool declares = how > 1;
  {
    std::lock_guard lock(mutex_);
    open = !model.all_done();
    for (const Life* life : model.batch) {
      values.push_back(declares ? Values(*life, step.c) : std::vector<float>());
      whole.insert(whole.end(), values.back().begin(), values.back().end());
    }
    model_.Respond(played->model, VersionModel::kAll, code, final, values);
  }
  const bool batching = schedule_.setup.max_batch_size > 0;
  std::vector<int64_t> tail{int64_t{model.batch.front()->width}};
  if (!batching) tail.insert(tail.begin(), 1);
  BlockRef block;
  if (open && declares) {
    const size_t size = whole.size() * sizeof(float);
    block = played->run->pool().Acquire(size);
    std::copy(whole.begin(), whole.end(), static_cast<float*>(block->data()));
    played->run->SetOutput(0, DataType::kFp32, tail, block->data(), size, block.get());
  }
  played->run->RespondAll({code, "as all were told"}, final);
}

void Player::Late(const Step& step) {
  for (const auto& [model, played] : played_) {
    if (!model->over() || !played->reference) continue;
    const uint32_t position = step.b % static_cast<uint32_t>(model->batch.size());
    tritonts::Run& run = *played->reference;
    if (step.c % 2 == 0) run.Respond(position, Status::Internal("late"));
    if (step.c % 3 == 0) run.RespondAll(Status::Ok(), step.c % 4 == 0);
    if (step.c % 5 == 0) run.Reschedule(position);
    if (step.c % 7 == 0) run.Release(position);
    run.InstanceFree();
    if (run.Output(position, 0, DataType::kFp32, std::vector<int64_t>{1, 1}).ok()) {
      Fail("a run that is over gives a place for an output");
    }
    if (step.a % 4 == 1) played->reference = RunRef();
  }
}

void Player::Advance(const Step& step) {
  model_.now_ns += 1000 * uint64_t{step.a % 12};
  view_->now_ns = model_.now_ns;
  const uint64_t at = ScheduledAt(version_.get());
  // A timer comes late at times.
  if (at != 0 && at <= model_.now_ns && step.b % 5 != 1) FireTimer();
}

void Player::FireTimer() {
  ScheduledAt(version_.get()) = 0;
  {
    std::lock_guard lock(mutex_);
    model_.OnTimer();
  }
  version_->OnTimer(view_->now_ns);
}

void Player::Return(PlayedRun* played, bool throws) {
  std::lock_guard lock(mutex_);
  model_.Returned(played->model, throws);
  played->throws = throws;
  played->leaves = true;
  changed_.notify_all();
}

void Player::Abandon() {
  {
    std::lock_guard lock(mutex_);
    model_.Close();
    model_.Abort(Code::kCancelled);
  }
  version_->Close();
  version_->Abort(Status::Cancelled("aborted"));
  {
    std::lock_guard lock(mutex_);
    model_.Abandon();
  }
  version_->Abandon();
}

}  // namespace tritonts::test
