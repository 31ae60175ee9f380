// Whether the runs of an instance take less time on one thread or on all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tritonts::pytorch {

// libtorch divides each operation among its threads, which wait for each other actively. That makes
// long runs faster. Short ones end later, because a thread takes longer to wake than they take. And
// where other threads use the cores, all threads wait for the one that has none, for milliseconds.
//
// So both ways are measured, for each size of inputs by itself: a trial is some runs on one thread,
// and then some on all. The way that has the fastest run is used until the next trial. Trials
// become rare while they end alike, and a trial comes at once if runs on all threads take much
// longer than before.
//
// Not thread-safe: an instance has one run at a time.
class ThreadChoice {
 public:
  // Whether the next run with so many bytes of inputs is on one thread.
  bool TakesOne(size_t bytes) const;
  // Takes the time of such a run.
  void Took(size_t bytes, uint64_t ns);

  static constexpr uint32_t kTrialRuns = 4;
  // Runs from one trial to the next: as few after a change, as many if trials end alike.
  static constexpr uint32_t kFewestRuns = 64;
  static constexpr uint32_t kMostRuns = 4096;
  // More threads cannot make a run of this time faster.
  static constexpr uint64_t kShortNs = 60'000;

 private:
  enum class Step : uint8_t { kTryOne, kTryAll, kUse };
  // Inputs of sizes within a quarter of each other.
  struct Size {
    Step step = Step::kTryOne;
    bool uses_all = false;
    uint32_t runs = 0;  // of this step
    uint32_t slow = 0;  // the last runs, if each took much longer than the fastest
    uint32_t period = kFewestRuns;
    uint64_t one_ns = UINT64_MAX;  // the fastest runs of the last trial
    uint64_t all_ns = UINT64_MAX;
  };

  static size_t PlaceOf(size_t bytes);
  static void Begin(Size* size, Step step);
  static void Decide(Size* size, bool uses_all);

  std::array<Size, 256> sizes_;
};

}  // namespace tritonts::pytorch
