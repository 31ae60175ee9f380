// The steps of a schedule.
#include <algorithm>
#include <utility>

#include "neighbour.h"
#include "player.h"
#include "timer.h"

namespace tritonts::test {

namespace {

constexpr int kDeepest = 6;

}  // namespace

void Player::DoInside() {
  if (depth_ >= kDeepest) return;
  depth_++;
  while (next_ < schedule_.steps.size() && schedule_.steps[next_].inside && !failed_) {
    Do(schedule_.steps[next_++]);
  }
  depth_--;
}

Player::PlayedRun* Player::PickRun(uint32_t number, bool parked) {
  std::lock_guard lock(mutex_);
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
  // In the engine's batch, which may have null rows.
  const auto slot = [&] { return played->model->slot[at()]; };
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
      // With preserved order and responses held back, the time of the requeue is not determined
      // here; the tests of the response order cover that.
      if ((schedule_.setup.ordered || schedule_.setup.gate > 0) && depth_ > 0) return;
      return On(played, its_thread, [&] {
        bool held = false;
        locked([&] {
          held = model_.Holds(played->model, at());
          if (!held) model_.Reschedule(played->model, at());
        });
        if (held) return;
        played->run->Reschedule(slot());
        locked([&] { model_.Rescheduled(); });
      });
    case Do::kRelease: {
      if (!played) return;
      const uint32_t position = step.c % 5 == 0 ? tritonts::Run::kAll : at();
      const uint32_t released = step.c % 5 == 0 ? tritonts::Run::kAll : slot();
      return On(played, its_thread, [&] {
        locked([&] { model_.Release(played->model, position); });
        played->run->Release(released);
        locked([&] {
          for (uint32_t i = 0; i < played->model->batch.size(); i++) {
            if (position != tritonts::Run::kAll && position != i) continue;
            if (played->model->batch[i]->released && !played->model->done[i])
              Spoil(*SlotOf(*played->model->batch[i]));
          }
        });
      });
    }
    case Do::kInstanceFree:
      if (!played) return;
      // At a gate, the instance may get free later, at a time within a call that is not known here.
      if (schedule_.setup.gate > 0 && depth_ > 0) return;
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
    case Do::kNeighbour:
      return MeetNeighbour();
    // A loader thread calls them, so they are never called from within another call.
    case Do::kChangeInstances:
      if (depth_ == 0) ChangeInstances(step);
      return;
    case Do::kRemoveLeft:
      if (depth_ == 0) RemoveLeft();
      return;
    case Do::kClose: {
      const Code reason = step.a % 2 == 0 ? Code::kOk : Code::kCancelled;
      locked([&] { model_.Close(reason); });
      return version_->Close(reason == Code::kOk ? Status::Ok() : Status(reason, "cut off"));
    }
    case Do::kTerminate:
      locked([&] { model_.Terminate(); });
      return version_->Terminate();
    case Do::kAbort: {
      // The same as for kInstanceFree.
      if (schedule_.setup.gate > 0 && depth_ > 0) return;
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
    const std::vector<Life*> lives = Prepare(step, 1 + step.a % 4);
    for (const Life* life : lives) requests.push_back(&SlotOf(*life)->request);
    model_.Submit(lives);
  }
  InlineTime inline_time;
  const bool runs_inline = schedule_.setup.runs_inline && depth_ == 0 && step.c % 2 == 0;
  version_->Submit(requests, view_->now_ns, runs_inline ? &inline_time : nullptr);
}

void Player::Cancel(const Step& step) {
  std::vector<Request*> requests;
  {
    std::lock_guard lock(mutex_);
    std::vector<Life*> lives;
    for (uint32_t i = 0; i <= step.b % 3 && !slots_.empty(); i++) {
      // The slot's current request, if any.
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
  const uint32_t slot = played->model->slot[position];
  const uint32_t how = step.b / 64 % 8;  // an error, or where the output lies
  const bool final = step.c / 2 % 3 > 0 || !schedule_.setup.decoupled();
  Life* const life = played->model->batch[position];
  const Code code = how == 0 ? Code::kInternal : how == 1 ? Code::kUnavailable : Code::kOk;
  const std::vector<float> values = Values(*life, step.c);
  const bool keeps = schedule_.setup.keeps() && code == Code::kOk && how != 2;
  bool open = false;
  {
    std::lock_guard lock(mutex_);
    open = !played->model->done[position] && !played->model->failed_whole;
    std::vector<std::vector<float>> all(played->model->batch.size());
    std::vector<std::vector<float>> all_kept(played->model->batch.size());
    if (how > 3) all[position] = values;
    if (keeps) all_kept[position] = values;
    model_.Respond(played->model, position, code, final, all, all_kept);
  }
  tritonts::Run& run = *played->run;
  std::vector<int64_t> shape{int64_t{life->rows}, int64_t{life->width}};
  BlockRef block;
  std::vector<float> own;   // the backend's own memory
  std::vector<float> kept;  // the same
  if (open && keeps) {
    kept = values;
    run.SetRequestOutput(slot, 1, DataType::kFp32, shape, kept.data(), kept.size() * sizeof(float),
                         nullptr);
  }
  if (open && how == 7) {
    block = run.pool().Acquire(values.size() * sizeof(float));
    std::copy(values.begin(), values.end(), static_cast<float*>(block->data()));
    run.SetRequestOutput(slot, 0, DataType::kFp32, shape, block->data(),
                         values.size() * sizeof(float), block.get());
  } else if (open && how == 6) {
    own = values;
    run.SetRequestOutput(slot, 0, DataType::kFp32, shape, own.data(), own.size() * sizeof(float),
                         nullptr);
  } else if (how > 3) {
    const MemoryKind kind = how == 4 ? MemoryKind::kDevice : MemoryKind::kHost;
    auto place = run.Output(slot, 0, DataType::kFp32, shape, kind);
    if (place.ok() != open) Fail("an output has a place where it should not, or none");
    if (place.ok()) {
      const Buffer from{const_cast<float*>(values.data()),
                        values.size() * sizeof(float),
                        MemoryKind::kHost,
                        0,
                        {}};
      if (!CopyBytes(from, place.value(), run.memory()).ok()) Fail("an output cannot be written");
    }
  }
  run.Respond(slot, {code, "as it was told"}, final);
  // After Respond they belong to the backend again.
  std::fill(own.begin(), own.end(), -1.0f);
  std::fill(kept.begin(), kept.end(), -1.0f);
  std::fill(shape.begin(), shape.end(), -1);
}

void Player::RespondToAll(PlayedRun* played, const Step& step) {
  const ModelRun& model = *played->model;
  const uint32_t how = step.b / 64 % 4;
  const bool final = step.b % 4 > 0 || step.a == 0 || !schedule_.setup.decoupled();
  const Code code = how == 0 ? Code::kInternal : Code::kOk;
  std::vector<std::vector<float>> values;
  std::vector<float> whole;
  bool open = false;
  // Without a batch dimension, an output for all belongs to one request.
  const bool declares = how > 1;
  const bool keeps = declares && schedule_.setup.keeps();
  std::vector<std::vector<float>> kept;
  const bool sequenced = schedule_.setup.sequences.has_value();
  {
    std::lock_guard lock(mutex_);
    open = !model.all_done() && !model.failed_whole;
    for (uint32_t i = 0; i < model.batch.size(); i++) {
      values.push_back(declares ? Values(*model.batch[i], step.c) : std::vector<float>());
      // A null row before it has an output, too, of one row.
      if (declares && sequenced) whole.resize(model.slot[i] * values.back().size(), -1.0f);
      whole.insert(whole.end(), values.back().begin(), values.back().end());
    }
    if (keeps) kept = values;
    model_.Respond(played->model, VersionModel::kAll, code, final, values, kept);
  }
  if (schedule_.setup.ragged)
    return RespondToEach(played, {code, "as all were told"}, final, open, values, kept);
  // A null row has an output, too.
  if (declares) whole.resize(size_t{model.rows} * model.batch.front()->width, -1.0f);
  const bool batching = schedule_.setup.max_batch_size > 0;
  std::vector<int64_t> tail{int64_t{model.batch.front()->width}};
  if (!batching) tail.insert(tail.begin(), 1);
  BlockRef block;
  if (open && declares) {
    const size_t size = whole.size() * sizeof(float);
    block = played->run->pool().Acquire(size);
    std::copy(whole.begin(), whole.end(), static_cast<float*>(block->data()));
    played->run->SetOutput(0, DataType::kFp32, tail, block->data(), size, block.get());
    if (keeps) {
      played->run->SetOutput(1, DataType::kFp32, tail, block->data(), size, block.get());
    }
  }
  played->run->RespondAll({code, "as all were told"}, final);
}

void Player::RespondToEach(PlayedRun* played, const Status& status, bool final, bool open,
                           const std::vector<std::vector<float>>& values,
                           const std::vector<std::vector<float>>& kept) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Life* life : played->model->batch) {
    shapes.push_back({int64_t{life->rows}, int64_t{life->width}});
  }
  for (uint32_t i = 0; open && i < values.size(); i++) {
    const size_t size = values[i].size() * sizeof(float);
    if (size == 0) continue;
    for (const uint32_t index : {0u, 1u}) {
      if (index == 1 && kept.empty()) continue;
      played->run->SetRequestOutput(played->model->slot[i], index, DataType::kFp32, shapes[i],
                                    values[i].data(), size, nullptr);
    }
  }
  played->run->RespondAll(status, final);
}

void Player::Late(const Step& step) {
  std::vector<PlayedRun*> over;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [model, played] : played_) {
      if (model->over() && played->reference) over.push_back(played.get());
    }
  }
  for (PlayedRun* const played : over) {
    const ModelRun& model = *played->model;
    const uint32_t position = model.slot[step.b % model.slot.size()];
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
  // Timers are sometimes late.
  if (at != 0 && at <= model_.now_ns && step.b % 2 == 0) FireTimer();
}

void Player::MeetNeighbour() {
  if (!neighbour_ || model_.abandoned()) return;
  bool leaves = false;
  {
    std::lock_guard lock(mutex_);
    if (model_.neighbour_waits()) return;
    leaves = model_.neighbour_inside();
    // Another thread may have yet to call its Execute.
    if (leaves && !neighbour_->runs()) return;
    if (leaves) {
      model_.NeighbourLeaves();
    } else {
      model_.NeighbourComes();
    }
  }
  if (leaves) return neighbour_->Respond();
  neighbour_->Submit();
}

void Player::ChangeInstances(const Step& step) {
  std::set<uint32_t> removed;
  std::vector<InstanceSpec> added;
  std::vector<uint32_t> wanted;
  Code code = Code::kOk;
  {
    const std::lock_guard lock(mutex_);
    const std::set<uint32_t> present = model_.present();
    for (const uint32_t number : present) {
      if ((step.a >> number) % 2 == 1) removed.insert(number);
    }
    const size_t room = kMostInstances - present.size();
    for (size_t i = std::min<size_t>(step.b % 3, room); i > 0; i--) {
      added.push_back({"more", 0, MemoryKind::kHost, 0});
    }
    code = model_.ChangeInstances(removed, static_cast<uint32_t>(added.size()), &wanted);
  }
  std::vector<uint32_t> numbers;
  const Status status = version_->ChangeInstances(
      std::vector<uint32_t>(removed.begin(), removed.end()), std::move(added), gate_, {}, &numbers);
  if (status.code() != code) return Fail("instances change with " + status.message());
  if (numbers != wanted) Fail("new instances have other numbers");
}

void Player::RemoveLeft() {
  {
    const std::lock_guard lock(mutex_);
    model_.RemoveLeft();
  }
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (bool gone = false; !gone && !failed_;) {
    version_->RemoveLeft();
    const std::lock_guard lock(mutex_);
    // The thread of an instance may not be back from its last Execute.
    gone = instances_ == model_.present();
    if (gone) told_left_ = false;
    if (std::chrono::steady_clock::now() > until) Fail("a removed instance is not destroyed");
  }
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
  }
  version_->Close();
  {
    std::lock_guard lock(mutex_);
    model_.Abort(Code::kCancelled);
  }
  version_->Abort(Status::Cancelled("aborted"));
  {
    std::lock_guard lock(mutex_);
    model_.Abandon();
  }
  version_->Abandon();
}

}  // namespace tritonts::test
