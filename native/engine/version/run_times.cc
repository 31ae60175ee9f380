#include "engine/version/run_times.h"

#include <algorithm>
#include <bit>
#include <new>

#include "engine/request/request.h"
#include "engine/version/inline_time.h"

namespace tritonts {

namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {
  // The finalizer of splitmix64, chained over the previous hash.
  uint64_t mixed = hash + 0x9e3779b97f4a7c15u + value;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

// Groups sizes that take about the same time. Each size up to 16 is a step of its own; above that
// there are eight steps per doubling.
uint64_t Step(uint64_t size) {
  if (size <= 16) return size;
  const int shift = std::bit_width(size - 1) - 4;
  return (static_cast<uint64_t>(shift) << 8) | ((size - 1) >> shift);
}

}  // namespace

uint64_t RunTimes::Class(std::span<const Request* const> requests, uint32_t rows, bool by_bytes) {
  uint64_t hash = Mix(0, Step(rows));
  // The requests of a batch have equal keys.
  for (const int64_t dim : requests.front()->header->shape_key)
    hash = Mix(hash, static_cast<uint64_t>(dim));
  if (!by_bytes) return hash;
  uint64_t bytes = 0;
  for (const Request* request : requests) {
    for (const InputTensor& input : request->inputs()) bytes += input.byte_size();
  }
  return Mix(hash, Step(bytes));
}

bool RunTimes::Fits(uint64_t batch_class, uint64_t spent_ns) const {
  if (spent_ns >= budget_ns_) return false;
  const auto known = expected_ns_.find(batch_class);
  return known != expected_ns_.end() && known->second <= budget_ns_ - spent_ns;
}

void RunTimes::Note(uint64_t batch_class, uint64_t ns) {
  if (!enabled()) return;
  // A preempted run looks like a slow run. It counts at once, so that the event loop is not blocked
  // twice. But its time is capped, so that a few fast runs make the class fit again.
  const uint64_t taken = std::min(ns, 2 * budget_ns_);
  const auto known = expected_ns_.find(batch_class);
  if (known == expected_ns_.end()) {
    if (expected_ns_.size() >= kMost) expected_ns_.clear();
    try {
      expected_ns_.emplace(batch_class, taken);
    } catch (const std::bad_alloc&) {
      // Without memory the time is not noted. A later batch of the class will be.
    }
    return;
  }
  uint64_t& expected = known->second;
  expected = taken > expected ? taken : expected - (expected - taken) / 8;
}

void RunTimes::NoteWarm(uint64_t batch_class, uint64_t ns) {
  expected_ns_.erase(batch_class);
  Note(batch_class, ns);
}

void RunTimes::NoteHere(uint64_t batch_class, uint64_t ns, const ThreadWatch& watch) {
  if (!enabled()) return;
  Note(batch_class, ns);
  if (ns <= budget_ns_) {
    over_ns_ -= std::min(over_ns_, budget_ns_ / kRepaidPart);
    return;
  }
  const uint64_t held = ns >= kStallNs ? ns : watch.Had(ns);
  over_ns_ += held - std::min(held, budget_ns_);
  if (over_ns_ <= kMostOverNs) return;
  budget_ns_ = 0;
  expected_ns_.clear();
}

}  // namespace tritonts
