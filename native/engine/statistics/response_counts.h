// Statistics of a decoupled version's responses, by their number within their request (Triton's
// response_stats).
//
// Each run of the version counts a response when it makes it, so long streams are visible while
// they run. The counters are atomic: there is no lock and no allocation after construction.
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
  // Responses with a higher number are not counted.
  static constexpr uint32_t kMost = 256;

  enum class Kind : uint8_t {
    kSuccess,
    kFail,
    kEmpty,   // the end of the request, without a response
    kCancel,  // the end of a cancelled request
    kCount,
  };

  // Counts a response. `infer_ns`: the time since the request's previous response. `output_ns`: the
  // time since its outputs were computed. Any thread may call it.
  void Add(uint32_t number, Kind kind, uint64_t infer_ns, uint64_t output_ns) {
    if (number >= kMost) return;
    Cell& cell = cells_[number][static_cast<size_t>(kind)];
    cell.infer_ns.fetch_add(infer_ns, std::memory_order_relaxed);
    if (output_ns != 0) cell.output_ns.fetch_add(output_ns, std::memory_order_relaxed);
    cell.count.fetch_add(1, std::memory_order_relaxed);
  }

  // The counts by number, up to the highest number so far. Throws std::bad_alloc.
  std::vector<ResponseStatistics> Read() const;

 private:
  // Each value is counted once here. Read derives those that Triton reports several times.
  struct Cell {
    std::atomic<uint64_t> count{0};
    std::atomic<uint64_t> infer_ns{0};
    std::atomic<uint64_t> output_ns{0};
  };
  std::array<std::array<Cell, static_cast<size_t>(Kind::kCount)>, kMost> cells_;
};

}  // namespace tritonts
