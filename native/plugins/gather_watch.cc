#include "plugins/gather_watch.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "engine/base/clock.h"
#include "platform/thread.h"
#include "plugins/batch.h"

namespace tritonts::plugins {

namespace {

constexpr auto kLook = std::chrono::microseconds(300);
// A response that has waited for so long is delivered at the next look.
constexpr uint64_t kWaitNs = 200'000;
// Looks without a batch before the thread sleeps.
constexpr int kIdleLooks = 10;

}  // namespace

struct GatherWatch::State {
  std::mutex mutex;  // guards all below
  std::condition_variable wake;
  bool started = false;
  bool sleeps = false;
  std::vector<Batch*> batches;
  std::vector<Batch*> taken;  // only the thread uses it, without the lock, too
};

GatherWatch::State& GatherWatch::Get() {
  // Never destroyed, because threads may outlive static destructors.
  static auto* const state = new State();
  return *state;
}

bool GatherWatch::Add(Batch* batch) noexcept {
  try {
    State& state = Get();
    const std::lock_guard lock(state.mutex);
    if (!state.started) {
      platform::Thread thread;
      if (!thread.Start([&state] { Watch(&state); })) return false;
      thread.Detach();
      state.started = true;
    }
    state.batches.push_back(batch);
    state.taken.reserve(state.batches.capacity());
    if (state.sleeps) state.wake.notify_one();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void GatherWatch::Remove(Batch* batch) noexcept {
  State& state = Get();
  const std::lock_guard lock(state.mutex);
  std::erase(state.batches, batch);
}

void GatherWatch::Watch(State* state) {
  platform::NameThread("tritonts-gather");
  std::unique_lock lock(state->mutex);
  for (int idle = 0;;) {
    idle = state->batches.empty() ? idle + 1 : 0;
    if (idle > kIdleLooks) {
      state->sleeps = true;
      state->wake.wait(lock, [state] { return !state->batches.empty(); });
      state->sleeps = false;
      idle = 0;
    }
    lock.unlock();
    std::this_thread::sleep_for(kLook);
    lock.lock();
    for (Batch* const batch : state->batches) {
      if (Take(batch)) state->taken.push_back(batch);
    }
    if (state->taken.empty()) continue;
    // Others add and remove batches meanwhile, but only this thread takes.
    std::vector<Batch*> taken;
    taken.swap(state->taken);
    lock.unlock();
    for (Batch* const batch : taken) Flush(batch);
    taken.clear();
    lock.lock();
    if (taken.capacity() > state->taken.capacity()) state->taken.swap(taken);
  }
}

bool GatherWatch::Take(Batch* batch) {
  const std::lock_guard lock(batch->gather_lock_);
  if (batch->gathered_.empty() || NowNs() - batch->first_gathered_ns_ < kWaitNs) return false;
  batch->flushing_.swap(batch->gathered_);
  // The thread in Execute has one, too, as long as the watch knows the batch.
  batch->references_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void GatherWatch::Flush(Batch* batch) {
  batch->DeliverAll(batch->flushing_);
  batch->flushing_.clear();
  batch->Drop();
}

}  // namespace tritonts::plugins
