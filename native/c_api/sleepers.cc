#include "c_api/sleepers.h"

#include <thread>
#include <utility>

#include "c_api/request.h"

namespace tritonts::c_api {

namespace {

// The passes of this thread, which must not wait for itself.
thread_local uint32_t t_passes = 0;

}  // namespace

void Sleepers::NoteBusy() noexcept {
  busy_.store(asked_ || passes_ > 0, std::memory_order_release);
}

Sleepers::Added Sleepers::Add(ApiRequest* request) {
  const std::lock_guard lock(mutex_);
  all_.push_back(request);
  // Under the lock, so that a cancellation that claims it finds it in the list.
  if (!request->Park()) {
    all_.pop_back();
    return Added::kCancelled;
  }
  const bool was_asked = std::exchange(asked_, true);
  NoteBusy();
  return was_asked ? Added::kWaits : Added::kFirst;
}

void Sleepers::Remove(ApiRequest* request) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(all_, request);
}

bool Sleepers::Withdraw(ApiRequest* request) noexcept {
  const std::lock_guard lock(mutex_);
  if (!std::erase(all_, request)) return false;
  return request->Unpark();
}

std::vector<ApiRequest*> Sleepers::Take() noexcept {
  const std::lock_guard lock(mutex_);
  asked_ = false;
  passes_++;
  t_passes++;
  NoteBusy();
  std::erase_if(all_, [](ApiRequest* request) { return !request->Unpark(); });
  return std::exchange(all_, {});
}

void Sleepers::EndPass() noexcept {
  const std::lock_guard lock(mutex_);
  passes_--;
  t_passes--;
  NoteBusy();
}

bool Sleepers::Holds() noexcept {
  while (busy_.load(std::memory_order_acquire)) {
    {
      const std::lock_guard lock(mutex_);
      if (asked_) return true;
    }
    if (t_passes > 0) return false;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace tritonts::c_api
