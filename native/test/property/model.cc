#include "model.h"

#include <algorithm>
#include <utility>

namespace tritonts::test {

bool ModelRun::all_done() const {
  return std::all_of(done.begin(), done.end(), [](bool one) { return one; });
}

VersionModel::VersionModel(Setup setup)
    : setup_(std::move(setup)),
      preferred_(setup_.preferred),
      instances_(setup_.asynchronous.size()) {
  if (preferred_.empty()) preferred_.push_back(setup_.max_batch_size);
}

// --- What runs together.

bool VersionModel::Admits(const Life&) const {
  return setup_.max_queue == 0 || queue_.size() < setup_.max_queue;
}

std::vector<Life*> VersionModel::EligibleFor(uint32_t instance) const {
  std::vector<Life*> eligible;
  for (Life* life : queue_) {
    if (life->bound == Life::kUnbound || life->bound == instance) eligible.push_back(life);
  }
  return eligible;
}

size_t VersionModel::BatchOf(const std::vector<Life*>& eligible) const {
  if (eligible.empty()) return 0;
  if (setup_.max_batch_size == 0) return 1;
  // The rows of each beginning of the queue that may run together.
  std::vector<uint32_t> sums;
  uint32_t sum = 0;
  for (const Life* life : eligible) {
    sum += life->rows;
    if (life->width != eligible.front()->width || sum > setup_.max_batch_size) break;
    sums.push_back(sum);
  }
  size_t best = 0;
  for (size_t i = 0; i < sums.size(); i++) {
    if (std::count(preferred_.begin(), preferred_.end(), sums[i]) > 0) best = i + 1;
  }
  const bool late = setup_.delay_ns > 0 && now_ns - eligible.front()->arrival_ns >= setup_.delay_ns;
  if (best > 0 && !late) return best;
  const bool more_may_come = sums.size() == eligible.size() &&
                             sums.back() < *std::max_element(preferred_.begin(), preferred_.end());
  return setup_.delay_ns > 0 && !late && more_may_come ? 0 : sums.size();
}

void VersionModel::Ask(uint32_t awake) {
  if (terminated_ || abandoned_) return;
  for (Life* life : std::vector<Life*>(queue_.begin(), queue_.end())) {
    if (life->expires_ns != 0 && life->expires_ns <= now_ns) {
      std::erase(queue_, life);
      expired_++;
      Fail(life, Code::kUnavailable);
    }
  }
  if (awake != kNobody) Offer(awake);
  // Until no instance that is free could have anything.
  for (size_t before = queue_.size() + 1; queue_.size() < before;) {
    before = queue_.size();
    for (uint32_t i = 0; i < instances_.size(); i++) Offer(i);
  }
}

void VersionModel::Offer(uint32_t instance) {
  if (instances_[instance].occupied) return;
  std::vector<Life*> batch = EligibleFor(instance);
  batch.resize(BatchOf(batch));
  if (batch.empty()) return;
  auto run = std::make_unique<ModelRun>();
  run->id = static_cast<uint32_t>(runs_.size());
  run->instance = instance;
  for (Life* life : batch) {
    std::erase(queue_, life);
    life->run = run.get();
    run->rows += life->rows;
  }
  run->done.assign(batch.size(), false);
  run->batch = std::move(batch);
  instances_[instance] = {true, run.get()};
  runs_.push_back(std::move(run));
}

uint64_t VersionModel::wake_ns() const {
  if (terminated_ || abandoned_) return 0;
  uint64_t wake = 0;
  const auto note = [&](uint64_t at) { wake = wake == 0 ? at : std::min(wake, at); };
  for (const Life* life : queue_) {
    if (life->expires_ns != 0) note(life->expires_ns);
  }
  for (uint32_t i = 0; i < instances_.size(); i++) {
    const std::vector<Life*> eligible = EligibleFor(i);
    if (!instances_[i].occupied && !eligible.empty()) {
      note(eligible.front()->arrival_ns + setup_.delay_ns);
    }
  }
  return wake;
}

// --- Requests in and out.

bool VersionModel::Queue(Life* life) {
  if (!Admits(*life)) return false;
  queue_.push_back(life);
  return true;
}

void VersionModel::Submit(const std::vector<Life*>& lives) {
  for (Life* life : lives) {
    Expected refusal{Code::kUnavailable};
    refusal.unserved = closed_;
    life->accepted = !closed_ && !terminated_ && Queue(life);
    life->ended = !life->accepted;
    if (life->accepted) {
      open_++;
    } else {
      life->expected.push_back(refusal);
    }
  }
  if (!closed_) Ask(kNobody);
}

void VersionModel::Fail(Life* life, Code code) {
  failed_++;
  if (code == Code::kCancelled) failed_cancelled_++;
  open_--;
  life->ended = true;
  life->expected.push_back({code});
}

void VersionModel::Cancel(const std::vector<Life*>& lives) {
  bool waited = false;
  for (Life* life : lives) {
    life->cancelled = true;
    if (std::erase(queue_, life) == 0) continue;
    waited = true;
    Fail(life, Code::kCancelled);
  }
  if (waited) Ask(kNobody);
}

void VersionModel::Abort(Code code) {
  aborted_ = code;
  Terminate();
  for (Life* life : std::exchange(queue_, {})) Fail(life, code);
}

void VersionModel::Terminate() {
  terminated_ = true;
  terminations_++;
}

void VersionModel::Abandon() {
  for (const auto& run : runs_) {
    if (run->over()) continue;
    for (uint32_t i = 0; i < run->batch.size(); i++) {
      Expected response{Code::kInternal};
      response.abandoned = response.quiet = true;
      if (run->done[i]) continue;
      run->done[i] = true;
      run->failed++;
      run->batch[i]->ended = true;
      run->batch[i]->expected.push_back(response);
    }
  }
  abandoned_ = true;
}

bool VersionModel::drained() const {
  return closed_ && open_ == 0 &&
         std::all_of(runs_.begin(), runs_.end(), [](const auto& run) { return run->over(); });
}

// --- Runs.

ModelRun* VersionModel::Begin(uint32_t instance) {
  ModelRun* run = std::exchange(instances_[instance].next, nullptr);
  if (run) run->begun = true;
  return run;
}

void VersionModel::Returned(ModelRun* run, bool threw) {
  const bool blocking = !setup_.asynchronous[run->instance];
  run->returned = true;
  if (!blocking && !threw) return;
  Expected left{Code::kInternal};
  left.ran = left.quiet = true;
  for (uint32_t i = 0; i < run->batch.size(); i++) RespondTo(run, i, left);
  if (!run->freed) {
    SetFree(run, blocking ? run->instance : kNobody);
  } else if (blocking) {
    Ask(kNobody);
  }
}

void VersionModel::SetFree(ModelRun* run, uint32_t awake) {
  if (abandoned_) return;
  run->freed = true;
  instances_[run->instance].occupied = false;
  Ask(awake);
}

void VersionModel::InstanceFree(ModelRun* run) {
  if (!run->freed) SetFree(run, kNobody);
}

void VersionModel::RespondTo(ModelRun* run, uint32_t position, const Expected& response) {
  Life* const life = run->batch[position];
  if (run->done[position]) return;
  if (life->cancelled && !response.final) return;
  life->expected.push_back(response);
  if (life->cancelled) {
    life->expected.back().code = Code::kCancelled;
    life->expected.back().values.clear();
  }
  if (!response.final) return;
  run->done[position] = true;
  life->ended = true;
  open_--;
  if (life->cancelled) run->cancelled++;
  if (life->cancelled || response.code != Code::kOk) {
    run->failed++;
  } else {
    run->ok++;
    run->ok_rows += life->rows;
  }
}

void VersionModel::Respond(ModelRun* run, uint32_t position, Code code, bool final,
                           const std::vector<std::vector<float>>& values) {
  for (uint32_t i = 0; i < run->batch.size(); i++) {
    if (position != kAll && position != i) continue;
    Expected response{code, final};
    response.ran = true;
    if (code == Code::kOk && !values.empty()) response.values = values[i];
    RespondTo(run, i, response);
  }
}

void VersionModel::Release(ModelRun* run, uint32_t position) {
  for (uint32_t i = 0; i < run->batch.size(); i++) {
    if ((position == kAll || position == i) && !run->done[i]) run->batch[i]->released = true;
  }
}

void VersionModel::Reschedule(ModelRun* run, uint32_t position) {
  if (run->done[position]) return;
  run->done[position] = true;
  Life* const life = run->batch[position];
  if (life->cancelled) {
    Fail(life, Code::kCancelled);
  } else if (aborted_ != Code::kOk) {
    Fail(life, aborted_);
  } else if (Queue(life)) {
    Ask(kNobody);
  } else {
    Fail(life, Code::kUnavailable);
  }
}

Counts VersionModel::counts() const {
  Counts counts;
  counts.fail = failed_;
  counts.cancelled = failed_cancelled_;
  counts.rejected = expired_;
  for (const auto& run : runs_) {
    counts.success += run->ok;
    counts.rows += run->ok_rows;
    counts.fail += run->failed;
    counts.cancelled += run->cancelled;
    if (run->over() || run->ok + run->failed > 0) counts.executions++;
    if (run->ok > 0) counts.batches[run->rows]++;
  }
  return counts;
}

}  // namespace tritonts::test
