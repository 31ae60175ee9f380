// The log, as plug-ins write to it. They belong to the process: the oldest open server's log takes
// their messages. Without a server, warnings and errors go to stderr.
#include "plugins/log.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "plugins/error.h"
#include "plugins/functions.h"
#include "plugins/owner.h"

namespace tritonts::plugins {

namespace {

bool IsKnown(TRITONSERVER_LogLevel level) {
  return level >= TRITONSERVER_LOG_INFO && level <= TRITONSERVER_LOG_VERBOSE;
}

bool IsShown(TRITONSERVER_LogLevel level) {
  return (LogLevels() >> level & 1) != 0;
}

// The name of a file without its folder, which is of the machine that compiled it.
const char* FileNameOf(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

}  // namespace

void WriteToStderr(TRITONSERVER_LogLevel level, const std::string& text) noexcept {
  // In the order of TRITONSERVER_LogLevel.
  constexpr const char* names[] = {"info", "warning", "error", "verbose"};
  std::fprintf(stderr, "tritonts: %s: %s\n", names[level], text.c_str());
}

LogQueue::Added LogQueue::Add(TRITONSERVER_LogLevel level, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (closed_) return Added::kClosed;
  if (messages_.size() >= kMostMessages || bytes_ + text.size() > kMostBytes) {
    dropped_++;
  } else {
    messages_.push_back({level, text});
    bytes_ += text.size();
  }
  return std::exchange(told_, true) ? Added::kAsked : Added::kToTell;
}

bool LogQueue::Take(Message* message) {
  const std::lock_guard lock(mutex_);
  if (!messages_.empty()) {
    *message = std::move(messages_.front());
    messages_.pop_front();
    bytes_ -= message->text.size();
    return true;
  }
  if (dropped_ == 0) {
    told_ = false;
    return false;
  }
  message->level = TRITONSERVER_LOG_WARN;
  message->text = std::to_string(dropped_) +
                  " messages of plug-ins were dropped: they came faster "
                  "than the log took them";
  dropped_ = 0;
  return true;
}

void LogQueue::Untold() {
  const std::lock_guard lock(mutex_);
  told_ = false;
}

void LogQueue::Refuse() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

void LogQueue::Close() noexcept {
  Refuse();
  try {
    for (Message one; Take(&one);) WriteToStderr(one.level, one.text);
  } catch (const std::bad_alloc&) {
    // How many were dropped remains unsaid.
  }
}

bool TRITONSERVER_LogIsEnabled(TRITONSERVER_LogLevel level) noexcept {
  return IsKnown(level) && IsShown(level);
}

TRITONSERVER_Error* TRITONSERVER_LogMessage(TRITONSERVER_LogLevel level, const char* filename,
                                            int line, const char* msg) noexcept {
  return Guard([&]() -> Status {
    if (!IsKnown(level)) {
      return Status::InvalidArg("unknown level of a message for the log: " +
                                std::to_string(static_cast<int>(level)));
    }
    if (!IsShown(level)) return Status::Ok();
    std::string text = msg ? msg : "";
    if (filename)
      text += std::string(" (") + FileNameOf(filename) + ":" + std::to_string(line) + ")";
    const std::shared_ptr<Owner> owner = LogOwner();
    if (owner && owner->log(level, text)) return Status::Ok();
    WriteToStderr(level, text);
    return Status::Ok();
  });
}

}  // namespace tritonts::plugins
