#include "engine/trace/trace_tree.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/trace/trace_writer.h"

namespace tritonts {

namespace {

// About the bytes that a trace takes, with its outermost request, besides long texts and tensors.
constexpr size_t kTreeBytes = 1024;
// The same for a further request, and for a tensor.
constexpr size_t kOwnBytes = 512;

// Shorter texts are in these bytes.
constexpr size_t kShortText = 64;

TraceEvent StampAt(uint64_t id, TraceMoment moment, uint64_t ns) {
  return {.id = id, .ns = ns, .kind = TraceEvent::Kind::kMoment, .moment = moment};
}

}  // namespace

uint64_t TraceTree::NewIds(uint64_t count) {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(count, std::memory_order_relaxed) + 1;
}

thread_local TraceHandOver* TraceHandOver::present_ = nullptr;

TraceHandOver::TraceHandOver() : is_outer_(!present_) {
  if (is_outer_) present_ = this;
}

TraceHandOver::~TraceHandOver() {
  if (!is_outer_) return;
  present_ = nullptr;
  Flush();
}

void TraceHandOver::Give(const std::shared_ptr<TraceSetting>& setting,
                         std::unique_ptr<TraceLog> log) noexcept {
  TraceHandOver* const present = present_;
  if (!present) return setting->writer->Add(setting.get(), {&log, 1});
  if (present->setting_ != setting || present->count_ == kMost) {
    present->Flush();
    present->setting_ = setting;
  }
  present->logs_[present->count_++] = std::move(log);
}

void TraceHandOver::Flush() noexcept {
  if (count_ > 0) setting_->writer->Add(setting_.get(), std::span(logs_).first(count_));
  for (size_t i = 0; i < count_; i++) logs_[i].reset();  // those that were not taken
  count_ = 0;
}

TraceTree::TraceTree(std::shared_ptr<TraceSetting> setting, std::unique_ptr<TraceLog> log,
                     uint64_t id, bool counted, std::string_view context)
    : setting_(std::move(setting)), root_(id), counted_(counted), log_(std::move(log)) {
  log_->root = id;
  log_->context.assign(context);
  log_->timestamps = setting_->options.timestamps;
  log_->bytes = kTreeBytes + context.size();
  if (setting_->options.spans) log_->wall_ns = WallNs() - NowNs();
  alive_.fetch_add(1, std::memory_order_relaxed);
  const size_t before = live_bytes_.fetch_add(log_->bytes, std::memory_order_relaxed);
  if (before + log_->bytes > kMostLive) Drop();
}

TraceTree::~TraceTree() {
  Close();
}

void TraceTree::Close() noexcept {
  std::unique_ptr<TraceLog> log;
  {
    const std::lock_guard lock(lock_);
    if (std::exchange(ended_, true)) return;
    log = std::move(log_);
  }
  alive_.fetch_sub(1, std::memory_order_relaxed);
  if (log) live_bytes_.fetch_sub(log->bytes, std::memory_order_relaxed);
  if (log && log->events.empty()) {
    if (counted_) setting_->GiveBack();
  } else {
    TraceHandOver::Give(setting_, std::move(log));
  }
}

void TraceTree::Drop() noexcept {
  live_bytes_.fetch_sub(log_->bytes, std::memory_order_relaxed);
  log_.reset();
}

template <typename Add>
void TraceTree::Record(size_t bytes, const Add& add) noexcept {
  const std::lock_guard lock(lock_);
  if (!log_) return;
  if (bytes > 0) {
    const size_t live = live_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    log_->bytes += bytes;
    if (log_->bytes > TraceWriter::kMostBytes || live > kMostLive) return Drop();
  }
  try {
    add(log_.get());
  } catch (const std::bad_alloc&) {
    Drop();
  }
}

void TraceTree::Begin(uint64_t id, uint64_t parent, const TracedModel& model,
                      std::string_view request_id, uint64_t arrival_ns,
                      uint64_t queue_ns) noexcept {
  size_t bytes = id == root_ ? 0 : kOwnBytes;
  for (const std::string_view text : {model.name, request_id}) {
    if (text.size() > kShortText) bytes += text.size();
  }
  Record(bytes, [&](TraceLog* log) {
    const auto index = static_cast<uint32_t>(log->requests.size());
    const std::string_view own = id == root_ && request_id.empty() ? request_id_ : request_id;
    log->requests.push_back({parent, std::string(model.name), model.version, std::string(own)});
    log->events.push_back(
        {.id = id, .ns = arrival_ns, .index = index, .kind = TraceEvent::Kind::kRequest});
    log->events.push_back(StampAt(id, TraceMoment::kRequestStart, arrival_ns));
    log->events.push_back(StampAt(id, TraceMoment::kQueueStart, queue_ns));
  });
}

void TraceTree::Finish(uint64_t id, const BatchTimings* timings, const Status& status,
                       uint64_t end_ns) noexcept {
  const size_t bytes = status.ok() ? 0 : status.message().size();
  Record(bytes, [&](TraceLog* log) {
    if (timings && status.ok()) {
      log->events.push_back(StampAt(id, TraceMoment::kComputeStart, timings->exec_start_ns));
      log->events.push_back(StampAt(id, TraceMoment::kComputeInputEnd, timings->compute_start_ns));
      log->events.push_back(StampAt(id, TraceMoment::kComputeOutputStart, timings->compute_end_ns));
      log->events.push_back(StampAt(id, TraceMoment::kComputeEnd, timings->exec_end_ns));
    }
    if (!status.ok()) {
      const auto index = static_cast<uint32_t>(log->texts.size());
      log->texts.emplace_back(status.message());
      log->events.push_back(
          {.id = id, .ns = end_ns, .index = index, .kind = TraceEvent::Kind::kError});
    }
    log->events.push_back(StampAt(id, TraceMoment::kRequestEnd, end_ns));
  });
}

void TraceTree::Note(uint64_t id, std::string_view name, uint64_t ns) noexcept {
  Record(sizeof(TraceEvent) + sizeof(std::string) + name.size(), [&](TraceLog* log) {
    const auto index = static_cast<uint32_t>(log->texts.size());
    log->texts.emplace_back(name);
    log->events.push_back({.id = id, .ns = ns, .index = index, .kind = TraceEvent::Kind::kNote});
  });
}

void TraceTree::Input(uint64_t id, std::string_view name, const InputTensor& input,
                      const Request& request) noexcept {
  try {
    TracedTensor tensor{"TENSOR_QUEUE_INPUT", std::string(name), input.datatype, {}, {}};
    tensor.shape.assign(input.shape.begin(), input.shape.end());
    for (size_t i = 0; i < request.chunks(input); i++) {
      const Buffer chunk = request.chunk(input, i);
      if (!IsHostMemory(chunk.kind)) {
        tensor.bytes.clear();
        break;
      }
      // More would be dropped.
      if (tensor.bytes.size() + chunk.size > TraceWriter::kMostBytes) throw std::bad_alloc();
      tensor.bytes.append(static_cast<const char*>(chunk.data), chunk.size);
    }
    return AddTensor(id, std::move(tensor));
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(lock_);
    if (log_) Drop();
  }
}

void TraceTree::Output(uint64_t id, std::string_view name, const OutputTensor& output) noexcept {
  try {
    TracedTensor tensor{"TENSOR_BACKEND_OUTPUT", std::string(name), output.datatype, {}, {}};
    if (output.batch >= 0) tensor.shape.push_back(output.batch);
    tensor.shape.insert(tensor.shape.end(), output.tail.begin(), output.tail.end());
    if (IsHostMemory(output.kind) && output.size > 0) {
      if (output.size > TraceWriter::kMostBytes) throw std::bad_alloc();
      tensor.bytes.assign(static_cast<const char*>(output.data), output.size);
    }
    return AddTensor(id, std::move(tensor));
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(lock_);
    if (log_) Drop();
  }
}

void TraceTree::AddTensor(uint64_t id, TracedTensor tensor) noexcept {
  Record(kOwnBytes + tensor.name.size() + tensor.bytes.size(), [&](TraceLog* log) {
    const auto index = static_cast<uint32_t>(log->tensors.size());
    log->tensors.push_back(std::move(tensor));
    log->events.push_back({.id = id, .index = index, .kind = TraceEvent::Kind::kTensor});
  });
}

void TraceTree::Undo(uint64_t id) noexcept {
  Record(0, [&](TraceLog* log) {
    std::erase_if(log->events, [id](const TraceEvent& event) {
      return event.id == id && event.kind != TraceEvent::Kind::kNote;
    });
  });
}

void TraceTree::SetRequestId(std::string_view request_id) noexcept {
  Record(request_id.size(), [&](TraceLog*) { request_id_.assign(request_id); });
}

}  // namespace tritonts
