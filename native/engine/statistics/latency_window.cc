#include "engine/statistics/latency_window.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "engine/base/rules.h"

namespace tritonts {

LatencyWindow::LatencyWindow(uint32_t bits)
    : bits_(bits),
      classes_(static_cast<size_t>(kMostBitsOfValue + 1 - static_cast<int>(bits)) << bits),
      counts_(std::make_unique<Count[]>(classes_ * kLatencyPhases * kSlices)) {
  TRITONTS_ASSERT(bits >= kFewestBits && bits <= kMostBits, "a window of unknown precision");
  Count* next = counts_.get();
  for (Slice& slice : slices_) {
    for (Part& part : slice.parts) {
      part.counts = next;
      part.first = classes_;
      next += classes_;
    }
  }
}

size_t LatencyWindow::ClassOf(uint64_t ns) const {
  const uint64_t value = std::min(ns, (uint64_t{1} << kMostBitsOfValue) - 1);
  const uint64_t each = uint64_t{1} << bits_;
  if (value < each) return value;
  const auto shift = static_cast<uint32_t>(std::bit_width(value)) - 1 - bits_;
  return ((size_t{shift} + 1) << bits_) + ((value >> shift) - each);
}

double LatencyWindow::LeastOf(size_t index) const {
  const uint64_t each = uint64_t{1} << bits_;
  if (index < each) return static_cast<double>(index);
  const size_t shift = (index >> bits_) - 1;
  return static_cast<double>((each + (index & (each - 1))) << shift);
}

void LatencyWindow::Empty(Part* part) {
  const size_t past = part->past.load(std::memory_order_relaxed);
  for (size_t i = part->first.load(std::memory_order_relaxed); i < past; i++) {
    part->counts[i].store(0, std::memory_order_relaxed);
  }
}

void LatencyWindow::Advance(uint64_t now_ns) {
  const uint64_t number = now_ns / kSliceNs;
  if (current_->number.load(std::memory_order_relaxed) >= number) return;
  // Slices that were skipped keep old numbers, so readers ignore them. They are emptied when they
  // are next used.
  current_ = &slices_[number % kSlices];
  for (Part& part : current_->parts) {
    Empty(&part);
    part.first.store(classes_, std::memory_order_relaxed);
    part.past.store(0, std::memory_order_relaxed);
  }
  current_->number.store(number, std::memory_order_relaxed);
}

void LatencyWindow::Add(LatencyPhase phase, uint64_t ns, uint64_t count) {
  Part& part = current_->parts[static_cast<size_t>(phase)];
  const size_t index = ClassOf(ns);
  Count& known = part.counts[index];
  known.store(known.load(std::memory_order_relaxed) + static_cast<uint32_t>(count),
              std::memory_order_relaxed);
  if (index < part.first.load(std::memory_order_relaxed)) {
    part.first.store(index, std::memory_order_relaxed);
  }
  if (index >= part.past.load(std::memory_order_relaxed)) {
    part.past.store(index + 1, std::memory_order_relaxed);
  }
}

void LatencyWindow::Quantiles(LatencyPhase phase, uint64_t now_ns,
                              std::span<const double> quantiles, std::span<double> values) const {
  const uint64_t now = now_ns / kSliceNs;
  std::array<const Part*, kSlices> parts{};
  size_t used = 0;
  size_t first = classes_;
  size_t past = 0;
  for (const Slice& slice : slices_) {
    const Part& part = slice.parts[static_cast<size_t>(phase)];
    if (slice.number.load(std::memory_order_relaxed) + kSlices <= now) continue;
    parts[used++] = &part;
    first = std::min(first, part.first.load(std::memory_order_relaxed));
    past = std::max(past, part.past.load(std::memory_order_relaxed));
  }
  // Cumulative counts, computed once, so that each quantile is found by binary search.
  std::vector<uint64_t> sums;
  sums.reserve(past > first ? past - first : 0);
  uint64_t all = 0;
  for (size_t i = first; i < past; i++) {
    for (size_t k = 0; k < used; k++) all += parts[k]->counts[i].load(std::memory_order_relaxed);
    sums.push_back(all);
  }
  for (size_t q = 0; q < quantiles.size(); q++) {
    if (all == 0) {
      values[q] = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    const double rank = quantiles[q] * static_cast<double>(all);
    auto found = std::lower_bound(sums.begin(), sums.end(), rank, [](uint64_t sum, double r) {
      return static_cast<double>(sum) < r;
    });
    // Skip empty classes, which have the same cumulative count as the class before.
    while (found + 1 != sums.end() && *found == (found == sums.begin() ? 0 : *(found - 1))) ++found;
    const auto offset = static_cast<size_t>(found - sums.begin());
    const uint64_t before = offset == 0 ? 0 : sums[offset - 1];
    const double least = LeastOf(first + offset);
    const double width = LeastOf(first + offset + 1) - least;
    const double share =
        (rank - static_cast<double>(before)) / static_cast<double>(*found - before);
    values[q] = least + width * std::clamp(share, 0.0, 1.0);
  }
}

std::vector<double> LatencyWindow::AllQuantiles(uint64_t now_ns,
                                                std::span<const double> quantiles) const {
  std::vector<double> values(kLatencyPhases * quantiles.size());
  for (size_t phase = 0; phase < kLatencyPhases; phase++) {
    Quantiles(static_cast<LatencyPhase>(phase), now_ns, quantiles,
              std::span(values).subspan(phase * quantiles.size(), quantiles.size()));
  }
  return values;
}

}  // namespace tritonts
