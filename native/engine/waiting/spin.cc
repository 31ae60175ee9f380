#include "engine/waiting/spin.h"

#include <algorithm>
#include <bit>

#include "engine/base/exit.h"
#include "platform/pause.h"

namespace tritonts {

namespace {

constexpr int kLooks = 8;  // looks at the bell for each reading of the clock

// The cores belong to the process, so these counters have file scope.
std::atomic<uint32_t> instances_spinning{0};
std::atomic<uint32_t> js_spinning{0};

std::atomic<uint32_t>& CounterOf(Spinner spinner) {
  return spinner == Spinner::kInstance ? instances_spinning : js_spinning;
}

// The cores in use, without the one core that belongs to a JS thread.
uint32_t CoresInUse() {
  const uint32_t js = js_spinning.load(std::memory_order_relaxed);
  return instances_spinning.load(std::memory_order_relaxed) + (js > 0 ? js - 1 : 0) +
         RunsUnderWay();
}

}  // namespace

bool SpinPolicy::ShouldSpin() {
  if (skip_ > 0) {
    skip_--;
    return false;
  }
  return std::popcount(short_waits_) * 2 >= static_cast<int>(kWaits);
}

void SpinPolicy::Note(Spin spin, uint64_t waited_ns, uint64_t before_ns) {
  before_ns_ = std::min(before_ns, kMostNs);
  short_waits_ = (short_waits_ << 1 | (waited_ns <= kMostNs ? 1u : 0u)) & ((1u << kWaits) - 1);
  if (spin == Spin::kNone) return;
  if (spin == Spin::kFound) {
    if (backoff_ > 0) backoff_--;
    return;
  }
  // A preempted spin kept another thread from running, perhaps the thread that it waits for.
  backoff_ = std::min(backoff_ + (spin == Spin::kPreempted ? 2 : 1), kMostBackoff);
  skip_ = (1u << backoff_) - 1;
}

SpinCore::SpinCore(Spinner spinner, uint32_t cores) : spinner_(spinner), cores_(cores) {
  CounterOf(spinner).fetch_add(1, std::memory_order_relaxed);
  taken_ = CoresInUse() <= cores;
  if (!taken_) CounterOf(spinner).fetch_sub(1, std::memory_order_relaxed);
}

SpinCore::~SpinCore() {
  if (taken_) CounterOf(spinner_).fetch_sub(1, std::memory_order_relaxed);
}

bool SpinCore::wanted() const {
  return CoresInUse() > cores_;
}

Spin Look(const std::atomic<bool>& rung, const SpinCore& core, uint64_t until_ns,
          uint64_t (*clock)()) {
  uint64_t last = clock();
  while (true) {
    bool found = rung.load(std::memory_order_acquire);
    for (int i = 0; i < kLooks && !found; i++) {
      platform::Pause();
      found = rung.load(std::memory_order_acquire);
    }
    const uint64_t now = clock();
    if (now - last > SpinPolicy::kPreemptionNs) return Spin::kPreempted;
    if (found) return Spin::kFound;
    if (now >= until_ns) return Spin::kNotFound;
    if (core.wanted()) return Spin::kNone;
    last = now;
  }
}

}  // namespace tritonts
