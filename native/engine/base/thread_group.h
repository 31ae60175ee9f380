// The threads of one owner. The owner starts them one by one, joins them together, and may abandon
// a thread that does not return.
//
// Any thread may call any function, except Join and the destructor, which only the owner calls. No
// lock is held while a thread is started or joined.
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

  // Runs `body` on a new thread of the group, with the number that the group gives the thread.
  // False: the system has no thread or no memory for it, or the group was joined.
  [[nodiscard]] bool Start(std::function<void(size_t number)> body);
  // Abandons a thread: it goes on, and Join does not wait for it.
  void Abandon(size_t number);
  // Waits for the threads that were not abandoned. The caller must not be one of them. No thread
  // can be started afterwards.
  void Join();

 private:
  // Reserves a number for a thread that is about to start. False: the group was joined, or there is
  // no memory.
  bool Number(size_t* number);

  struct Member {
    platform::Thread thread;
    bool abandoned = false;  // may be set before Start has returned
  };

  std::mutex mutex_;  // guards all below
  std::condition_variable started_;
  std::vector<Member> members_;  // by number
  std::vector<size_t> free_;     // numbers of threads that did not start; has capacity for all
  size_t starting_ = 0;
  bool joined_ = false;
};

}  // namespace tritonts
