// The responses of a decoupled version by their number within their request: Triton's
// response_stats.
//
// Each run of the version adds to them when it makes a response, so a stream that goes on for long
// is seen while it does. They are plain counters: no lock, and no memory but what the version was
// made with.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/statistics/statistics.h"

namespace tritonts {

class ResponseCounts {
 public:
  // Responses after these have no counts of their own.
  static constexpr uint32_t kMost = 256;

  enum class Kind : uint8_t {
    kSuccess,
    kFail,
    kEmpty,   // no response, but the end of the request
    kCancel,  // the end of a request that was cancelled
    kCount,
  };

  // Counts a response with the time since the request's one before, and, apart from that, the time
  // since the outputs were computed. Any thread.
  void Add(uint32_t number, Kind kind, uint64_t infer_ns, uint64_t output_ns) {
    if (number >= kMost) return;
    Cell& cell = cells_[number][static_cast<size_t>(kind)];
    cell.infer_ns.fetch_add(infer_ns, std::memory_order_relaxed);
    if (output_ns != 0) cell.output_ns.fetch_add(output_ns, std::memory_order_relaxed);
    cell.count.fetch_add(1, std::memory_order_relaxed);
  }

  // By number, up to the last one that there was. Throws std::bad_alloc.
  std::vector<ResponseStatistics> Read() const;

 private:
  // What Triton counts several times over is counted once here.
  struct Cell {
    std::atomic<uint64_t> count{0};
    std::atomic<uint64_t> infer_ns{0};
    std::atomic<uint64_t> output_ns{0};
  };
  std::array<std::array<Cell, static_cast<size_t>(Kind::kCount)>, kMost> cells_;
};

}  // namespace tritonts
