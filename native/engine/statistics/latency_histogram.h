// A histogram of durations, with fixed classes as Prometheus' histograms have.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tritonts {

class LatencyHistogram {
 public:
  // The inclusive upper bounds of the classes. One more class has the values above the last bound.
  static constexpr std::array<uint64_t, 24> kBoundsNs = {
      1'000,          2'500,          5'000,          10'000,        25'000,
      50'000,         100'000,        250'000,        500'000,       1'000'000,
      2'500'000,      5'000'000,      10'000'000,     25'000'000,    50'000'000,
      100'000'000,    250'000'000,    500'000'000,    1'000'000'000, 2'500'000'000U,
      5'000'000'000U, 10'000'000'000, 30'000'000'000, 60'000'000'000};
  static constexpr size_t kClasses = kBoundsNs.size() + 1;

  void Add(uint64_t ns, uint64_t count) { counts_[ClassOf(ns)] += count; }

  // By class, not cumulative.
  const std::array<uint64_t, kClasses>& counts() const { return counts_; }

  static size_t ClassOf(uint64_t ns) {
    // At most two comparisons: the bounds are at least a factor of two apart.
    size_t index = kFirstOf[static_cast<size_t>(std::bit_width(ns))];
    while (index < kBoundsNs.size() && kBoundsNs[index] < ns) index++;
    return index;
  }

 private:
  // By bit width: the class of the smallest value of that width.
  static constexpr std::array<uint8_t, 65> kFirstOf = [] {
    std::array<uint8_t, 65> first{};
    for (size_t bits = 0; bits < first.size(); bits++) {
      const uint64_t least = bits == 0 ? 0 : uint64_t{1} << (bits - 1);
      while (first[bits] < kBoundsNs.size() && kBoundsNs[first[bits]] < least) first[bits]++;
    }
    return first;
  }();

  std::array<uint64_t, kClasses> counts_{};
};

}  // namespace tritonts
