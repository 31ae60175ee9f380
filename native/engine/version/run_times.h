// How long batches of a model version take. This decides whether a batch runs on the thread that
// submitted it (docs/architecture.md, "On the JS thread"), so that no instance's thread needs to be
// woken.
//
// Times are kept by shape class and size, because 4 tokens may take 20 us and 512 tokens 20 ms. A
// class that was not measured yet, or took too long when it was measured last, does not fit. It
// runs on an instance's thread and is measured there; that costs only the hop to that thread.
//
// A batch may still take far longer than others of its class, because of its data. It then blocks
// the thread that submitted it until it ends. So NoteHere adds up by how much a version's batches
// exceed their budgets, and beyond a limit none of them runs on a submitting thread again. Only
// time for which the thread had a core counts, because preemption is not the model's fault.
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
  // With a budget of 0 nothing ever fits.
  explicit RunTimes(uint64_t budget_ns = 0) : budget_ns_(budget_ns) {}

  bool enabled() const { return budget_ns_ > 0; }
  // The class of a batch of these requests with `rows` rows. `by_bytes`: the bytes count, too. They
  // do for strings, whose length is not in their shapes.
  static uint64_t Class(std::span<const Request* const> requests, uint32_t rows, bool by_bytes);
  // Whether a batch of the class is known to end within the budget, of which `spent_ns` are spent.
  bool Fits(uint64_t batch_class, uint64_t spent_ns) const;
  // Whether a run of that time is within the budget.
  bool IsShort(uint64_t ns) const { return ns <= budget_ns_; }
  void Note(uint64_t batch_class, uint64_t ns);
  // The same for a run of a warm-up. It replaces what was known of the class: the first run of a
  // shape is often slow, and the last run tells most about the next one.
  void NoteWarm(uint64_t batch_class, uint64_t ns);
  // The same for a run on the thread that submitted it. `watch` is that thread's. Once runs have
  // exceeded their budgets by too much, nothing fits any more.
  void NoteHere(uint64_t batch_class, uint64_t ns, const ThreadWatch& watch);

  // By how much runs on submitting threads may exceed their budgets, all together. A run that keeps
  // to its budget gives a part of that back: the budget divided by kRepaidPart.
  static constexpr uint64_t kMostOverNs = 20'000'000;
  static constexpr uint64_t kRepaidPart = 16;
  // A run that takes this long counts in full, whether its thread had a core or waited.
  static constexpr uint64_t kStallNs = 1'000'000'000;

 private:
  // How many classes are kept. Beyond that, all of them are measured again.
  static constexpr size_t kMost = 4096;

  uint64_t budget_ns_;
  uint64_t over_ns_ = 0;
  std::unordered_map<uint64_t, uint64_t> expected_ns_;
};

}  // namespace tritonts
