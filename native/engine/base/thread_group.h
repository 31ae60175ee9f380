// Threads of one owner, who starts them one by one, joins them together, and may leave one behind
// that does not return.
//
// Any thread, but for Join and the destructor. No lock is held while a thread is started or joined.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "platform/thread.h"

namespace tritonts {

class ThreadGroup {
 public:
  ThreadGroup() = default;
  ~ThreadGroup();  // joins
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // Runs `body` with the new thread's number (how many were started before) on a thread of the
  // group. False: the system has none, or no memory for it, or the group was joined.
  [[nodiscard]] bool Start(std::function<void(size_t number)> body);
  // Lets a thread of the group go on without it: Join does not wait for that one.
  void Abandon(size_t number);
  // Waits for the threads that were not abandoned. None of them may be the caller, and none is
  // started any more.
  void Join();

 private:
  // A number for a thread that is about to start. False: there is to be none.
  bool Number(size_t* number);

  struct Member {
    platform::Thread thread;
    bool abandoned = false;  // before its start was through
  };

  std::mutex mutex_;  // guards all below
  std::condition_variable started_;
  std::vector<Member> members_;  // by number
  std::vector<size_t> free_;     // numbers of threads that did not start; with room for all
  size_t starting_ = 0;
  bool joined_ = false;
};

}  // namespace tritonts
