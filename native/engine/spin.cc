#include "spin.h"

#include <algorithm>
#include <bit>

#include "../platform/pause.h"
#include "exit.h"

namespace tritonts {

namespace {

// Between two looks at the clock, some hundred nanoseconds to a microsecond apart, nothing takes as
// long as that but another thread on the same core.
constexpr uint64_t kInterruptionNs = 20'000;
constexpr int kLooks = 8;  // at the bell, for one at the clock

// The process' cores are state of the process.
std::atomic<uint32_t> spinning{0};

}  // namespace

bool SpinPolicy::Worth() {
  if (sit_out_ > 0) {
    sit_out_--;
    return false;
  }
  return std::popcount(short_waits_) * 2 >= static_cast<int>(kWaits);
}

void SpinPolicy::Note(Spin spin, uint64_t waited_ns) {
  short_waits_ = (short_waits_ << 1 | (waited_ns <= kMostNs ? 1u : 0u)) & ((1u << kWaits) - 1);
  if (spin == Spin::kNone) return;
  if (spin == Spin::kFound) {
    if (doubt_ > 0) doubt_--;
    return;
  }
  // What was interrupted kept somebody from running, who may be the one that is waited for.
  doubt_ = std::min(doubt_ + (spin == Spin::kInterrupted ? 2 : 1), kMostDoubt);
  sit_out_ = (1u << doubt_) - 1;
}

SpinCore::SpinCore(uint32_t cores) : cores_(cores) {
  const uint32_t others = spinning.fetch_add(1, std::memory_order_relaxed);
  taken_ = others + RunsUnderWay() < cores;
  if (!taken_) spinning.fetch_sub(1, std::memory_order_relaxed);
}

SpinCore::~SpinCore() {
  if (taken_) spinning.fetch_sub(1, std::memory_order_relaxed);
}

bool SpinCore::wanted() const {
  return spinning.load(std::memory_order_relaxed) + RunsUnderWay() > cores_;
}

Spin Look(const Bell& bell, const SpinCore& core, uint64_t began_ns, uint64_t (*clock)()) {
  uint64_t last = clock();
  while (true) {
    bool rung = bell.rung();
    for (int i = 0; i < kLooks && !rung; i++) {
      platform::Pause();
      rung = bell.rung();
    }
    const uint64_t now = clock();
    if (now - last > kInterruptionNs) return Spin::kInterrupted;
    if (rung) return Spin::kFound;
    if (now - began_ns >= SpinPolicy::kMostNs) return Spin::kInVain;
    if (core.wanted()) return Spin::kNone;
    last = now;
  }
}

}  // namespace tritonts
