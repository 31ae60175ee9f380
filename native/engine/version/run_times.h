// How long batches of a model version take. This decides whether a batch runs on the thread that
// submitted it (docs/architecture.md, "Inline runs"), so that no instance's thread needs to be
// woken.
//
// Times are kept by shape class and size, because 4 tokens may take 20 us and 512 tokens 20 ms. A
// class does not fit if it has not been measured yet, or took too long at its last measurement. Its
// batches run on an instance's thread and are measured there, which costs only the hop to that
// thread.
//
// A batch may still take far longer than others of its class, because of its data. It then blocks
// the thread that submitted it until it ends. So NoteHere adds up the time by which a version's
// batches exceed their budgets. Beyond a limit no batch of the version runs on a submitting thread
// again. Only time for which the thread had a core counts, because preemption is not the model's
// fault.
//
// Owned by the version's inline policy, and guarded by the version's lock.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

namespace tritonts {

class Request;
class ThreadWatch;

class RunTimes {
 public:
  // With a budget of 0 no batch ever fits.
  explicit RunTimes(uint64_t budget_ns = 0) : budget_ns_(budget_ns) {}

  bool enabled() const { return budget_ns_ > 0; }
  // The class of a batch of these requests with `rows` rows. `by_bytes`: the class depends on the
  // byte size, too. Strings need this, because their lengths are not in their shapes,
  // and so do ragged inputs, whose dims are not in the keys.
  static uint64_t Class(std::span<const Request* const> requests, uint32_t rows, bool by_bytes);
  // Whether a batch of the class is known to end within the budget minus `spent_ns`.
  bool Fits(uint64_t batch_class, uint64_t spent_ns) const;
  // Whether a run of `ns` is within the budget.
  bool IsShort(uint64_t ns) const { return ns <= budget_ns_; }
  void Note(uint64_t batch_class, uint64_t ns);
  // The same for a run of a warm-up. Its time replaces the known time of the class: the first run
  // of a shape is often slow, and the last run predicts the next one best.
  void NoteWarm(uint64_t batch_class, uint64_t ns);
  // The same for a run on the thread that submitted it. `watch` is that thread's. Once the runs
  // have exceeded their budgets by more than kMostOverNs, no batch fits any more.
  void NoteHere(uint64_t batch_class, uint64_t ns, const ThreadWatch& watch);

  // The time by which all runs on submitting threads together may exceed their budgets. A run
  // within its budget reduces the sum by the budget divided by kRepaidPart.
  static constexpr uint64_t kMostOverNs = 20'000'000;
  static constexpr uint64_t kRepaidPart = 16;
  // A run that takes this long counts in full, even if its thread had no core for a part of it.
  static constexpr uint64_t kStallNs = 1'000'000'000;

 private:
  // The most classes that are kept. Beyond that, all classes are measured again.
  static constexpr size_t kMost = 4096;

  uint64_t budget_ns_;
  uint64_t over_ns_ = 0;
  std::unordered_map<uint64_t, uint64_t> expected_ns_;
};

}  // namespace tritonts
