// How long batches of a model version take: what decides whether one runs on the thread that
// submitted it (docs/architecture.md, "On the JS thread") instead of waking an instance's.
//
// Times are kept by shape class and size, because 4 tokens may take 20 us and 512 of them 20 ms. A
// class that was not measured yet, or not since it took too long, does not fit: it runs on an
// instance's thread, where it costs nobody anything but the hop, and is measured there.
//
// Guarded by the version's lock.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

namespace tritonts {

class Request;

class RunTimes {
 public:
  // 0: nothing ever fits.
  explicit RunTimes(uint64_t budget_ns = 0) : budget_ns_(budget_ns) {}

  bool enabled() const { return budget_ns_ > 0; }
  // The class of a batch of these requests with `rows` rows. `by_bytes`: strings take as long as
  // they are, which their shapes do not tell.
  static uint64_t Class(std::span<const Request* const> requests, uint32_t rows, bool by_bytes);
  // Whether a batch of the class is known to end within the budget, of which `spent_ns` are gone.
  bool Fits(uint64_t batch_class, uint64_t spent_ns) const;
  void Note(uint64_t batch_class, uint64_t ns);

 private:
  // Classes that are kept; with more of them than that, all are measured anew.
  static constexpr size_t kMost = 4096;

  uint64_t budget_ns_;
  std::unordered_map<uint64_t, uint64_t> expected_ns_;
};

}  // namespace tritonts
