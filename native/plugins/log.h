// The messages of plug-ins on their way to a log in JavaScript.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "plugins/abi/types.h"

namespace tritonts::plugins {

// Writes a message to stderr, as it is without a server. Any thread.
void WriteToStderr(TRITONSERVER_LogLevel level, const std::string& text) noexcept;

// The messages that a log has not taken yet. Plug-ins may write faster than JavaScript does, or
// while its thread is busy, so messages beyond the limits are dropped, and counted.
//
// Shared by the threads that write and the one that takes. Any thread may call any function.
class LogQueue {
 public:
  static constexpr size_t kMostMessages = 10'000;
  static constexpr size_t kMostBytes = 4 << 20;

  struct Message {
    TRITONSERVER_LogLevel level = TRITONSERVER_LOG_INFO;
    std::string text;
  };

  enum class Added {
    kAsked,   // somebody was told to take messages, and has not come back empty-handed
    kToTell,  // the caller must have somebody take them
    kClosed,  // nobody takes any: nothing was added
  };
  // Throws std::bad_alloc without effect.
  Added Add(TRITONSERVER_LogLevel level, const std::string& text);
  // Takes the oldest message; after the last one, one that tells how many were dropped. False:
  // there is none, and the next one is to be told.
  bool Take(Message* message);
  // Nobody was told after all: the next one is to be told.
  void Untold();
  // Adds no more messages. Those that are left can be taken.
  void Refuse() noexcept;
  // Nobody takes messages any more: those that are left go to stderr.
  void Close() noexcept;

 private:
  std::mutex mutex_;  // guards all below
  std::deque<Message> messages_;
  size_t bytes_ = 0;
  uint64_t dropped_ = 0;
  bool told_ = false;
  bool closed_ = false;
};

}  // namespace tritonts::plugins
