// The kernel for x86 processors with AVX-512 (BW, VL): 32 ranks a register. The leaves of a tree of
// up to six levels fit four registers, so they are chosen without reading memory.
#include "walk.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <iterator>

// As in walk_avx2.cc.
#define TRITONTS_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx2")))
#define TRITONTS_AVX512_INLINE \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx2"), always_inline)) inline

namespace tritonts::fil {

namespace avx512 {

namespace {

constexpr uint32_t kLanes = 32;

// Exits of kLanes or 2 * kLanes rows. Two registers share what is read of the nodes.
template <uint32_t kCount>
struct Vectors {
  __m512i of[kCount];
};

// Subtrees of so many levels number their exits from 0, so that few constants stay in registers.
constexpr uint32_t kOwnLevels = 3;

struct Constants {
  __m512i minus_one;
  __m512i right[1 << (kOwnLevels - 1)];  // the right exits of the last level: 1, 3, 5, 7

  TRITONTS_AVX512_INLINE Constants() : minus_one(_mm512_set1_epi16(-1)) {
#pragma GCC unroll 4
    for (int i = 0; i < 1 << (kOwnLevels - 1); i++) {
      right[i] = _mm512_set1_epi16(static_cast<int16_t>(2 * i + 1));
      // Otherwise the compiler makes the constant anew for each node.
      asm("" : "+v"(right[i]));
    }
  }
};

// How far a node is above the last level.
template <uint32_t kLevels, uint32_t kNode>
constexpr uint32_t kHeight = kLevels - static_cast<uint32_t>(std::bit_width(kNode));

// The exits below a node, counted from the first one of its subtree; subtrees of at most kOwnLevels
// levels count from the first exit of the subtree of kOwnLevels levels that they are in.
template <uint32_t kLevels, uint32_t kNode, uint32_t kCount>
TRITONTS_AVX512_INLINE Vectors<kCount> Exits(const TopNode* top, const uint16_t* ranks,
                                             const Constants& constants) {
  const TopNode& node = top[kNode];
  const uint16_t* const own = ranks + size_t{node.column} * kBlockRows;
  const __m512i rank = _mm512_set1_epi32(static_cast<int>(node.rank));
  __mmask32 left[kCount];
#pragma GCC unroll 2
  for (uint32_t i = 0; i < kCount; i++) {
    left[i] = _mm512_cmpgt_epi16_mask(rank, _mm512_loadu_si512(own + i * kLanes));
  }
  Vectors<kCount> exits;
  constexpr uint32_t kOwn = kHeight<kLevels, kNode>;
  if constexpr (kOwn == 0) {
    // The first node of the last level is 1 << (kLevels - 1), a multiple of the number of constants
    // unless the tree has fewer levels.
    constexpr uint32_t kAt = (kNode - (1U << (kLevels - 1))) % (1U << (kOwnLevels - 1));
    const __m512i right = constants.right[kAt];
#pragma GCC unroll 2
    for (uint32_t i = 0; i < kCount; i++) {
      exits.of[i] = _mm512_mask_add_epi16(right, left[i], right, constants.minus_one);
    }
  } else {
    const auto of_left = Exits<kLevels, 2 * kNode, kCount>(top, ranks, constants);
    auto of_right = Exits<kLevels, 2 * kNode + 1, kCount>(top, ranks, constants);
#pragma GCC unroll 2
    for (uint32_t i = 0; i < kCount; i++) {
      if constexpr (kOwn >= kOwnLevels) {
        of_right.of[i] = _mm512_add_epi16(of_right.of[i], _mm512_set1_epi16(1 << kOwn));
      }
      exits.of[i] = _mm512_mask_blend_epi16(left[i], of_right.of[i], of_left.of[i]);
    }
  }
  return exits;
}

// Calls `use` with the exits of each kLanes rows.
template <uint32_t kLevels, typename Use>
TRITONTS_AVX512_INLINE void EachExits(const TopNode* top, const uint16_t* ranks, uint32_t rows,
                                      const Use& use) {
  [[maybe_unused]] const Constants constants;
  if constexpr (kLevels == 0) {
    for (uint32_t row = 0; row < rows; row += kLanes) use(row, _mm512_setzero_si512());
  } else if (rows <= kLanes) {
    use(0, Exits<kLevels, 1, 1>(top, ranks, constants).of[0]);
  } else {
    const auto exits = Exits<kLevels, 1, 2>(top, ranks, constants);
    use(0, exits.of[0]);
    use(kLanes, exits.of[1]);
  }
}

struct StoreExits {
  uint16_t* exits;
  TRITONTS_AVX512_INLINE void operator()(uint32_t row, __m512i found) const {
    _mm512_storeu_si512(exits + row, found);
  }
};

template <uint32_t kLevels>
struct AddLeaves {
  static constexpr uint32_t kWide = 16;
  static constexpr uint32_t kTables = std::max(1U, (1U << kLevels) / kWide);
  __m512 tables[kTables];
  float* sums;

  TRITONTS_AVX512_INLINE AddLeaves(const float* leaves, float* to) : sums(to) {
    if constexpr (1U << kLevels < kWide) {
      tables[0] = _mm512_maskz_loadu_ps((1U << (1U << kLevels)) - 1, leaves);
    } else {
#pragma GCC unroll 4
      for (uint32_t i = 0; i < kTables; i++) tables[i] = _mm512_loadu_ps(leaves + i * kWide);
    }
  }
  TRITONTS_AVX512_INLINE __m512 Choose(__m512i at) const {
    if constexpr (kTables == 1) {
      return _mm512_maskz_permutexvar_ps(0xffff, at, tables[0]);
    } else if constexpr (kTables == 2) {
      return _mm512_permutex2var_ps(tables[0], at, tables[1]);
    } else {
      const __m512 low = _mm512_permutex2var_ps(tables[0], at, tables[1]);
      const __m512 high = _mm512_permutex2var_ps(tables[2], at, tables[3]);
      const __mmask16 above = _mm512_test_epi32_mask(at, _mm512_set1_epi32(2 * kWide));
      return _mm512_mask_blend_ps(above, low, high);
    }
  }
  TRITONTS_AVX512_INLINE void Add(uint32_t row, __m256i exits) const {
    const __m512 found = Choose(_mm512_maskz_cvtepu16_epi32(0xffff, exits));
    _mm512_storeu_ps(sums + row, _mm512_add_ps(_mm512_loadu_ps(sums + row), found));
  }
  TRITONTS_AVX512_INLINE void operator()(uint32_t row, __m512i exits) const {
    Add(row, _mm512_maskz_extracti64x4_epi64(0xff, exits, 0));
    Add(row + kWide, _mm512_maskz_extracti64x4_epi64(0xff, exits, 1));
  }
};

template <uint32_t kLevels>
TRITONTS_AVX512 void FindExitsOf(const TopNode* top, const uint16_t* ranks, uint32_t rows,
                                 uint16_t* exits) {
  EachExits<kLevels>(top, ranks, rows, StoreExits{exits});
}

template <uint32_t kLevels>
TRITONTS_AVX512 void AddExitsOf(const TopNode* top, const float* leaves, const uint16_t* ranks,
                                uint32_t rows, float* sums) {
  EachExits<kLevels>(top, ranks, rows, AddLeaves<kLevels>(leaves, sums));
}

void FindExits(const TopNode* top, uint32_t levels, const uint16_t* ranks, uint32_t rows,
               uint16_t* exits) {
  static constexpr decltype(&FindExitsOf<0>) kOfLevels[] = {
      FindExitsOf<0>, FindExitsOf<1>, FindExitsOf<2>, FindExitsOf<3>,
      FindExitsOf<4>, FindExitsOf<5>, FindExitsOf<6>};
  static_assert(std::size(kOfLevels) == kTopLevels + 1);
  kOfLevels[levels](top, ranks, rows, exits);
}

void AddExits(const TopNode* top, uint32_t levels, const float* leaves, const uint16_t* ranks,
              uint32_t rows, float* sums) {
  static constexpr decltype(&AddExitsOf<0>) kOfLevels[] = {
      AddExitsOf<0>, AddExitsOf<1>, AddExitsOf<2>, AddExitsOf<3>,
      AddExitsOf<4>, AddExitsOf<5>, AddExitsOf<6>};
  static_assert(std::size(kOfLevels) == kTopLevels + 1);
  kOfLevels[levels](top, leaves, ranks, rows, sums);
}

}  // namespace

}  // namespace avx512

const Kernel* Avx512Kernel() {
  static constexpr Kernel kKernel{"avx512", avx512::FindExits, avx512::AddExits};
  const bool supported = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                         __builtin_cpu_supports("avx512vl");
  return supported ? &kKernel : nullptr;
}

}  // namespace tritonts::fil

#else

namespace tritonts::fil {

const Kernel* Avx512Kernel() {
  return nullptr;
}

}  // namespace tritonts::fil

#endif
