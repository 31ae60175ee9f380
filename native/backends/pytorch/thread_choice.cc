#include "thread_choice.h"

#include <algorithm>
#include <bit>

namespace tritonts::pytorch {

size_t ThreadChoice::PlaceOf(size_t bytes) {
  // The position of the first bit, and the two bits after it.
  const int width = std::bit_width(bytes);
  if (width <= 2) return bytes;
  return static_cast<size_t>(width - 2) * 4 + ((bytes >> (width - 3)) & 3);
}

bool ThreadChoice::TakesOne(size_t bytes) const {
  const Size& size = sizes_[PlaceOf(bytes)];
  return size.step == Step::kTryOne || (size.step == Step::kUse && !size.uses_all);
}

void ThreadChoice::Begin(Size* size, Step step) {
  size->step = step;
  size->runs = 0;
  size->slow = 0;
}

void ThreadChoice::Decide(Size* size, bool uses_all) {
  const bool alike = uses_all == size->uses_all;
  size->period = alike ? std::min(2 * size->period, kMostRuns) : kFewestRuns;
  size->uses_all = uses_all;
  Begin(size, Step::kUse);
}

void ThreadChoice::Took(size_t bytes, uint64_t ns) {
  Size& size = sizes_[PlaceOf(bytes)];
  size.runs++;
  switch (size.step) {
    case Step::kTryOne:
      size.one_ns = size.runs == 1 ? ns : std::min(size.one_ns, ns);
      if (size.runs < kTrialRuns) return;
      if (size.one_ns < kShortNs) return Decide(&size, false);
      return Begin(&size, Step::kTryAll);
    case Step::kTryAll:
      size.all_ns = size.runs == 1 ? ns : std::min(size.all_ns, ns);
      // More runs like these would only be lost time. But the first one may prepare something.
      if (size.runs < kTrialRuns && size.all_ns < (size.runs == 1 ? 16 : 3) * size.one_ns) return;
      // A tenth less, because all threads take more of the cores.
      return Decide(&size, size.all_ns < size.one_ns - size.one_ns / 10);
    case Step::kUse:
      size.slow = size.uses_all && ns > 2 * size.all_ns ? size.slow + 1 : 0;
      if (size.runs < size.period && size.slow < kTrialRuns) return;
      return Begin(&size, Step::kTryOne);
  }
}

}  // namespace tritonts::pytorch
