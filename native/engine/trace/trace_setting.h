// How requests are traced: which of them, in what detail, and where their traces go (Triton: trace
// settings). A setting never changes, except for its counters: an update replaces it.
//
// The tracer and the traces that began with it share ownership. Any thread may call any function.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace tritonts {

class TraceWriter;

struct TraceSetting {
  struct Options {
    bool timestamps = false;
    bool tensors = false;
    uint32_t rate = 1000;  // one of so many requests; 0: only those that a context forces
    int64_t left = -1;     // traces that may still begin; -1: any number
    std::string file;
    uint32_t log_frequency = 0;  // traces in a file; 0: all are in one
    bool spans = false;          // traces are kept for the owner instead of being written to a file
  };

  // Throws std::bad_alloc.
  TraceSetting(Options given, std::shared_ptr<TraceWriter> to);
  ~TraceSetting();

  // Counts this many requests, and calls `chosen` with the position of each that is to be traced,
  // in order.
  template <typename Chosen>
  void Count(uint64_t requests, const Chosen& chosen) {
    if (options.rate == 0 || requests == 0) return;
    const uint64_t before = seen.fetch_add(requests, std::memory_order_relaxed);
    for (uint64_t at = options.rate - before % options.rate; at <= requests; at += options.rate) {
      if (!TakeOne()) return;
      chosen(static_cast<size_t>(at - 1));
    }
  }
  // Counts requests before the next one that is to be traced, and returns their number.
  int64_t Skip() {
    if (options.rate == 0 || left.load(std::memory_order_relaxed) == 0) return kMostSkipped;
    uint64_t known = seen.load(std::memory_order_relaxed);
    for (;;) {
      const uint64_t skipped = std::min(options.rate - known % options.rate - 1, kMostSkipped);
      if (seen.compare_exchange_weak(known, known + skipped, std::memory_order_relaxed)) {
        return static_cast<int64_t>(skipped);
      }
    }
  }
  // A front end has asked for a request that is still to be submitted, and it was counted.
  void NoteAsked() {
    // Some are refused, and never submitted. Their number is bounded.
    if (asked.load(std::memory_order_relaxed) < kMostAsked) {
      asked.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // How many of these submitted requests have been counted so.
  uint64_t TakeAsked(uint64_t requests) {
    uint64_t known = asked.load(std::memory_order_relaxed);
    while (known > 0) {
      const uint64_t taken = std::min(known, requests);
      if (asked.compare_exchange_weak(known, known - taken, std::memory_order_relaxed)) {
        return taken;
      }
    }
    return 0;
  }
  // Begins one trace, unless no more may begin.
  bool TakeOne() {
    int64_t known = left.load(std::memory_order_relaxed);
    while (known > 0) {
      if (left.compare_exchange_weak(known, known - 1, std::memory_order_relaxed)) break;
    }
    return known != 0;
  }
  // A trace that was begun has recorded nothing.
  void GiveBack() {
    if (options.left >= 0) left.fetch_add(1, std::memory_order_relaxed);
  }

  static constexpr uint64_t kMostAsked = 1024;
  static constexpr uint64_t kMostSkipped = 1024;

  const Options options;
  const std::shared_ptr<TraceWriter> writer;
  const uint64_t number;  // the writer's name for it
  std::atomic<uint64_t> seen{0};
  std::atomic<uint64_t> asked{0};
  std::atomic<int64_t> left;
  int64_t ended = 0;  // traces that the writer got; guarded by its lock
};

}  // namespace tritonts
