// The kernel for any processor. By the compiler's vector types, SSE2 and NEON compare eight ranks
// at once.
#include <cstring>
#include <iterator>

#include "walk.h"

namespace tritonts::fil {

namespace generic {

namespace {

constexpr uint32_t kLanes = 8;

#if defined(__GNUC__)
// Lanes of comparisons are 0 or -1.
using Lanes __attribute__((vector_size(16))) = int16_t;

Lanes Load(const uint16_t* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}
Lanes Less(Lanes a, Lanes b) {
  return a < b;
}
Lanes Select(Lanes mask, Lanes yes, Lanes no) {
  return (mask & yes) | (~mask & no);
}
#else
struct Lanes {
  int16_t at[kLanes] = {};
};
template <typename Make>
Lanes Each(Make make) {
  Lanes lanes;
  for (uint32_t i = 0; i < kLanes; i++) lanes.at[i] = static_cast<int16_t>(make(i));
  return lanes;
}
Lanes operator-(Lanes lanes, int16_t value) {
  return Each([&](uint32_t i) { return lanes.at[i] - value; });
}
Lanes operator+(Lanes lanes, int16_t value) {
  return Each([&](uint32_t i) { return lanes.at[i] + value; });
}
Lanes operator+(Lanes a, Lanes b) {
  return Each([&](uint32_t i) { return a.at[i] + b.at[i]; });
}
Lanes Load(const uint16_t* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}
Lanes Less(Lanes a, Lanes b) {
  return Each([&](uint32_t i) { return a.at[i] < b.at[i] ? -1 : 0; });
}
Lanes Select(Lanes mask, Lanes yes, Lanes no) {
  return Each([&](uint32_t i) { return mask.at[i] ? yes.at[i] : no.at[i]; });
}
#endif

// The exits of eight rows below a node.
template <uint32_t kLevels, uint32_t kNode = 1>
Lanes Exits(const TopNode* top, const uint16_t* ranks) {
  constexpr uint32_t kPast = 1U << kLevels;
  if constexpr (kNode >= kPast) {
    return Lanes{} + static_cast<int16_t>(kNode - kPast);  // a top without levels
  } else {
    const TopNode& node = top[kNode];
    const Lanes left = Less(Load(ranks + size_t{node.column} * kBlockRows),
                            Lanes{} + static_cast<int16_t>(node.rank));
    if constexpr (2 * kNode >= kPast) {
      return left + static_cast<int16_t>(2 * kNode + 1 - kPast);
    } else {
      return Select(left, Exits<kLevels, 2 * kNode>(top, ranks),
                    Exits<kLevels, 2 * kNode + 1>(top, ranks));
    }
  }
}

template <uint32_t kLevels>
void FindExitsOf(const TopNode* top, const uint16_t* ranks, uint32_t rows, uint16_t* exits) {
  for (uint32_t row = 0; row < rows; row += kLanes) {
    const Lanes found = Exits<kLevels>(top, ranks + row);
    std::memcpy(exits + row, &found, sizeof(found));
  }
}

void FindExits(const TopNode* top, uint32_t levels, const uint16_t* ranks, uint32_t rows,
               uint16_t* exits) {
  static constexpr decltype(&FindExitsOf<0>) kOfLevels[] = {
      FindExitsOf<0>, FindExitsOf<1>, FindExitsOf<2>, FindExitsOf<3>,
      FindExitsOf<4>, FindExitsOf<5>, FindExitsOf<6>};
  static_assert(std::size(kOfLevels) == kTopLevels + 1);
  kOfLevels[levels](top, ranks, rows, exits);
}

}  // namespace

}  // namespace generic

const Kernel* GenericKernel() {
  static constexpr Kernel kKernel{"generic", generic::FindExits, nullptr};
  return &kKernel;
}

}  // namespace tritonts::fil
