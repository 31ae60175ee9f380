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
  for (uint32_t i = 0; i < instances_.size(); i++) order_.push_back(i);
  if (preferred_.empty()) preferred_.push_back(setup_.max_batch_size);
  if (setup_.sequences) {
    sequences_.emplace(*setup_.sequences, static_cast<uint32_t>(instances_.size()), setup_.delay_ns,
                       setup_.ragged);
  }
}

// --- Which requests run together.

std::vector<Life*> VersionModel::queue() const {
  if (sequences_) return sequences_->waiting();
  std::vector<Life*> all;
  for (const auto& [level, waiting] : waiting_) {
    all.insert(all.end(), waiting.in_time.begin(), waiting.in_time.end());
    all.insert(all.end(), waiting.delayed.begin(), waiting.delayed.end());
  }
  return all;
}

uint32_t VersionModel::LevelOf(const Life& life) const {
  if (!setup_.queue || setup_.queue->levels == 0) return 0;
  const bool known = life.priority >= 1 && life.priority <= setup_.queue->levels;
  return known ? life.priority : setup_.queue->usual_level;
}

LevelSetup VersionModel::SetupOf(uint32_t level) const {
  if (!setup_.queue) return {};
  const auto own = setup_.queue->own.find(level);
  return own == setup_.queue->own.end() ? setup_.queue->general : own->second;
}

uint64_t VersionModel::ExpiresAt(const Life& life) const {
  const LevelSetup level = SetupOf(LevelOf(life));
  std::vector<uint64_t> times;
  if (level.timeout_ns > 0) times.push_back(level.timeout_ns);
  if (level.may_override && life.timeout_ns > 0) times.push_back(life.timeout_ns);
  return times.empty() ? 0 : life.arrival_ns + *std::min_element(times.begin(), times.end());
}

bool VersionModel::Forget(Life* life) {
  if (sequences_) return sequences_->Cancel(life);
  Waiting& waiting = waiting_[LevelOf(*life)];
  return std::erase(waiting.in_time, life) + std::erase(waiting.delayed, life) > 0;
}

std::vector<Life*> VersionModel::EligibleFor(uint32_t instance) const {
  if (sequences_) return sequences_->Candidates(instance);
  std::vector<Life*> eligible;
  for (Life* life : queue()) {
    if (life->bound == Life::kUnbound || life->bound == instance) eligible.push_back(life);
  }
  return eligible;
}

bool VersionModel::SamePart(const Life* one, const Life* other) const {
  const auto late = [this](const Life* life) {
    const Waiting& waiting = waiting_.at(LevelOf(*life));
    return std::count(waiting.delayed.begin(), waiting.delayed.end(), life) > 0;
  };
  return LevelOf(*one) == LevelOf(*other) && late(one) == late(other);
}

VersionModel::Head VersionModel::HeadOf(const std::vector<Life*>& eligible) const {
  Head head;
  Life* const leader = eligible.front();
  head.oldest_ns = head.first_ns = leader->arrival_ns;
  uint32_t sum = 0;
  uint32_t passed = 0;  // rows
  for (Life* life : eligible) {
    const bool may_pass = setup_.across && !setup_.ordered && leader->bound == Life::kUnbound &&
                          life->bound == Life::kUnbound && SamePart(leader, life);
    const bool alike = setup_.ragged || life->width == leader->width;
    if (sum >= setup_.max_batch_size) {
      head.closed_by = ClosedBy::kFull;
      head.closed = true;
    } else if ((!alike || passed > 0) && !may_pass) {
      const bool level = passed > 0 && !SamePart(leader, life);
      head.closed_by = level ? ClosedBy::kPriority : ClosedBy::kShape;
      head.closed = true;
    } else if (alike && sum + life->rows > setup_.max_batch_size) {
      head.closed_by = ClosedBy::kFull;
      head.closed = true;
    }
    if (head.closed) break;
    if (alike) {
      sum += life->rows;
      head.batch.push_back(life);
      head.rows.push_back(sum);
      head.oldest_ns = std::min(head.oldest_ns, life->arrival_ns);
    } else {
      passed += life->rows;
    }
    head.first_ns = std::min(head.first_ns, life->arrival_ns);
  }
  if (head.closed) return head;
  if (sum >= setup_.max_batch_size) {
    head.closed_by = ClosedBy::kFull;
  } else if (sum >= *std::max_element(preferred_.begin(), preferred_.end())) {
    head.closed_by = ClosedBy::kPreferred;
  } else if (passed > 0) {
    head.closed_by = ClosedBy::kShape;
  }
  head.closed = passed >= *std::min_element(preferred_.begin(), preferred_.end()) ||
                sum >= *std::max_element(preferred_.begin(), preferred_.end());
  return head;
}

std::vector<Life*> VersionModel::BatchOf(const std::vector<Life*>& eligible,
                                         ClosedBy* closed_by) const {
  *closed_by = ClosedBy::kFull;
  if (eligible.empty()) return {};
  if (setup_.max_batch_size == 0) return {eligible.front()};
  Head head = HeadOf(eligible);
  size_t best = 0;
  for (size_t i = 0; i < head.rows.size(); i++) {
    if (std::count(preferred_.begin(), preferred_.end(), head.rows[i]) > 0) best = i + 1;
  }
  const auto late = [this](uint64_t since_ns) {
    return setup_.delay_ns > 0 && now_ns - since_ns >= setup_.delay_ns;
  };
  *closed_by = head.closed || setup_.delay_ns == 0 ? head.closed_by : ClosedBy::kDelay;
  if (best > 0 && !late(head.oldest_ns)) {
    const bool full = best == head.batch.size() && head.closed_by == ClosedBy::kFull;
    *closed_by = full ? ClosedBy::kFull : ClosedBy::kPreferred;
    head.batch.resize(best);
  } else if (setup_.delay_ns > 0 && !late(head.first_ns) && !head.closed) {
    head.batch.clear();
  }
  return head.batch;
}

std::vector<Life*> VersionModel::SlotsOf(uint32_t instance, ClosedBy* closed_by) const {
  if (setup_.sequences && setup_.sequences->direct) {
    return sequences_->Rows(instance, now_ns, closed_by);
  }
  std::vector<Life*> batch = BatchOf(EligibleFor(instance), closed_by);
  for (size_t i = 0; sequences_ && i < batch.size(); i++) {
    if (sequences_->Alike(batch[i], batch.front())) continue;
    batch.resize(i);
    *closed_by = ClosedBy::kShape;
  }
  return batch;
}

void VersionModel::Expire() {
  if (sequences_) {
    std::vector<Life*> expired;
    std::vector<Life*> cancelled;
    sequences_->Expire(now_ns, &expired, &cancelled);
    expired_ += expired.size();
    for (Life* life : expired) Fail(life, Code::kUnavailable);
    for (Life* life : cancelled) Fail(life, Code::kCancelled);
    return;
  }
  // In the order of their deadlines, then of their headers.
  std::vector<Life*> all = queue();
  std::stable_sort(all.begin(), all.end(), [this](const Life* one, const Life* other) {
    return std::pair(ExpiresAt(*one), header_turns_.at(one->header)) <
           std::pair(ExpiresAt(*other), header_turns_.at(other->header));
  });
  for (Life* life : all) {
    Waiting& waiting = waiting_[LevelOf(*life)];
    const uint64_t at = ExpiresAt(*life);
    if (at == 0 || at > now_ns || std::erase(waiting.in_time, life) == 0) continue;
    if (SetupOf(LevelOf(*life)).delays) {
      waiting.delayed.push_back(life);
    } else {
      expired_++;
      Fail(life, Code::kUnavailable);
    }
  }
}

void VersionModel::Ask(uint32_t awake) {
  if (terminated_ || abandoned_) return;
  Expire();
  if (awake != kNobody) Offer(awake);
  // Repeat until no free instance can get a batch.
  for (size_t before = queue().size() + 1; queue().size() < before;) {
    before = queue().size();
    for (const uint32_t i : order_) Offer(i);
  }
}

void VersionModel::Offer(uint32_t instance) {
  if (instances_[instance].occupied) return;
  // Only sequences are bound to it.
  if (instances_[instance].leaving && !sequences_) return;
  ClosedBy closed_by = ClosedBy::kNothingMore;
  std::vector<Life*> slots = SlotsOf(instance, &closed_by);
  if (slots.empty()) return;
  if (sequences_) {
    sequences_->Take(slots);
  } else {
    for (Life* life : slots) Forget(life);
  }
  if (setup_.adds && slots.size() % 2 == 1) slots.push_back(nullptr);
  ModelRun* const run = MakeRun(instance, slots, turns_.end());
  run->closed_by = closed_by;
  instances_[instance].occupied = true;
  if (setup_.gate > 0 && (inside_.size() >= setup_.gate || !line_.empty())) {
    line_.push_back(instance);
    instances_[instance].held = run;
    return;
  }
  inside_.insert(instance);
  instances_[instance].next = run;
}

std::vector<uint32_t> VersionModel::Leave(uint32_t instance) {
  std::vector<uint32_t> let_in;
  inside_.erase(instance);
  std::erase(line_, instance);
  while (!line_.empty() && inside_.size() < setup_.gate) {
    let_in.push_back(line_.front());
    inside_.insert(line_.front());
    line_.pop_front();
  }
  return let_in;
}

void VersionModel::NeighbourComes() {
  if (inside_.size() < setup_.gate && line_.empty()) {
    inside_.insert(kNeighbour);
  } else {
    line_.push_back(kNeighbour);
  }
}

void VersionModel::NeighbourLeaves() {
  BeginHeld(Leave(kNeighbour));
}

void VersionModel::BeginHeld(const std::vector<uint32_t>& let_in) {
  for (const uint32_t instance : let_in) {
    if (instance == kNeighbour) continue;
    if (ModelRun* run = std::exchange(instances_[instance].held, nullptr)) {
      instances_[instance].next = run;
    }
  }
}

void VersionModel::Withdraw(Code code) {
  std::vector<uint32_t> let_in;
  for (const uint32_t i : order_) {
    ModelRun* const run = std::exchange(instances_[i].held, nullptr);
    if (!run) continue;
    for (Life* life : run->batch) Fail(life, code);
    if (sequences_) sequences_->Ended(run->batch, now_ns);
    std::erase_if(turns_, [run](const Turn& turn) { return turn.run == run; });
    std::erase_if(runs_, [run](const auto& one) { return one.get() == run; });
    instances_[i].occupied = false;
    const std::vector<uint32_t> more = Leave(i);
    let_in.insert(let_in.end(), more.begin(), more.end());
  }
  BeginHeld(let_in);
}

ModelRun* VersionModel::MakeRun(uint32_t instance, const std::vector<Life*>& slots,
                                std::deque<Turn>::iterator turn) {
  ModelRun* const run = runs_.emplace_back(std::make_unique<ModelRun>()).get();
  run->id = static_cast<uint32_t>(runs_.size() - 1);
  run->instance = instance;
  std::vector<Life*> batch;
  for (uint32_t i = 0; i < slots.size(); i++) {
    if (!slots[i]) continue;
    slots[i]->run = run;
    run->rows += slots[i]->rows;
    run->slot.push_back(i);
    batch.push_back(slots[i]);
  }
  run->slots = static_cast<uint32_t>(slots.size());
  // A null row is like the first request.
  run->rows += static_cast<uint32_t>(slots.size() - batch.size()) * batch.front()->rows;
  run->passed = !setup_.ordered;
  for (uint32_t i = 0; setup_.ordered && i < batch.size(); i++) {
    turn = turns_.insert(turn, {run, i, {}, false}) + 1;
  }
  run->done.assign(batch.size(), false);
  run->repeatable = setup_.halves && !setup_.adds && !sequences_ &&
                    !setup_.is_asynchronous(instance) && batch.size() > 1;
  run->batch = std::move(batch);
  return run;
}

void VersionModel::Halve(ModelRun* run) {
  std::vector<Life*> left;
  for (uint32_t i = 0; i < run->batch.size(); i++) {
    if (!run->batch[i]->cancelled) left.push_back(run->batch[i]);
  }
  for (uint32_t i = 0; i < run->batch.size(); i++) {
    if (run->batch[i]->cancelled) continue;
    run->done[i] = true;
    if (setup_.ordered) TurnOf(run, i).over = true;
  }
  std::deque<ModelRun*> halves;
  const size_t first = (left.size() + 1) / 2;
  for (size_t from = 0; from < left.size(); from += first) {
    const size_t to = std::min(from + first, left.size());
    const ModelRun* const before = halves.empty() ? run : halves.back();
    auto turn = turns_.begin();
    // Behind the last turn of the previous run.
    for (auto one = turns_.begin(); one != turns_.end(); ++one) {
      if (one->run == before) turn = one + 1;
    }
    const auto begin = left.begin();
    std::vector<Life*> part(begin + static_cast<ptrdiff_t>(from),
                            begin + static_cast<ptrdiff_t>(to));
    halves.push_back(MakeRun(run->instance, part, turn));
    halves.back()->half = true;
  }
  std::deque<ModelRun*>& all = instances_[run->instance].halves;
  all.insert(all.begin(), halves.begin(), halves.end());
  GiveHeld(true);
}

uint64_t VersionModel::wake_ns() const {
  if (terminated_ || abandoned_) return 0;
  uint64_t wake = 0;
  const auto note = [&](uint64_t at) { wake = wake == 0 ? at : std::min(wake, at); };
  for (const auto& [level, waiting] : waiting_) {
    // Delaying a request produces no response, so no wake-up is needed.
    for (const Life* life : waiting.in_time) {
      if (ExpiresAt(*life) != 0 && !SetupOf(level).delays) note(ExpiresAt(*life));
    }
  }
  if (sequences_ && sequences_->wake_ns() != 0) note(sequences_->wake_ns());
  for (const uint32_t i : order_) {
    if (instances_[i].leaving && !sequences_) continue;
    if (setup_.sequences && setup_.sequences->direct) {
      const uint64_t at = sequences_->StartOf(i);
      if (!instances_[i].occupied && at != 0) note(at);
      continue;
    }
    const std::vector<Life*> eligible = EligibleFor(i);
    if (!instances_[i].occupied && !eligible.empty()) {
      note(HeadOf(eligible).first_ns + setup_.delay_ns);
    }
  }
  return wake;
}

// --- Requests in and out.

bool VersionModel::Queue(Life* life) {
  if (sequences_) return sequences_->Queue(life);
  Waiting& waiting = waiting_[LevelOf(*life)];
  const uint32_t most = SetupOf(LevelOf(*life)).most;
  if (most > 0 && waiting.in_time.size() + waiting.delayed.size() >= most) return false;
  const bool alone =
      std::none_of(waiting.in_time.begin(), waiting.in_time.end(),
                   [life](const Life* other) { return other->header == life->header; });
  if (alone) header_turns_[life->header] = ++turns_given_;
  waiting.in_time.push_back(life);
  return true;
}

void VersionModel::Submit(const std::vector<Life*>& lives) {
  for (Life* life : lives) {
    Expected refusal{closed_ ? refusal_ : Code::kUnavailable};
    refusal.unserved = closed_;
    refusal.limited = !closed_ && !terminated_;
    life->accepted = refusal.limited && Queue(life);
    if (refusal.limited && !life->accepted) {
      // Dispatching requests to free instances makes room.
      Ask(kNobody);
      life->accepted = Queue(life);
    }
    if (refusal.limited && sequences_) {
      refusal.code = Code::kInvalidArg;
      refusal.limited = false;
    }
    life->ended = !life->accepted;
    if (life->accepted) {
      open_++;
    } else {
      life->expected.push_back(refusal);
      if (!closed_) refused_++;
    }
  }
  if (!closed_) Ask(kNobody);
}

void VersionModel::Fail(Life* life, Code code, bool quiet) {
  failed_++;
  if (code == Code::kCancelled) failed_cancelled_++;
  open_--;
  life->ended = true;
  life->expected.push_back({code});
  life->expected.back().quiet = quiet;
}

void VersionModel::Cancel(const std::vector<Life*>& lives) {
  bool waited = false;
  for (Life* life : lives) {
    life->cancelled = true;
    if (!Forget(life)) continue;
    waited = true;
    Fail(life, Code::kCancelled);
  }
  if (waited) Ask(kNobody);
}

void VersionModel::Close(Code reason) {
  closed_ = true;
  if (reason != Code::kOk) refusal_ = reason;
  if (!sequences_) return;
  sequences_->Close();
  Ask(kNobody);
}

void VersionModel::Abort(Code code) {
  aborted_ = refusal_ = code;
  Terminate();
  const std::vector<Life*> waiting = sequences_ ? sequences_->Drain() : queue();
  waiting_.clear();
  for (Life* life : waiting) Fail(life, code);
  Withdraw(code);
  GiveHeld(true);
}

void VersionModel::Terminate() {
  terminated_ = true;
  terminations_ += static_cast<uint32_t>(order_.size());
}

Code VersionModel::ChangeInstances(const std::set<uint32_t>& removed, uint32_t added,
                                   std::vector<uint32_t>* numbers) {
  if (closed_) return Code::kCancelled;
  const auto stays = [&](uint32_t i) { return !instances_[i].leaving && removed.count(i) == 0; };
  const bool any_stays = added > 0 || std::any_of(order_.begin(), order_.end(), stays);
  if (!setup_.changes() || !any_stays) return Code::kUnsupported;
  for (uint32_t number = 0; numbers->size() < added; number++) {
    if (std::count(order_.begin(), order_.end(), number) > 0) continue;
    numbers->push_back(number);
  }
  for (const uint32_t number : *numbers) {
    if (number >= instances_.size()) instances_.resize(number + 1);
    instances_[number] = {};
    order_.push_back(number);
    if (sequences_) sequences_->Open(number);
  }
  for (const uint32_t number : removed) {
    if (std::exchange(instances_[number].leaving, true)) continue;
    if (sequences_) sequences_->Close(number);
  }
  Ask(kNobody);
  return Code::kOk;
}

bool VersionModel::MayRemove(uint32_t instance) const {
  if (!instances_[instance].leaving || instances_[instance].occupied) return false;
  if (sequences_ && sequences_->Holds(instance)) return false;
  return std::all_of(runs_.begin(), runs_.end(), [instance](const auto& run) {
    return run->instance != instance || run->over();
  });
}

bool VersionModel::any_left() const {
  // What ends takes all instances with it.
  if (terminated_ || abandoned_) return false;
  return std::any_of(order_.begin(), order_.end(), [this](uint32_t i) { return MayRemove(i); });
}

void VersionModel::RemoveLeft() {
  if (terminated_ || abandoned_) return;
  std::erase_if(order_, [this](uint32_t i) { return MayRemove(i); });
}

void VersionModel::Abandon() {
  // No response is held back any more for one that never comes.
  abandoned_ = true;
  GiveHeld(true);
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
  const bool blocking = !setup_.is_asynchronous(run->instance);
  run->returned = true;
  if (!blocking && !threw) return FreeLate();
  if (std::exchange(run->repeatable, false) && threw) run->failed_whole = true;
  if (std::exchange(run->failed_whole, false) && !run->freed && !terminated_ && !abandoned_) {
    Halve(run);
  }
  Expected left{Code::kInternal};
  left.ran = left.quiet = true;
  for (uint32_t i = 0; i < run->batch.size(); i++) RespondTo(run, i, left);
  if (blocking && run->passed) EndSequences(run);
  if (!run->freed && blocking) {
    SetFree(run);
  } else if (!run->freed) {
    // An asynchronous instance that threw: the engine frees it as if it had said so itself.
    InstanceFree(run);
  } else if (blocking && std::exchange(run->late, false)) {
    FreeInstanceOf(run, run->instance);
  } else if (blocking) {
    Ask(kNobody);
  }
  FreeLate();
}

void VersionModel::SetFree(ModelRun* run) {
  if (abandoned_) return;
  run->freed = true;
  FreeInstanceOf(run, run->instance);
}

void VersionModel::FreeInstanceOf(ModelRun* run, uint32_t awake) {
  InstanceState& instance = instances_[run->instance];
  std::vector<uint32_t> let_in;
  if (instance.halves.empty()) {
    instance.occupied = false;
    let_in = Leave(run->instance);
  } else {
    instance.next = instance.halves.front();
    instance.halves.pop_front();
  }
  Ask(awake);
  BeginHeld(let_in);
}

void VersionModel::InstanceFree(ModelRun* run) {
  if (run->freed || abandoned_) return;
  // With resources, the instance has them until its run has ended.
  if (setup_.gate > 0 && !setup_.decoupled() && !setup_.ordered) {
    run->freed = run->late = true;
    FreeLate();
  } else {
    run->freed = true;
    if (HasEnded(*run)) EndSequences(run);
    FreeInstanceOf(run, kNobody);
  }
}

bool VersionModel::HasEnded(const ModelRun& run) const {
  const auto undelivered = [&](const Life* life) {
    return life->run == &run && std::any_of(life->expected.begin(), life->expected.end(),
                                            [](const Expected& response) { return response.ran; });
  };
  return run.over() && run.deliveries == 0 && run.rescheduling == 0 &&
         std::none_of(run.batch.begin(), run.batch.end(), undelivered);
}

void VersionModel::EndSequences(ModelRun* run) {
  if (!sequences_ || std::exchange(run->ended, true)) return;
  sequences_->Ended(run->batch, now_ns);
}

void VersionModel::FreeLate() {
  if (abandoned_) return;
  // More runs may be made meanwhile.
  for (size_t i = 0; i < runs_.size(); i++) {
    ModelRun* const run = runs_[i].get();
    const bool frees = run->late && setup_.is_asynchronous(run->instance);
    const bool ends = sequences_ && !run->ended;
    if ((!frees && !ends) || !HasEnded(*run)) continue;
    EndSequences(run);
    if (frees) {
      run->late = false;
      FreeInstanceOf(run, kNobody);
    } else {
      Ask(kNobody);
    }
  }
}

void VersionModel::DroppedHold() {
  const auto last = std::find_if(rescheduling_.rbegin(), rescheduling_.rend(),
                                 [](const ModelRun* run) { return run != nullptr; });
  if (last != rescheduling_.rend()) std::exchange(*last, nullptr)->rescheduling--;
  FreeLate();
}

void VersionModel::Rescheduled() {
  if (ModelRun* const run = rescheduling_.back()) run->rescheduling--;
  rescheduling_.pop_back();
  FreeLate();
}

void VersionModel::Delivering(std::span<ModelRun* const> runs) {
  for (ModelRun* run : runs) run->deliveries++;
}

void VersionModel::Delivered(std::span<ModelRun* const> runs) {
  for (ModelRun* run : runs) run->deliveries--;
  FreeLate();
}

VersionModel::Turn& VersionModel::TurnOf(const ModelRun* run, uint32_t position) {
  return *std::find_if(turns_.begin(), turns_.end(), [&](const Turn& turn) {
    return turn.run == run && turn.position == position;
  });
}

void VersionModel::Give(Life* life, const Expected& response) {
  if (response.final) life->ended = true;
  life->expected.push_back(response);
}

void VersionModel::GiveHeld(bool quiet) {
  while (!turns_.empty()) {
    Turn& turn = turns_.front();
    for (Expected& response : turn.held) {
      response.quiet = response.quiet || quiet;
      Give(turn.run->batch[turn.position], response);
    }
    turn.held.clear();
    if (!turn.over && !abandoned_) return;
    ModelRun* const run = turn.run;
    turns_.pop_front();
    // An abandoned version no longer accounts for runs.
    run->passed = !abandoned_ && (turns_.empty() || turns_.front().run != run);
  }
}

void VersionModel::RespondTo(ModelRun* run, uint32_t position, const Expected& response) {
  Life* const life = run->batch[position];
  if (run->done[position]) return;
  if (life->cancelled && !response.final) return;
  Expected said = response;
  said.rows = run->rows;
  if (life->cancelled) {
    said.code = Code::kCancelled;
    said.values.clear();
  }
  if (said.final) {
    run->done[position] = true;
    open_--;
    if (life->cancelled) run->cancelled++;
    if (said.code != Code::kOk) {
      run->failed++;
    } else {
      run->ok++;
      run->ok_rows += life->rows;
    }
  }
  if (!setup_.ordered) return Give(life, said);
  Turn& turn = TurnOf(run, position);
  turn.held.push_back(said);
  turn.over = said.final;
  GiveHeld(said.quiet);
}

void VersionModel::Respond(ModelRun* run, uint32_t position, Code code, bool final,
                           const std::vector<std::vector<float>>& values,
                           const std::vector<std::vector<float>>& kept) {
  if (run->failed_whole || (position == kAll ? run->all_done() : run->done[position])) return;
  if (std::exchange(run->repeatable, false) && position == kAll && code == Code::kInternal) {
    run->failed_whole = true;
    return;
  }
  for (uint32_t i = 0; i < run->batch.size(); i++) {
    if (position != kAll && position != i) continue;
    Expected response{code, final};
    response.ran = true;
    if (code == Code::kOk && !values.empty()) response.values = values[i];
    const bool keeps = !kept.empty() && !kept[i].empty();
    const bool lacks = code == Code::kOk && setup_.keeps() && !keeps && !setup_.decoupled();
    if (lacks) {
      response.code = Code::kInternal;
      response.values.clear();
    }
    const bool is_kept = setup_.keeps() && code == Code::kOk && keeps;
    // A cancelled request has no response but its final one.
    if (is_kept && !run->done[i] && (final || !run->batch[i]->cancelled)) {
      if (setup_.adds) kept_++;
      if (sequences_) sequences_->Keep(run->batch[i], kept[i]);
    }
    RespondTo(run, i, response);
  }
}

void VersionModel::Release(ModelRun* run, uint32_t position) {
  if (run->failed_whole) return;
  for (uint32_t i = 0; i < run->batch.size(); i++) {
    if ((position != kAll && position != i) || run->done[i]) continue;
    run->batch[i]->released = true;
    run->repeatable = false;
  }
}

void VersionModel::Reschedule(ModelRun* run, uint32_t position) {
  rescheduling_.push_back(nullptr);
  if (run->done[position] || run->failed_whole) return;
  run->repeatable = false;
  run->done[position] = true;
  run->rescheduling++;
  rescheduling_.back() = run;
  Life* const life = run->batch[position];
  if (setup_.ordered) {
    // Others may respond once it is queued again.
    TurnOf(run, position).over = true;
  }
  if (life->cancelled) {
    Fail(life, Code::kCancelled, setup_.ordered);
  } else if (aborted_ != Code::kOk) {
    Fail(life, aborted_, setup_.ordered);
  } else if (sequences_) {
    sequences_->Again(life);
    Ask(kNobody);
  } else if (Queue(life)) {
    Ask(kNobody);
  } else {
    Fail(life, Code::kUnavailable, setup_.ordered);
  }
  GiveHeld(false);
}

bool VersionModel::Holds(const ModelRun* run, uint32_t position) {
  return setup_.ordered && !run->done[position] && !TurnOf(run, position).held.empty();
}

Counts VersionModel::counts() const {
  Counts counts;
  counts.fail = failed_;
  counts.cancelled = failed_cancelled_;
  counts.rejected = expired_;
  counts.refused = refused_;
  for (const auto& run : runs_) {
    counts.success += run->ok;
    counts.rows += run->ok_rows;
    counts.fail += run->failed;
    counts.cancelled += run->cancelled;
    if (run->over() || run->ok + run->failed > 0) {
      counts.executions++;
      if (run->half) counts.reruns++;
    }
    if (run->ok > 0) counts.batches[run->rows]++;
  }
  return counts;
}

}  // namespace tritonts::test
