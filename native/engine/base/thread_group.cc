#include "engine/base/thread_group.h"

#include <new>
#include <utility>

namespace tritonts {

ThreadGroup::~ThreadGroup() {
  Join();
}

bool ThreadGroup::Number(size_t* number) {
  std::lock_guard lock(mutex_);
  if (joined_) return false;
  if (free_.empty()) {
    try {
      free_.reserve(members_.size() + 1);
      members_.emplace_back();
    } catch (const std::bad_alloc&) {
      return false;
    }
    free_.push_back(members_.size() - 1);
  }
  *number = free_.back();
  free_.pop_back();
  starting_++;
  return true;
}

bool ThreadGroup::Start(std::function<void(size_t)> body) {
  size_t number = 0;
  if (!Number(&number)) return false;
  platform::Thread thread;
  bool started = false;
  try {
    started = thread.Start([body = std::move(body), number] { body(number); });
  } catch (const std::bad_alloc&) {
    // Handled below like a system that has no thread.
  }
  {
    std::lock_guard lock(mutex_);
    starting_--;
    started_.notify_all();
    if (!started) {
      free_.push_back(number);
      return false;
    }
    if (!members_[number].abandoned) {
      members_[number].thread = std::move(thread);
      return true;
    }
  }
  thread.Detach();
  return true;
}

void ThreadGroup::Abandon(size_t number) {
  platform::Thread thread;
  {
    std::lock_guard lock(mutex_);
    if (number >= members_.size()) return;
    Member& member = members_[number];
    member.abandoned = true;
    thread = std::move(member.thread);
  }
  thread.Detach();
}

void ThreadGroup::Join() {
  std::vector<Member> members;
  {
    std::unique_lock lock(mutex_);
    joined_ = true;
    started_.wait(lock, [this] { return starting_ == 0; });
    members.swap(members_);
  }
  for (Member& member : members) member.thread.Join();
}

}  // namespace tritonts
