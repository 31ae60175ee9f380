#include "python/channel.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "python/python_call.h"

namespace tritonts::python {

namespace {

constexpr size_t kLeastBytes = size_t{64} << 20;
// Batches that copy more bytes than this are copied on the channel's thread: waking it costs less
// than the copy.
constexpr size_t kLargeBytes = size_t{1} << 20;
// How long the stub may spin for a message before it sleeps, if spinning is allowed.
constexpr uint32_t kStubSpinNs = 50'000;

constexpr uint64_t RoundUp(uint64_t size, uint64_t unit) {
  return (size + unit - 1) / unit * unit;
}

}  // namespace

Channel::Channel(const ChannelOptions& options, std::shared_ptr<Inbox> inbox,
                 std::weak_ptr<Server> server)
    : options_(options), inbox_(std::move(inbox)), server_(std::move(server)) {}

Channel::~Channel() = default;

size_t Channel::CopiedBytes(const Run& run) const {
  size_t bytes = 0;
  for (uint32_t at = 0; at < run.requests().size(); at++) {
    const Request& request = *run.requests()[at];
    for (const InputTensor& input : run.inputs(at)) {
      const bool shared = request.chunks(input) == 1 && IsShared(request.chunk(input));
      if (!shared) bytes += input.byte_size();
    }
  }
  return bytes;
}

std::shared_ptr<Channel> Channel::Create(const ChannelOptions& options,
                                         std::shared_ptr<Inbox> inbox, std::weak_ptr<Server> server,
                                         std::string* fault) {
  if (!platform::HasFutex()) {
    *fault = "Python models need futexes, which this system lacks";
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
  // Twice the initial size, for the two heaps.
  const uint64_t least = heap_down + 2 * RoundUp(options_.initial_bytes, kPage) + kLeastBytes;
  if (!segment_->memory.Create(options_.memory_name, std::max(options_.most_bytes, least), least,
                               options_.place, fault)) {
    return false;
  }
  size_ = segment_->memory.size();
  heap_up_ = RoundUp(heap_down + (size_ - heap_down) / 2, kPage);
  const uint64_t initial = RoundUp(std::max<uint64_t>(options_.initial_bytes, kPage), kPage);
  const uint64_t growth = RoundUp(std::max<uint64_t>(options_.growth_bytes, kPage), kPage);
  if (!segment_->memory.Commit(0, heap_down + initial, fault) ||
      !segment_->memory.Commit(heap_up_, initial, fault))
    return false;
  up_committed_ = heap_up_ + initial;
  segment_->heap = OffsetHeap(
      heap_down, heap_up_, growth,
      [segment = segment_.get()](uint64_t offset, uint64_t size, std::string* why) {
        return segment->memory.Commit(offset, size, why);
      },
      [segment = segment_.get()](uint64_t offset, uint64_t size) {
        segment->memory.Return(offset, size);
      });
  auto* const page = reinterpret_cast<ControlPage*>(segment_->memory.data());
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
  page->inputs_size = options_.inputs ? options_.inputs->size() : 0;
  down_ = RingWriter(segment_->memory.data() + ring_down, slots);
  up_ = RingReader(segment_->memory.data() + ring_up, slots);
  return true;
}

Channel::Started Channel::Start(std::function<void(const char* reason)> on_broken) {
  on_broken_ = std::move(on_broken);
  const std::weak_ptr<Channel> weak = weak_from_this();
  if (!inbox_->Attach([weak] {
        if (const auto channel = weak.lock()) channel->Pump(false);
      })) {
    return Started::kClosed;
  }
  attached_ = true;
  if (thread_.Start([self = shared_from_this()] { self->Serve(); })) return Started::kYes;
  inbox_->Detach();
  attached_ = false;
  return Started::kNoThread;
}

void Channel::Up() {
  inbox_->Up();
  Pump(false);
}

void Channel::AskToEnd() {
  SendAlone(Kind::kStop);
}

void Channel::AskReady() {
  SendAlone(Kind::kAskReady);
}

void Channel::SendAlone(Kind kind) {
  const std::lock_guard gate(gate_);
  if (stopped_) return;
  Message message;
  message.kind = static_cast<uint32_t>(kind);
  Send(message);
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
    // A thread that is polling finishes first, and then sees `ending_`.
    const std::lock_guard lock(taking_);
  }
  {
    const std::lock_guard gate(gate_);
    if (deferred_) {
      deferred_ = nullptr;
      // The stub has seen nothing of it, so another process may run it.
      if (inbox_->Leave(deferred_slot_, false)) inbox_->Untake(deferred_slot_);
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
  const std::lock_guard lock(segment_->mutex);
  const uint32_t read = down_.read();
  for (const auto& [number, batch] : batches_) {
    const bool seen = batch.seen_at && static_cast<int32_t>(read - *batch.seen_at) >= 0;
    if (!seen) inbox_->Untake(batch.slot);
  }
}

void Channel::StartPolling() {
  // The channel's thread sleeps on, but still looks now and then (kSleepBusyNs): the polling thread
  // may have other work in between. The stub also wakes it before it sleeps itself
  // (RingWriter::Nudge).
  pollers_.fetch_add(1);
  if (sleeps_long_.exchange(false)) up_.Wake();
}

InlineTime* Channel::InlineTimeHere(bool of_instance) {
  thread_local InlineTime inline_time;
  inline_time.spent_ns = 0;
  inline_time.of_instance = of_instance;
  return &inline_time;
}

void Channel::Poll() {
  const std::unique_lock lock(taking_, std::try_to_lock);
  // While the channel is ending, Stop ends what is under way.
  if (!lock || ending_.load()) return;
  up_.Watch();
  TakeMessages(InlineTimeHere(false));
}

void Channel::StopPolling() {
  if (pollers_.fetch_sub(1) == 1) up_.Unwatch();
}

void Channel::Wake() {
  poked_.store(true);
  up_.Wake();
}

void Channel::Pump(bool copies) {
  if (!copies) PolledSource::Note(shared_from_this());
  if (pumps_.fetch_add(1) != 0) return;  // the thread that is pumping looks again
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
        // A reader has read a response; the channel's thread handles that.
        if (inbox_->has_readers()) return Wake();
        continue;
      }
      if (!copies && CopiedBytes(*run) > kLargeBytes) {
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
  uint32_t number = 0;
  Status status = MakeStatus([&] { return WriteBatch(slot, *run, &number); });
  if (status.ok()) run->MarkInputsReady();
  // The run may have been terminated meanwhile, and is then answered already.
  if (!inbox_->Leave(slot, false)) return FreeBatch(number);
  if (!status.ok()) {
    try {
      failed_.push_back({number, slot, std::move(status)});
    } catch (const std::bad_alloc&) {
      starved_.store(true);
    }
    return Wake();
  }
  const Batch batch = BatchOf(number);
  Message message;
  message.kind = static_cast<uint32_t>(Kind::kExecute);
  message.batch = number;
  message.offset = PlaceOf(batch);
  message.size = batch.size;
  Send(message);
}

RingWriter::Result Channel::WriteDown(const Message& message) {
  const RingWriter::Result result = down_.Write(message);
  if (result != RingWriter::Result::kWritten) return result;
  if (message.kind == static_cast<uint32_t>(Kind::kExecute)) {
    const std::lock_guard lock(segment_->mutex);
    const auto known = batches_.find(message.batch);
    if (known != batches_.end()) known->second.seen_at = down_.written();
  }
  return result;
}

void Channel::Send(const Message& message) {
  auto written = RingWriter::Result::kFull;
  if (unsent_.empty()) written = WriteDown(message);
  if (written == RingWriter::Result::kWritten) return;
  // If the ring is broken, the channel's thread will find that out, too.
  try {
    unsent_.push_back(message);
  } catch (const std::bad_alloc&) {
    starved_.store(true);
  }
  Wake();
}

}  // namespace tritonts::python
