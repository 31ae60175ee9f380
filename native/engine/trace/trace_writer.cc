#include "engine/trace/trace_writer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "engine/trace/log_pool.h"
#include "engine/trace/trace_setting.h"
#include "engine/trace/trace_text.h"
#include "platform/file_stream.h"
#include "platform/thread.h"

namespace tritonts {

namespace {

// So many bytes of a file wait until they are written.
constexpr size_t kMostPending = size_t{1} << 20;
// So many logs are given back to their pool together.
constexpr size_t kTogether = 64;

}  // namespace

bool TraceWriter::Start() {
  const std::lock_guard lock(mutex_);
  if (started_) return true;
  if (stopping_) return false;
  // It shares ownership, for the case that it is abandoned.
  started_ = thread_.Start([self = shared_from_this()](size_t) { self->Run(); });
  return started_;
}

void TraceWriter::Stop(uint64_t wait_ms) {
  {
    std::unique_lock lock(mutex_);
    if (std::exchange(stopping_, true) || !started_) return;
    work_.notify_all();
    if (!stopped_.wait_for(lock, std::chrono::milliseconds(wait_ms), [this] { return done_; })) {
      // The disk does not answer. The process goes on without the thread.
      thread_.Abandon(0);
    }
  }
  thread_.Join();
}

uint64_t TraceWriter::Begin(const std::string& file, uint32_t log_frequency, bool spans) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return 0;
  const uint64_t number = last_setting_ + 1;
  targets_.emplace(number, Target{file, log_frequency, spans, {}});
  last_setting_ = number;
  return number;
}

void TraceWriter::End(uint64_t setting) noexcept {
  const std::lock_guard lock(mutex_);
  if (done_) return;
  try {
    tasks_.push_back({.setting = setting, .log = nullptr, .ends = true});
  } catch (const std::bad_alloc&) {
    return;  // Stop completes its files
  }
  work_.notify_one();
}

void TraceWriter::Add(TraceSetting* setting, std::span<std::unique_ptr<TraceLog>> logs) noexcept {
  const std::lock_guard lock(mutex_);
  const bool idle = tasks_.empty();
  for (std::unique_ptr<TraceLog>& log : logs) {
    // No more than the count can begin, so with as many it is used up.
    const bool exhausted = ++setting->ended == setting->options.left;
    if (stopping_ || !log || waiting_bytes_ + log->bytes > kMostBytes) {
      counts_.dropped++;
      log.reset();
      if (stopping_ || !exhausted) continue;
    }
    const size_t bytes = log ? log->bytes : 0;
    try {
      tasks_.push_back({.setting = setting->number, .log = std::move(log), .exhausted = exhausted});
    } catch (const std::bad_alloc&) {
      counts_.dropped++;
      continue;
    }
    waiting_bytes_ += bytes;
  }
  if (idle && !tasks_.empty()) work_.notify_one();
}

std::string TraceWriter::Take(size_t most) {
  const std::lock_guard lock(mutex_);
  if (kept_.empty()) return {};
  size_t count = 0;
  size_t bytes = 2;
  while (count < kept_.size() && (count == 0 || bytes < most)) bytes += kept_[count++].size() + 1;
  std::string all;
  all.reserve(bytes);
  for (size_t i = 0; i < count; i++) {
    all.append(i == 0 ? "[" : ",").append(kept_.front());
    kept_bytes_ -= kept_.front().size();
    kept_.pop_front();
  }
  all.push_back(']');
  return all;
}

TraceWriter::Counts TraceWriter::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void TraceWriter::Run() {
  platform::NameThread("trace writer");
  std::vector<Task> taken;
  std::array<std::unique_ptr<TraceLog>, kTogether> done;
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) break;
    taken.clear();
    taken.swap(tasks_);
    waiting_bytes_ = 0;
    lock.unlock();
    last_target_ = nullptr;
    last_file_ = nullptr;
    size_t count = 0;
    for (Task& task : taken) {
      done[count] = std::move(task.log);
      try {
        Do(task, done[count].get());
      } catch (const std::bad_alloc&) {
        NoteDropped();
      }
      if (++count < done.size()) continue;
      PutBackLogs(done);
      count = 0;
    }
    PutBackLogs(std::span(done).first(count));
    taken.clear();
    FlushAll();
    lock.lock();
  }
  lock.unlock();
  for (auto& [number, target] : targets_) Close(&target.chunk);
  for (auto& [path, file] : files_) Close(&file);
  lock.lock();
  done_ = true;
  stopped_.notify_all();
}

TraceWriter::Target* TraceWriter::TargetOf(uint64_t setting) {
  if (!last_target_ || last_setting_of_task_ != setting) {
    const std::lock_guard lock(mutex_);
    const auto known = targets_.find(setting);
    last_target_ = known == targets_.end() ? nullptr : &known->second;
    last_setting_of_task_ = setting;
    last_file_ = nullptr;
  }
  return last_target_;
}

TraceWriter::File* TraceWriter::FileOf(const Target& target) {
  if (!last_file_) {
    last_file_ = &files_[target.path];
    if (last_file_->path.empty()) last_file_->path = target.path;
  }
  return last_file_;
}

void TraceWriter::Do(const Task& task, const TraceLog* log) {
  Target* const target = TargetOf(task.setting);
  if (!target) return;
  if (log) Write(target, *log);
  if (!task.exhausted && !task.ends) return;
  // What follows may remove a file, and the target.
  last_target_ = nullptr;
  last_file_ = nullptr;
  if (task.exhausted && !target->spans) {
    if (target->log_frequency > 0) {
      CloseChunk(&target->chunk);
    } else if (const auto file = files_.find(target->path); file != files_.end()) {
      // A file that keeps its name goes on with later traces.
      if (Close(&file->second, NextPath(target->path))) files_.erase(file);
    }
  }
  if (task.ends) Forget(task.setting, target);
}

void TraceWriter::Write(Target* target, const TraceLog& log) {
  text_.clear();
  if (target->spans) {
    AppendSpans(log, &text_);
    const std::lock_guard lock(mutex_);
    if (kept_bytes_ + text_.size() > kMostBytes) {
      counts_.dropped++;
      return;
    }
    kept_.push_back(text_);
    kept_bytes_ += text_.size();
    counts_.written++;
    return;
  }
  AppendTriton(log, &text_);
  if (text_.empty()) return;
  if (target->log_frequency == 0) {
    Append(FileOf(*target), text_);
    return;
  }
  File& chunk = target->chunk;
  if (chunk.traces == 0) chunk.path = NextPath(target->path);
  Append(&chunk, text_);
  if (chunk.traces >= target->log_frequency) CloseChunk(&chunk);
}

void TraceWriter::Append(File* file, const std::string& text) {
  file->waiting.reserve(file->waiting.size() + text.size() + 1);
  file->waiting.push_back(file->traces > 0 ? ',' : '[');
  file->waiting.append(text);
  file->waiting_traces++;
  file->traces++;
  if (file->waiting.size() >= kMostPending) Flush(file);
}

bool TraceWriter::Open(File* file) {
  if (file->stream) return true;
  if (file->size > 0) {
    file->stream = platform::OpenFile(file->path, "r+b");
    if (!file->stream && errno != ENOENT) return false;
    // Somebody has taken the file away, or written to it: a new one begins.
    if (file->stream) {
      const bool known = platform::SeekToEnd(file->stream) == file->size + 1;
      if (!known) {
        std::fclose(file->stream);
        file->stream = nullptr;
      }
    }
    if (!file->stream) {
      file->size = 0;
      if (!file->waiting.empty()) file->waiting[0] = '[';
    }
  }
  if (!file->stream) file->stream = platform::OpenFile(file->path, "wb");
  if (file->stream) std::setvbuf(file->stream, nullptr, _IONBF, 0);
  return file->stream != nullptr;
}

void TraceWriter::Flush(File* file) {
  if (file->waiting.empty()) return;
  const std::string& text = file->waiting;
  if (!Open(file)) {
    Fail("cannot open the trace file", file->path, file->waiting_traces);
  } else if (!platform::SeekInFile(file->stream, file->size) ||
             std::fwrite(text.data(), 1, text.size(), file->stream) != text.size()) {
    Fail("cannot write to the trace file", file->path, file->waiting_traces);
  } else {
    file->size += static_cast<int64_t>(text.size());
    const std::lock_guard lock(mutex_);
    counts_.written += file->waiting_traces;
    file->waiting.clear();
    file->waiting_traces = 0;
    return;
  }
  // They are lost, and the next ones follow what is in the file.
  file->traces = file->size > 0 ? std::max<uint64_t>(1, file->traces - file->waiting_traces) : 0;
  file->waiting.clear();
  file->waiting_traces = 0;
}

void TraceWriter::FlushAll() {
  for (auto& [path, file] : files_) Flush(&file);
  // The thread alone removes targets, and changes them.
  std::unique_lock lock(mutex_);
  for (auto& [number, target] : targets_) {
    if (target.chunk.waiting.empty()) continue;
    lock.unlock();
    Flush(&target.chunk);
    lock.lock();
  }
}

void TraceWriter::CloseChunk(File* chunk) {
  Close(chunk);
  *chunk = File();
}

bool TraceWriter::Close(File* file, const std::string& final_path) {
  Flush(file);
  if (file->stream) {
    const bool wrote =
        platform::SeekInFile(file->stream, file->size) && std::fputc(']', file->stream) != EOF;
    if (std::fclose(file->stream) != 0 || !wrote) {
      Fail("cannot complete the trace file", file->path, 0);
    }
    file->stream = nullptr;
  }
  if (final_path.empty() || file->size == 0) return true;
  if (platform::MoveFileOver(file->path, final_path)) return true;
  Fail("cannot rename the trace file", file->path, 0);
  return false;
}

std::string TraceWriter::NextPath(const std::string& path) {
  return path + "." + std::to_string(next_index_[path]++);
}

void TraceWriter::Fail(const char* what, const std::string& path, uint64_t lost) noexcept {
  const int code = errno;
  const std::lock_guard lock(mutex_);
  counts_.dropped += lost;
  try {
    counts_.fault = std::string(what) + " '" + path + "': " + std::strerror(code);
  } catch (const std::bad_alloc&) {
    // The count says that something was lost.
  }
}

void TraceWriter::NoteDropped() {
  const std::lock_guard lock(mutex_);
  counts_.dropped++;
}

void TraceWriter::Forget(uint64_t setting, Target* target) {
  Close(&target->chunk);
  const std::string path = target->path;
  bool used = false;
  {
    const std::lock_guard lock(mutex_);
    targets_.erase(setting);
    for (const auto& [number, other] : targets_) {
      used = used || (!other.spans && other.log_frequency == 0 && other.path == path);
    }
  }
  if (used) return;
  // The file stays known: a later setting goes on with it.
  if (const auto file = files_.find(path); file != files_.end()) Close(&file->second);
}

}  // namespace tritonts
