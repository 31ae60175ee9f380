#include "sequences.h"

#include <algorithm>
#include <utility>

#include "model.h"

namespace tritonts::test {

SequenceModel::One* SequenceModel::Live(uint64_t id) {
  for (One& one : all_) {
    if (id != 0 && one.id == id && !one.ended) return &one;
  }
  return nullptr;
}

SequenceModel::One* SequenceModel::In(uint32_t instance, uint32_t index) const {
  for (One& one : all_) {
    if (one.slot == static_cast<int>(index) && one.instance == instance) return &one;
  }
  return nullptr;
}

void SequenceModel::Ready(One* one) {
  one->idle = 0;
  if (one->ready == 0 && !one->runs && one->slot >= 0 && !one->queue.empty()) {
    one->ready = ++turns_;
  }
}

void SequenceModel::Place(One* one) {
  for (uint32_t index = 0; index < setup_.slots && one->slot < 0; index++) {
    for (uint32_t instance = 0; instance < open_.size() && one->slot < 0; instance++) {
      if (!open_[instance] || In(instance, index)) continue;
      one->slot = static_cast<int>(index);
      one->instance = instance;
    }
  }
}

void SequenceModel::Open(uint32_t instance) {
  if (instance >= open_.size()) open_.resize(instance + 1);
  open_[instance] = true;
  for (One& one : all_) {
    if (one.slot >= 0) continue;
    Place(&one);
    if (one.slot < 0) return;
    one.expires_ns = 0;
    Ready(&one);
  }
}

bool SequenceModel::Holds(uint32_t instance) const {
  return std::any_of(all_.begin(), all_.end(), [instance](const One& one) {
    return one.slot >= 0 && one.instance == instance;
  });
}

bool SequenceModel::Queue(Life* life) {
  if (life->rows > 1) return false;
  One* one = Live(life->sequence);
  if (!one) {
    if (life->sequence == 0 ? !setup_.iterative : !life->start) return false;
    one = &all_.emplace_back();
    one->id = life->sequence;
    Place(one);
    if (one->id == 0) life->start = true;
  }
  if (one->slot < 0 && life->timeout_ns > 0) {
    const uint64_t at = life->arrival_ns + life->timeout_ns;
    one->expires_ns = one->expires_ns == 0 ? at : std::min(one->expires_ns, at);
  }
  one->queue.push_back(life);
  if (life->end && one->id != 0) one->ended = true;
  Ready(one);
  return true;
}

void SequenceModel::Again(Life* life) {
  life->start = life->end = false;
  for (One& one : all_) {
    if (one.runs == life) one.queue.insert(one.queue.begin(), life);
  }
}

void SequenceModel::Remove(One* one) {
  const int slot = one->slot;
  const uint32_t instance = one->instance;
  all_.remove_if([one](const One& other) { return &other == one; });
  if (slot < 0 || !open_[instance]) return;
  for (One& next : all_) {
    if (next.slot >= 0) continue;
    next.slot = slot;
    next.instance = instance;
    next.expires_ns = 0;
    return Ready(&next);
  }
}

SequenceModel::One* SequenceModel::LongestIdle() const {
  One* longest = nullptr;
  for (One& one : all_) {
    if (one.idle != 0 && (!longest || one.idle < longest->idle)) longest = &one;
  }
  return longest;
}

void SequenceModel::Expire(uint64_t now_ns, std::vector<Life*>* expired,
                           std::vector<Life*>* cancelled) {
  for (One* idle = LongestIdle(); idle && idle->idle_since_ns + setup_.idle_ns <= now_ns;
       idle = LongestIdle()) {
    Remove(idle);
  }
  for (auto one = all_.begin(); one != all_.end();) {
    const auto now = one++;
    if (now->slot >= 0 || now->expires_ns == 0 || now->expires_ns > now_ns) continue;
    expired->insert(expired->end(), now->queue.begin(), now->queue.end());
    Remove(&*now);
  }
  cancelled->insert(cancelled->end(), cancelled_.begin(), cancelled_.end());
  cancelled_.clear();
}

bool SequenceModel::Cancel(Life* life) {
  for (One& one : all_) {
    const auto at = std::find(one.queue.begin(), one.queue.end(), life);
    if (at == one.queue.end()) continue;
    // Those before it stay, unless they are in the backlog.
    const auto from = one.slot < 0 ? one.queue.begin() : at;
    for (auto other = from; other != one.queue.end(); ++other) {
      if (*other != life) cancelled_.push_back(*other);
    }
    one.queue.erase(from, one.queue.end());
    one.ended = true;
    if (one.queue.empty()) one.ready = 0;
    if (one.queue.empty() && !one.runs) Remove(&one);
    return true;
  }
  return false;
}

std::vector<Life*> SequenceModel::Drain() {
  const std::vector<Life*> drained = waiting();
  cancelled_.clear();
  for (One& one : all_) {
    one.queue.clear();
    one.ready = 0;
    one.ended = true;
  }
  all_.remove_if([](const One& one) { return !one.runs; });
  return drained;
}

void SequenceModel::Close() {
  closed_ = true;
  while (One* idle = LongestIdle()) Remove(idle);
}

void SequenceModel::Take(const std::vector<Life*>& batch) {
  for (One& one : all_) {
    if (one.queue.empty() || std::count(batch.begin(), batch.end(), one.queue.front()) == 0) {
      continue;
    }
    one.runs = one.queue.front();
    one.queue.erase(one.queue.begin());
    one.ready = 0;
    if (one.runs->start) one.state = {0};
    if (setup_.direct) running_[one.instance] = true;
  }
}

void SequenceModel::Ended(const std::vector<Life*>& batch, uint64_t now_ns) {
  for (Life* life : batch) {
    const auto one =
        std::find_if(all_.begin(), all_.end(), [life](const One& it) { return it.runs == life; });
    if (one == all_.end()) continue;
    if (setup_.direct) running_[one->instance] = false;
    one->runs = nullptr;
    if (!one->next.empty()) one->state = std::exchange(one->next, {});
    if (!one->queue.empty()) {
      Ready(&*one);
    } else if (one->ended || one->id == 0 || closed_) {
      Remove(&*one);
    } else {
      one->idle = ++turns_;
      one->idle_since_ns = now_ns;
    }
  }
}

std::vector<Life*> SequenceModel::Candidates(uint32_t instance) const {
  std::vector<std::pair<uint64_t, Life*>> ready;
  for (const One& one : all_) {
    if (one.ready == 0 || one.instance != instance) continue;
    ready.emplace_back(one.ready, one.queue.front());
  }
  std::sort(ready.begin(), ready.end());
  std::vector<Life*> lives;
  for (const auto& [number, life] : ready) lives.push_back(life);
  return lives;
}

std::vector<Life*> SequenceModel::Rows(uint32_t instance, uint64_t now_ns,
                                       ClosedBy* closed_by) const {
  if (running_[instance]) return {};
  std::vector<Life*> rows;
  const Life* oldest = nullptr;
  uint32_t ready = 0;
  for (uint32_t index = 0; index < setup_.slots; index++) {
    const One* const one = In(instance, index);
    rows.push_back(one && !one->queue.empty() ? one->queue.front() : nullptr);
    if (!rows.back()) continue;
    ready++;
    if (!oldest || rows.back()->arrival_ns < oldest->arrival_ns) oldest = rows.back();
  }
  if (!oldest) return {};
  while (!rows.back()) rows.pop_back();
  const bool waits = setup_.share > 0 && delay_ns_ > 0;
  const bool late = waits && now_ns > oldest->arrival_ns + delay_ns_;
  if (waits && !late && ready < setup_.share) return {};
  *closed_by = ready == setup_.slots ? ClosedBy::kFull
               : late                ? ClosedBy::kDelay
               : waits               ? ClosedBy::kPreferred
                                     : ClosedBy::kNothingMore;
  for (Life*& row : rows) {
    const bool alike = row && Alike(row, oldest);
    if (!row || (alike && (ragged_ || row->width == oldest->width))) continue;
    row = nullptr;
    *closed_by = ClosedBy::kShape;
  }
  return rows;
}

void SequenceModel::Keep(const Life* life, const std::vector<float>& state) {
  for (One& one : all_) {
    if (one.runs == life) one.next = state;
  }
}

std::vector<float> SequenceModel::StateOf(const Life* life) const {
  for (const One& one : all_) {
    if (one.runs == life) return one.state;
  }
  return {};
}

size_t SequenceModel::WidthFor(const Life* first) const {
  for (const One& one : all_) {
    if (!one.queue.empty() && one.queue.front() == first)
      return first->start ? 1 : one.state.size();
  }
  return 0;
}

bool SequenceModel::Alike(const Life* one, const Life* other) const {
  return !setup_.state || WidthFor(one) == WidthFor(other);
}

std::vector<Life*> SequenceModel::waiting() const {
  std::vector<Life*> lives(cancelled_.begin(), cancelled_.end());
  for (const One& one : all_) lives.insert(lives.end(), one.queue.begin(), one.queue.end());
  return lives;
}

uint64_t SequenceModel::wake_ns() const {
  uint64_t wake = 0;
  const auto note = [&](uint64_t at) { wake = wake == 0 ? at : std::min(wake, at); };
  for (const One& one : all_) {
    if (one.idle != 0) note(one.idle_since_ns + setup_.idle_ns);
    if (one.slot < 0 && one.expires_ns != 0) note(one.expires_ns);
  }
  return wake;
}

uint64_t SequenceModel::StartOf(uint32_t instance) const {
  if (running_[instance]) return 0;
  uint64_t at = 0;
  for (const One& one : all_) {
    if (one.slot < 0 || one.instance != instance) continue;
    if (one.queue.empty()) continue;
    const uint64_t start = one.queue.front()->arrival_ns + delay_ns_ + 1;
    at = at == 0 ? start : std::min(at, start);
  }
  return at;
}

}  // namespace tritonts::test
