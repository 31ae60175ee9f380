#include "engine/trace/trace_writer.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "engine/trace/trace_setting.h"
#include "engine/trace/trace_text.h"
#include "platform/thread.h"

namespace tritonts {

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
  // Room for the task of its end, which must not fail.
  tasks_.reserve(tasks_.size() + targets_.size() + 2);
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

void TraceWriter::Add(TraceSetting* setting, std::unique_ptr<TraceLog> log) noexcept {
  const std::lock_guard lock(mutex_);
  setting->ended++;
  const bool exhausted = setting->left.load(std::memory_order_relaxed) == 0 &&
                         setting->ended >= setting->started.load(std::memory_order_relaxed);
  if (stopping_ || !log || waiting_bytes_ + log->bytes > kMostBytes) {
    counts_.dropped++;
    log.reset();
    if (stopping_ || !exhausted) return;
  }
  const size_t bytes = log ? log->bytes : 0;
  const bool idle = tasks_.empty();
  try {
    tasks_.push_back({.setting = setting->number, .log = std::move(log), .exhausted = exhausted});
  } catch (const std::bad_alloc&) {
    counts_.dropped++;
    return;
  }
  waiting_bytes_ += bytes;
  if (idle) work_.notify_one();
}

std::string TraceWriter::Take() {
  const std::lock_guard lock(mutex_);
  if (kept_.empty()) return {};
  std::string all;
  all.reserve(kept_.size() + 2);
  all.append("[").append(kept_).append("]");
  kept_ = {};
  return all;
}

TraceWriter::Counts TraceWriter::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void TraceWriter::Run() {
  platform::NameThread("trace writer");
  std::vector<Task> taken;
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) break;
    taken.clear();
    taken.swap(tasks_);
    waiting_bytes_ = 0;
    lock.unlock();
    for (Task& task : taken) {
      try {
        Do(&task);
      } catch (const std::bad_alloc&) {
        NoteDropped();
      }
    }
    taken.clear();
    Flush();
    lock.lock();
  }
  lock.unlock();
  for (auto& [number, target] : targets_) {
    if (target.chunk.stream) Close(&target.chunk);
  }
  for (auto& [path, file] : files_) {
    if (file.stream) Close(&file);
  }
  lock.lock();
  done_ = true;
  stopped_.notify_all();
}

void TraceWriter::Do(Task* task) {
  Target* target = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto known = targets_.find(task->setting);
    if (known == targets_.end()) return;
    target = &known->second;
  }
  if (task->log) Write(target, *task->log);
  if (task->exhausted && !target->spans) {
    if (target->log_frequency > 0) {
      Close(&target->chunk);
    } else if (const auto file = files_.find(target->path); file != files_.end()) {
      Close(&file->second, NextPath(target->path));
      files_.erase(file);
    }
  }
  if (task->ends) Forget(task->setting, target);
}

void TraceWriter::Write(Target* target, const TraceLog& log) {
  text_.clear();
  if (target->spans) {
    AppendSpans(log, &text_);
    const std::lock_guard lock(mutex_);
    if (kept_.size() + text_.size() + 1 > kMostBytes) {
      counts_.dropped++;
      return;
    }
    if (!kept_.empty()) kept_.push_back(',');
    kept_.append(text_);
    counts_.written++;
    return;
  }
  AppendTriton(log, &text_);
  if (text_.empty()) return;
  if (target->log_frequency == 0) {
    File& file = files_[target->path];
    if (file.path.empty()) file.path = target->path;
    Append(&file, text_);
    return;
  }
  File& chunk = target->chunk;
  if (!chunk.stream) chunk = {nullptr, NextPath(target->path), 0};
  Append(&chunk, text_);
  if (chunk.traces >= target->log_frequency) Close(&chunk);
}

void TraceWriter::Append(File* file, const std::string& text) {
  if (!file->stream) {
    // A file that was complete goes on: its last bracket is overwritten.
    if (file->traces > 0) file->stream = std::fopen(file->path.c_str(), "r+b");
    if (file->stream) std::fseek(file->stream, -1, SEEK_END);
    if (!file->stream) {
      file->traces = 0;
      file->stream = std::fopen(file->path.c_str(), "wb");
    }
    if (!file->stream) return Fail("cannot open the trace file", file->path);
  }
  const bool wrote = std::fputc(file->traces > 0 ? ',' : '[', file->stream) != EOF &&
                     std::fwrite(text.data(), 1, text.size(), file->stream) == text.size();
  if (!wrote) return Fail("cannot write to the trace file", file->path);
  file->traces++;
  const std::lock_guard lock(mutex_);
  counts_.written++;
}

void TraceWriter::Flush() {
  for (auto& [path, file] : files_) {
    if (file.stream && std::fflush(file.stream) != 0) {
      Fail("cannot write to the trace file", path);
    }
  }
}

void TraceWriter::Close(File* file, const std::string& final_path) {
  if (!file->stream) return;
  const bool wrote = std::fputc(']', file->stream) != EOF;
  if (std::fclose(file->stream) != 0 || !wrote) {
    Fail("cannot complete the trace file", file->path);
  }
  file->stream = nullptr;
  if (final_path.empty()) return;
  if (std::rename(file->path.c_str(), final_path.c_str()) != 0) {
    Fail("cannot rename the trace file", file->path);
  }
}

std::string TraceWriter::NextPath(const std::string& path) {
  return path + "." + std::to_string(next_index_[path]++);
}

void TraceWriter::Fail(const char* what, const std::string& path) noexcept {
  const int code = errno;
  const std::lock_guard lock(mutex_);
  counts_.dropped++;
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
  if (target->chunk.stream) Close(&target->chunk);
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
