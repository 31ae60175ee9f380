#include "backends/python/channel.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "backends/python/python_call.h"
#include "engine/base/clock.h"
#include "platform/pause.h"

namespace tritonts::python {

namespace {

constexpr size_t kLeastBytes = size_t{64} << 20;
// Batches with more bytes are copied on the channel's thread.
constexpr size_t kLargeBytes = size_t{256} << 10;
// The thread looks for itself at least so often, so that a stub that spoils the bell delays nothing
// for longer.
constexpr uint64_t kSleepNs = 1'000'000'000;
constexpr uint64_t kSleepWithUnsentNs = 1'000'000;
// After so long without batches memory is given back.
constexpr uint64_t kIdleNs = 5'000'000'000;
// How long the stub may look for a message before it sleeps, where it may at all.
constexpr uint32_t kStubSpinNs = 50'000;

constexpr uint64_t RoundUp(uint64_t size, uint64_t unit) {
  return (size + unit - 1) / unit * unit;
}

size_t BytesOf(const Run& run) {
  size_t bytes = 0;
  for (const Request* request : run.requests()) {
    for (const InputTensor& input : request->inputs()) bytes += input.byte_size();
  }
  return bytes;
}

}  // namespace

Channel::Channel(const ChannelOptions& options, std::shared_ptr<Inbox> inbox,
                 std::weak_ptr<Server> server)
    : options_(options), inbox_(std::move(inbox)), server_(std::move(server)) {}

Channel::~Channel() = default;

std::shared_ptr<Channel> Channel::Create(const ChannelOptions& options,
                                         std::shared_ptr<Inbox> inbox, std::weak_ptr<Server> server,
                                         std::string* fault) {
  if (!platform::HasFutex()) {
    *fault = "this system has no futex, which Python models are run with";
    return nullptr;
  }
  std::shared_ptr<Channel> channel(new Channel(options, std::move(inbox), std::move(server)));
  return channel->Prepare(fault) ? channel : nullptr;
}

bool Channel::Prepare(std::string* fault) {
  const auto slots =
      std::bit_ceil(std::clamp<uint32_t>(options_.queue_size, 16, uint32_t{1} << 16));
  const uint64_t ring_down = kPage;
  const uint64_t ring_up = ring_down + RingBytes(slots);
  const uint64_t heap_down = ring_up + RingBytes(slots);
  // With what it begins with twice, for each of the two heaps.
  const uint64_t least = heap_down + 2 * RoundUp(options_.initial_bytes, kPage) + kLeastBytes;
  if (!memory_.Create(options_.memory_name, std::max(options_.most_bytes, least), least,
                      options_.place, fault)) {
    return false;
  }
  size_ = memory_.size();
  heap_up_ = RoundUp(heap_down + (size_ - heap_down) / 2, kPage);
  const uint64_t initial = RoundUp(std::max<uint64_t>(options_.initial_bytes, kPage), kPage);
  const uint64_t growth = RoundUp(std::max<uint64_t>(options_.growth_bytes, kPage), kPage);
  if (!memory_.Commit(0, heap_down + initial, fault) || !memory_.Commit(heap_up_, initial, fault))
    return false;
  up_committed_ = heap_up_ + initial;
  heap_ = OffsetHeap(
      heap_down, heap_up_, growth,
      [this](uint64_t offset, uint64_t size, std::string* why) {
        return memory_.Commit(offset, size, why);
      },
      [this](uint64_t offset, uint64_t size) { memory_.Return(offset, size); });
  auto* const page = reinterpret_cast<ControlPage*>(memory_.data());
  page->magic = kMagic;
  page->protocol = kProtocol;
  page->ring_slots = slots;
  page->spin_ns = options_.cores > 0 ? kStubSpinNs : 0;
  page->size = size_;
  page->ring_down = ring_down;
  page->ring_up = ring_up;
  page->heap_down = heap_down;
  page->heap_up = heap_up_;
  page->initial_bytes = initial;
  page->growth_bytes = growth;
  down_ = RingWriter(memory_.data() + ring_down, slots);
  up_ = RingReader(memory_.data() + ring_up, slots);
  return true;
}

bool Channel::Start(std::function<void(const std::string& reason)> on_broken) {
  on_broken_ = std::move(on_broken);
  const std::weak_ptr<Channel> weak = weak_from_this();
  if (!inbox_->Attach([weak] {
        if (const auto channel = weak.lock()) channel->Pump(false);
      })) {
    return false;
  }
  attached_ = true;
  if (thread_.Start([self = shared_from_this()] { self->Serve(); })) return true;
  inbox_->Detach();
  attached_ = false;
  return false;
}

void Channel::Up() {
  inbox_->Up();
  Pump(false);
}

void Channel::AskToEnd() {
  const std::lock_guard gate(gate_);
  if (stopped_) return;
  Message stop;
  stop.kind = static_cast<uint32_t>(Kind::kStop);
  Send(stop);
}

void Channel::Stop() {
  {
    const std::lock_guard gate(gate_);
    stopped_ = true;
  }
  ending_.store(true);
  Wake();
  if (thread_.joinable()) thread_.Join();
  {
    const std::lock_guard gate(gate_);
    if (deferred_) {
      deferred_ = nullptr;
      inbox_->Leave(deferred_slot_, false);
    }
  }
  UntakeUnread();
  if (std::exchange(attached_, false)) inbox_->Detach();
  std::map<uint64_t, std::shared_ptr<PythonCall>> calls;
  {
    const std::lock_guard lock(calls_mutex_);
    calls.swap(calls_);
  }
  for (const auto& [word, call] : calls) call->Cancel();
}

void Channel::UntakeUnread() {
  const std::lock_guard gate(gate_);
  const std::lock_guard lock(heap_mutex_);
  const uint32_t read = down_.read();
  for (const auto& [slot, batch] : batches_) {
    if (!batch.number || static_cast<int32_t>(read - *batch.number) < 0) inbox_->Untake(slot);
  }
}

void Channel::Wake() {
  poked_.store(true);
  up_.Wake();
}

void Channel::Pump(bool copies) {
  if (pumps_.fetch_add(1) != 0) return;  // whoever pumps looks again
  uint32_t seen = 1;
  do {
    seen = pumps_.load();
    PumpOnce(copies);
  } while (pumps_.fetch_sub(seen) != seen);
}

void Channel::PumpOnce(bool copies) {
  const std::lock_guard gate(gate_);
  while (!stopped_ && !broken_.load(std::memory_order_relaxed)) {
    if (!deferred_) {
      uint32_t slot = 0;
      Run* run = nullptr;
      const Inbox::Next next = inbox_->Take(&slot, &run);
      if (next == Inbox::Next::kClosed) {
        if (std::exchange(closed_, true)) return;
        Message stop;
        stop.kind = static_cast<uint32_t>(Kind::kStop);
        return Send(stop);
      }
      if (next == Inbox::Next::kNone) {
        if (inbox_->Sleep()) return;
        // Somebody has read, which is the thread's to look at.
        if (inbox_->has_readers()) return Wake();
        continue;
      }
      if (!copies && BytesOf(*run) > kLargeBytes) {
        deferred_ = run;
        deferred_slot_ = slot;
      } else {
        Write(slot, run);
        continue;
      }
    }
    if (!copies) return Wake();
    Write(deferred_slot_, std::exchange(deferred_, nullptr));
  }
}

void Channel::Write(uint32_t slot, Run* run) {
  Status status = MakeStatus([&] { return WriteBatch(slot, *run); });
  if (status.ok()) run->MarkInputsReady();
  // It may have been asked to end meanwhile, and is then answered already.
  if (!inbox_->Leave(slot, false)) return FreeBatch(slot);
  if (!status.ok()) {
    failed_.push_back({slot, std::move(status)});
    return Wake();
  }
  const Batch batch = BatchOf(slot);
  Message message;
  message.kind = static_cast<uint32_t>(Kind::kExecute);
  message.slot = slot;
  message.offset = batch.place;
  message.size = batch.size;
  Send(message);
}

RingWriter::Result Channel::WriteDown(const Message& message) {
  const RingWriter::Result result = down_.Write(message);
  if (result != RingWriter::Result::kWritten) return result;
  if (message.kind == static_cast<uint32_t>(Kind::kExecute)) {
    const std::lock_guard lock(heap_mutex_);
    const auto known = batches_.find(message.slot);
    if (known != batches_.end()) known->second.number = down_.written();
  }
  return result;
}

void Channel::Send(const Message& message) {
  auto written = RingWriter::Result::kFull;
  if (unsent_.empty()) written = WriteDown(message);
  if (written == RingWriter::Result::kWritten) return;
  // A broken ring is what the thread finds, too.
  unsent_.push_back(message);
  Wake();
}

bool Channel::Break(const char* reason) {
  if (!broken_.exchange(true)) on_broken_(reason);
  return false;
}

void Channel::Serve() {
  platform::NameThread("tritonts python");
  uint64_t idle_since_ns = NowNs();
  while (!ending_.load()) {
    bool worked = false;
    Message message;
    for (;;) {
      const RingReader::Result result = up_.Peek(&message);
      if (result == RingReader::Result::kBroken) Break("the counts of its messages cannot be");
      if (result != RingReader::Result::kMessage || broken_.load()) break;
      bool good = false;
      try {
        good = Handle(message);
      } catch (const std::bad_alloc&) {
        Break("there was no memory for a message");
      }
      if (!good || broken_.load()) break;
      up_.Done();
      worked = true;
    }
    if (broken_.load()) {
      // What is under way ends with Stop.
      up_.Sleep(kSleepNs, [this] { return ending_.load(); });
      continue;
    }
    if (poked_.exchange(false)) {
      RespondFailed();
      TakeReaders();
      Pump(true);
      worked = true;
    }
    {
      const std::lock_guard gate(gate_);
      auto result = RingWriter::Result::kWritten;
      while (!unsent_.empty() && result == RingWriter::Result::kWritten) {
        result = WriteDown(unsent_.front());
        if (result == RingWriter::Result::kWritten) unsent_.pop_front();
      }
      if (result == RingWriter::Result::kBroken) {
        Break("the counts of what it has read cannot be");
      }
    }
    if (worked) {
      idle_since_ns = NowNs();
    } else {
      Wait(idle_since_ns);
    }
  }
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

void Channel::Wait(uint64_t idle_since_ns) {
  const uint64_t began = NowNs();
  if (under_way_.load() == 0 && began - idle_since_ns > kIdleNs) {
    const std::lock_guard lock(heap_mutex_);
    heap_.Shrink(options_.initial_bytes);
  }
  Spin spin = Spin::kNone;
  const bool awaits = under_way_.load() > 0;
  if (awaits && options_.cores > 0 && spin_.ShouldSpin()) {
    const SpinCore core(Spinner::kInstance, options_.cores);
    if (core.taken()) spin = Look(core, began + SpinPolicy::kMostNs);
  }
  if (spin != Spin::kFound && !up_.HasMessage()) {
    uint64_t timeout = kSleepNs;
    {
      const std::lock_guard gate(gate_);
      if (!unsent_.empty()) timeout = kSleepWithUnsentNs;
    }
    up_.Sleep(timeout, [this] { return poked_.load() || ending_.load(); });
  }
  if (awaits) spin_.Note(spin, NowNs() - began);
}

void Channel::RespondFailed() {
  std::vector<Failed> failed;
  {
    const std::lock_guard gate(gate_);
    failed.swap(failed_);
  }
  for (const Failed& one : failed) {
    FreeBatch(one.slot);
    Run* const run = inbox_->Enter(one.slot);
    if (!run) continue;
    run->RespondAll(one.status);
    inbox_->Leave(one.slot, true);
  }
}

Channel::Batch Channel::BatchOf(uint32_t slot) {
  const std::lock_guard lock(heap_mutex_);
  const auto known = batches_.find(slot);
  return known == batches_.end() ? Batch() : known->second;
}

void Channel::FreeBatch(uint32_t slot) {
  const std::lock_guard lock(heap_mutex_);
  const auto known = batches_.find(slot);
  if (known == batches_.end()) return;
  heap_.Free(known->second.place);
  batches_.erase(known);
  const auto first = callers_.lower_bound({slot, 0});
  callers_.erase(first, callers_.upper_bound({slot, ~0u}));
  under_way_.fetch_sub(1);
}

bool Channel::IsUp(uint64_t offset, uint64_t size) {
  if (offset < heap_up_ || offset > size_ || size > size_ - offset) return false;
  // Pages of a file that nobody has taken must not be touched.
  if (!memory_.may_run_out() || offset + size <= up_committed_) return true;
  std::string fault;
  if (!memory_.Commit(up_committed_, offset + size - up_committed_, &fault)) return false;
  up_committed_ = offset + size;
  return true;
}

bool Channel::IsReply(uint64_t word) {
  return word % alignof(Reply) == 0 && IsUp(word, sizeof(Reply));
}

bool Channel::TakeBody(const Message& message) {
  if (message.size > kMostWords || message.offset % 8 != 0 ||
      !IsUp(message.offset, message.size * 8)) {
    return Break("a message has no body");
  }
  words_.resize(message.size);
  ReadWords(words_.data(), memory_.data() + message.offset, message.size);
  return true;
}

bool Channel::Handle(const Message& message) {
  switch (static_cast<Kind>(message.kind)) {
    case Kind::kAnswer:
      return OnAnswer(message);
    case Kind::kPart:
      inbox_->Part(message.slot);
      return true;
    case Kind::kCall:
      return OnCall(message);
    case Kind::kNext:
    case Kind::kCancel:
      return OnCallMessage(message);
    case Kind::kRead: {
      const std::lock_guard lock(heap_mutex_);
      if (answers_.erase(message.offset) == 0) return Break("it gave back what it was not given");
      heap_.Free(message.offset);
      return true;
    }
    case Kind::kAskCancelled:
      return OnAskCancelled(message);
    case Kind::kAskRoom:
      return OnAskRoom(message);
    case Kind::kExecute:
    case Kind::kStop:
      break;
  }
  return Break("there is no message of its kind");
}

bool Channel::OnAskCancelled(const Message& message) {
  if (!IsReply(message.word)) return Break("a question has no place for its answer");
  bool cancelled = true;
  if (message.size < BatchOf(message.slot).requests) {
    if (Run* const run = inbox_->Enter(message.slot)) {
      // A request that is done must not be looked at. The run knows.
      cancelled = !run->UnreadOf(static_cast<uint32_t>(message.size));
      inbox_->Leave(message.slot, false);
    }
  }
  Tell(message.word, cancelled ? 1 : 2);
  return true;
}

bool Channel::OnAskRoom(const Message& message) {
  if (!IsReply(message.word)) return Break("a question has no place for its answer");
  const auto request = static_cast<uint32_t>(message.size);
  if (message.size >= BatchOf(message.slot).requests) {
    Tell(message.word, 2);
    return true;
  }
  if (rooms_.size() >= kMostWaiting) return Break("it asks too much at once");
  rooms_.push_back({message.slot, request, message.word});
  AnswerRoom(message.slot, request);
  return true;
}

void Channel::AnswerRoom(uint32_t slot, uint32_t request) {
  const auto asked = std::find_if(rooms_.begin(), rooms_.end(), [&](const Room& room) {
    return room.slot == slot && room.request == request;
  });
  if (asked == rooms_.end()) return;
  Run* const run = inbox_->Enter(slot);
  uint32_t state = 2;
  if (run) {
    std::shared_ptr<ReadListener> reader;
    for (;;) {
      const auto unread = run->UnreadOf(request, kMostAhead);
      if (!unread) break;
      if (!unread->full && unread->responses < kMostAhead) {
        state = 1;
        break;
      }
      if (!reader) reader = inbox_->MakeReader(slot, request);
      // It may have been read between the two.
      if (!run->AwaitRead(request, std::min(unread->responses - 1, kMostAhead / 2), reader))
        continue;
      state = 0;
      break;
    }
    inbox_->Leave(slot, false);
  }
  if (state == 0) return;
  Tell(asked->word, state);
  rooms_.erase(asked);
}

void Channel::TakeReaders() {
  for (;;) {
    uint32_t slot = 0;
    uint32_t request = 0;
    const Inbox::Readers found = inbox_->TakeReader(&slot, &request);
    if (found == Inbox::Readers::kNone) return;
    if (found == Inbox::Readers::kOne) {
      AnswerRoom(slot, request);
      continue;
    }
    for (const Room& room : std::vector<Room>(rooms_)) AnswerRoom(room.slot, room.request);
  }
}

void Channel::Tell(uint64_t word, uint32_t state, uint64_t offset, uint64_t size) {
  auto* const reply = reinterpret_cast<Reply*>(memory_.data() + word);
  reply->offset = offset;
  reply->size = size;
  reply->state.store(state, std::memory_order_release);
  platform::FutexWake(&reply->state);
}

}  // namespace tritonts::python
