// Quantiles of what the phases of requests took lately: counts in classes that are a fixed part of
// their values wide, over a window that moves on by a quarter of itself.
//
//   value   1, 2, 3 … 2^bits   then 2^bits classes for each power of two
//   time    |slice|slice|slice|slice|   the oldest is emptied when its turn comes again
//
// A sample costs two loads and a store, however many there are. A quantile that is told lies in the
// class of the exact one: it is wrong by less than 1 / 2^bits of its value. Within the class it is
// interpolated, and so its rank is mostly far better than that.
//
// One thread at a time adds, under the version's lock; others read meanwhile without it. What they
// read while a slice is emptied is a part of that slice.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/statistics/latency_phase.h"

namespace tritonts {

class LatencyWindow {
 public:
  static constexpr uint64_t kSliceNs = 15'000'000'000;
  static constexpr size_t kSlices = 4;
  static constexpr uint32_t kFewestBits = 4;
  static constexpr uint32_t kMostBits = 9;

  // `bits` within these limits. Throws std::bad_alloc.
  explicit LatencyWindow(uint32_t bits);

  // Moves the window to `now_ns`, which never goes back; before samples of then are added.
  void Advance(uint64_t now_ns);
  void Add(LatencyPhase phase, uint64_t ns, uint64_t count);

  // Writes the quantiles of a phase, in nanoseconds; NaN where there was no sample. Any thread.
  // Throws std::bad_alloc.
  void Quantiles(LatencyPhase phase, uint64_t now_ns, std::span<const double> quantiles,
                 std::span<double> values) const;
  // The same of all phases, one after the other.
  std::vector<double> AllQuantiles(uint64_t now_ns, std::span<const double> quantiles) const;

 private:
  // What is longer counts as so long: 4.8 hours.
  static constexpr int kMostBitsOfValue = 44;

  using Count = std::atomic<uint32_t>;
  // Counts of one phase in one slice.
  struct Part {
    Count* counts = nullptr;
    // Classes that may have samples: from `first` to before `past`.
    std::atomic<size_t> first{0};
    std::atomic<size_t> past{0};
  };
  struct Slice {
    std::atomic<uint64_t> number{0};  // since the clock began
    std::array<Part, kLatencyPhases> parts;
  };

  size_t ClassOf(uint64_t ns) const;
  double LeastOf(size_t index) const;
  static void Empty(Part* part);

  const uint32_t bits_;
  const size_t classes_;
  const std::unique_ptr<Count[]> counts_;
  std::array<Slice, kSlices> slices_;
  Slice* current_ = slices_.data();
};

}  // namespace tritonts
