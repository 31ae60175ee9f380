// Quantiles of the recent times of the requests' phases. Times are counted in classes whose width
// is a fixed part of their values. The window consists of four slices and moves by one slice.
//
//   value   1, 2, 3 … 2^bits   then 2^bits classes for each power of two
//   time    |slice|slice|slice|slice|   the oldest slice is emptied and reused
//
// Adding a sample has a constant cost. A reported quantile lies in the class of the exact one, so
// its error is less than 1 / 2^bits of its value. It is interpolated within the class, so it is
// mostly more exact.
//
// One thread at a time adds, under the version's lock. Other threads may read meanwhile, without
// the lock. A reader that meets a slice being emptied sees only a part of that slice.
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

  // `bits` is within the limits above. Throws std::bad_alloc.
  explicit LatencyWindow(uint32_t bits);

  // Moves the window to `now_ns`, if that is later. Called before samples of that time are added.
  void Advance(uint64_t now_ns);
  void Add(LatencyPhase phase, uint64_t ns, uint64_t count);

  // Writes the quantiles of a phase, in nanoseconds; NaN if there is no sample. Any thread may call
  // it. Throws std::bad_alloc.
  void Quantiles(LatencyPhase phase, uint64_t now_ns, std::span<const double> quantiles,
                 std::span<double> values) const;
  // The same for all phases, one after the other.
  std::vector<double> AllQuantiles(uint64_t now_ns, std::span<const double> quantiles) const;

 private:
  // Longer times count as 2^44 ns, which is 4.8 hours.
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
    std::atomic<uint64_t> number{0};  // the slice's time, in slices since the clock's zero
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
