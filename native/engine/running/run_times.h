// How long batches of a model version take: what decides whether one runs on the thread that
// submitted it (docs/architecture.md, "On the JS thread") instead of waking an instance's.
//
// Times are kept by shape class and size, because 4 tokens may take 20 us and 512 of them 20 ms. A
// class that was not measured yet, or not since it took too long, does not fit: it runs on an
// instance's thread, where it costs nobody anything but the hop, and is measured there.
//
// A class may still have a batch that takes far longer than the others did, because of what is in
// it. Such a batch holds the thread that submitted it, and nothing can take it away; but what its
// version has cost that way is added up (NoteHere), and soon none of its batches runs there again.
// Counted is the time that the thread had a core: to lose it to somebody else is not the model's
// doing.
//
// Guarded by the version's lock.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

namespace tritonts {

class Request;
class ThreadWatch;

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
  // The same of a run on the thread that submitted it, which had `watch`. Nothing fits any more,
  // for good, where it was one too many.
  void NoteHere(uint64_t batch_class, uint64_t ns, const ThreadWatch& watch);

  // What runs may take beyond their budgets on threads that submit, altogether. One that keeps to
  // its budget makes good for a part of it.
  static constexpr uint64_t kMostOverNs = 20'000'000;
  static constexpr uint64_t kGoodFor = 16;
  // A run that takes as long counts whole, whether its thread had a core or waited.
  static constexpr uint64_t kStallNs = 1'000'000'000;

 private:
  // Classes that are kept; with more of them than that, all are measured anew.
  static constexpr size_t kMost = 4096;

  uint64_t budget_ns_;
  uint64_t over_ns_ = 0;
  std::unordered_map<uint64_t, uint64_t> expected_ns_;
};

}  // namespace tritonts
