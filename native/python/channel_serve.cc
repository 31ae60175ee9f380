// The channel's own thread: takes the stub's messages and responds.
#include <algorithm>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "platform/pause.h"
#include "python/channel.h"
#include "python/python_call.h"

namespace tritonts::python {

namespace {

// The thread looks at least this often, so that a stub with a corrupt bell delays nothing for
// longer.
constexpr uint64_t kSleepNs = 1'000'000'000;
constexpr uint64_t kSleepWithUnsentNs = 1'000'000;
// The interval while batches are under way, or were a moment ago. Other JavaScript may hold up a JS
// thread that polls; messages then wait no longer than this. Shorter intervals would take the core
// of spinning threads, which would count their spins as in vain.
constexpr uint64_t kSleepBusyNs = 20'000'000;
constexpr uint64_t kBusyNs = 100'000'000;
// Memory is returned to the system after this time without batches.
constexpr uint64_t kIdleNs = 5'000'000'000;
// How often the thread checks for idle memory.
constexpr uint64_t kTrimNs = 1'000'000'000;

}  // namespace

bool Channel::Break(const char* reason) {
  if (!broken_.exchange(true)) on_broken_(reason);
  return false;
}

void Channel::Serve() {
  platform::NameThread("tritonts python");
  uint64_t idle_since_ns = NowNs();
  while (!ending_.load()) {
    bool worked = false;
    {
      const std::lock_guard lock(taking_);
      worked = TakeMessages(InlineTimeHere(true));
      if (!broken_.load()) worked = TakePokes() || worked;
    }
    if (broken_.load()) {
      // Stop ends what is under way.
      up_.Sleep(kSleepNs, [this] { return ending_.load(); });
    } else if (worked) {
      idle_since_ns = NowNs();
    } else {
      Wait(idle_since_ns);
    }
  }
}

bool Channel::TakeMessages(InlineTime* inline_time) {
  bool worked = false;
  inline_time_ = inline_time;
  Message message;
  while (!broken_.load()) {
    const RingReader::Result result = up_.Peek(&message);
    if (result == RingReader::Result::kBroken) Break("protocol violation: invalid ring counters");
    if (result != RingReader::Result::kMessage) break;
    bool good = false;
    try {
      good = Handle(message);
    } catch (const std::bad_alloc&) {
      Break("no memory for a message of its process");
    }
    if (!good || broken_.load()) break;
    up_.Done();
    worked = true;
  }
  return worked;
}

bool Channel::TakePokes() {
  const bool poked = poked_.exchange(false);
  if (starved_.load()) return Break("no memory for a message to its process");
  if (poked) {
    RespondFailed();
    TakeReaders();
    Pump(true);
  }
  const std::lock_guard gate(gate_);
  auto result = RingWriter::Result::kWritten;
  while (!unsent_.empty() && result == RingWriter::Result::kWritten) {
    result = WriteDown(unsent_.front());
    if (result == RingWriter::Result::kWritten) unsent_.pop_front();
  }
  if (result == RingWriter::Result::kBroken) Break("protocol violation: invalid ring counters");
  return poked;
}

Spin Channel::Look(const SpinCore& core, uint64_t until_ns) {
  uint64_t last = NowNs();
  for (;;) {
    bool found = up_.HasMessage() || poked_.load(std::memory_order_relaxed);
    for (int i = 0; i < 8 && !found; i++) {
      platform::Pause();
      found = up_.HasMessage() || poked_.load(std::memory_order_relaxed);
    }
    const uint64_t now = NowNs();
    if (now - last > SpinPolicy::kPreemptionNs) return Spin::kPreempted;
    if (found) return Spin::kFound;
    if (now >= until_ns) return Spin::kNotFound;
    if (core.wanted()) return Spin::kNone;
    last = now;
  }
}

void Channel::GiveBackIdle(uint64_t now_ns, uint64_t idle_since_ns) {
  if (now_ns - trimmed_ns_ < kTrimNs) return;
  trimmed_ns_ = now_ns;
  // These pools have served no large tensors for a while, even if small ones come and go.
  if (options_.inputs) options_.inputs->ShrinkIfIdle(now_ns);
  if (now_ns > segment_->copied_ns.load(std::memory_order_relaxed) + kIdleNs)
    segment_->copies.Shrink();
  if (under_way_.load() > 0 || now_ns - idle_since_ns <= kIdleNs) return;
  call_pool_.Shrink();
  const std::lock_guard lock(segment_->mutex);
  segment_->heap.Shrink(options_.initial_bytes);
}

void Channel::Wait(uint64_t idle_since_ns) {
  const uint64_t began = NowNs();
  GiveBackIdle(began, idle_since_ns);
  Spin spin = Spin::kNone;
  const bool awaits = under_way_.load() > 0;
  const bool polled = pollers_.load() > 0;
  if (awaits && !polled && options_.cores > 0 && spin_.ShouldSpin()) {
    const SpinCore core(Spinner::kInstance, options_.cores);
    if (core.taken()) spin = Look(core, began + SpinPolicy::kMostNs);
  }
  if (spin != Spin::kFound && !up_.HasMessage()) {
    if (under_way_.load() > 0 || pollers_.load() > 0) busy_ns_ = began;
    uint64_t timeout = began - busy_ns_ < kBusyNs ? kSleepBusyNs : kSleepNs;
    sleeps_long_.store(timeout == kSleepNs);
    {
      const std::lock_guard gate(gate_);
      if (!unsent_.empty()) timeout = kSleepWithUnsentNs;
    }
    up_.Sleep(timeout, [this] {
      return poked_.load() || ending_.load() || (pollers_.load() > 0 && sleeps_long_.load());
    });
    sleeps_long_.store(false);
  }
  if (awaits && !polled) spin_.Note(spin, NowNs() - began);
}

void Channel::RespondFailed() {
  std::vector<Failed> failed;
  {
    const std::lock_guard gate(gate_);
    failed.swap(failed_);
  }
  for (const Failed& one : failed) {
    FreeBatch(one.number);
    Run* const run = inbox_->Enter(one.slot);
    if (!run) continue;
    run->RespondAll(one.status);
    inbox_->Leave(one.slot, true);
  }
}

Channel::Batch Channel::BatchOf(uint32_t number) {
  const std::lock_guard lock(segment_->mutex);
  const auto known = batches_.find(number);
  return known == batches_.end() ? Batch() : known->second;
}

void Channel::FreeBatch(uint32_t number) {
  BlockRef memory;  // released without the lock
  const std::lock_guard lock(segment_->mutex);
  const auto known = batches_.find(number);
  if (known == batches_.end()) return;
  memory = std::move(known->second.memory);
  batches_.erase(known);
  const auto first = callers_.lower_bound({number, 0});
  callers_.erase(first, callers_.upper_bound({number, ~0u}));
  under_way_.fetch_sub(1);
}

bool Channel::IsUp(uint64_t offset, uint64_t size) {
  if (offset < heap_up_ || offset > size_ || size > size_ - offset) return false;
  // Pages of a file that were not allocated must not be touched.
  if (!segment_->memory.may_run_out() || offset + size <= up_committed_) return true;
  std::string fault;
  if (!segment_->memory.Commit(up_committed_, offset + size - up_committed_, &fault)) return false;
  up_committed_ = offset + size;
  return true;
}

bool Channel::IsReply(uint64_t word) {
  return word % alignof(Reply) == 0 && IsUp(word, sizeof(Reply));
}

bool Channel::TakeBody(const Message& message) {
  if (message.size > kMostWords || message.offset % 8 != 0 ||
      !IsUp(message.offset, message.size * 8)) {
    return Break("protocol violation: a body outside the shared memory");
  }
  words_.resize(message.size);
  ReadWords(words_.data(), segment_->memory.data() + message.offset, message.size);
  return true;
}

bool Channel::Handle(const Message& message) {
  switch (static_cast<Kind>(message.kind)) {
    case Kind::kAnswer:
      return OnAnswer(message);
    case Kind::kPart:
      return OnPart(message);
    case Kind::kCall:
      return OnCall(message);
    case Kind::kNext:
    case Kind::kCancel:
      return OnCallMessage(message);
    case Kind::kRead:
      return FreeAnswer(message.offset) || Break("protocol violation: freed an unknown answer");
    case Kind::kAskCancelled:
      return OnAskCancelled(message);
    case Kind::kAskRoom:
      return OnAskRoom(message);
    case Kind::kExecute:
    case Kind::kStop:
    case Kind::kAskReady:
      break;
  }
  return Break("protocol violation: unknown message kind");
}

bool Channel::OnAskCancelled(const Message& message) {
  if (!IsReply(message.word)) return Break("protocol violation: a Reply outside the shared memory");
  bool cancelled = true;
  const Batch batch = BatchOf(message.batch);
  if (message.size < batch.requests) {
    if (Run* const run = Enter(batch)) {
      // Never touch a request that may be done. The run knows its state.
      cancelled = !run->UnreadOf(static_cast<uint32_t>(message.size));
      inbox_->Leave(batch.slot, false);
    }
  }
  Tell(message.word, cancelled ? 1 : 2);
  return true;
}

bool Channel::OnPart(const Message& message) {
  const Batch batch = BatchOf(message.batch);
  if (!batch.memory) return Break("protocol violation: unknown batch");
  inbox_->Part(batch.slot);
  return true;
}

void Channel::Tell(uint64_t word, uint32_t state, uint64_t offset, uint64_t size) {
  auto* const reply = reinterpret_cast<Reply*>(segment_->memory.data() + word);
  reply->offset = offset;
  reply->size = size;
  reply->state.store(state, std::memory_order_release);
  platform::FutexWake(&reply->state);
}

}  // namespace tritonts::python
