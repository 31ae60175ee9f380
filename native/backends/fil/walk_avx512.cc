// The kernel for x86 processors with AVX-512 (BW, VL): 32 ranks a register. The leaves of a tree of
// up to six levels fit four registers, so they are chosen without reading memory.
#include "walk.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <algorithm>
#include <iterator>

// As in walk_avx2.cc.
#define TRITONTS_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx2")))
#define TRITONTS_AVX512_INLINE \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx2"), always_inline)) inline

namespace tritonts::fil {

namespace {

constexpr uint32_t kLanes = 32;

// Exits of kLanes or 2 * kLanes rows. Two registers share what is read of the nodes.
template <uint32_t kCount>
struct Vectors {
  __m512i of[kCount];
};

template <uint32_t kLevels, uint32_t kNode, uint32_t kCount>
TRITONTS_AVX512_INLINE Vectors<kCount> Exits(const TopNode* top, const uint16_t* ranks) {
  constexpr uint32_t kPast = 1U << kLevels;
  const TopNode& node = top[kNode];
  const uint16_t* const own = ranks + size_t{node.column} * kBlockRows;
  const __m512i rank = _mm512_set1_epi32(static_cast<int>(node.rank));
  __mmask32 left[kCount];
#pragma GCC unroll 2
  for (uint32_t i = 0; i < kCount; i++) {
    left[i] = _mm512_cmpgt_epi16_mask(rank, _mm512_loadu_si512(own + i * kLanes));
  }
  Vectors<kCount> exits;
  if constexpr (2 * kNode >= kPast) {
    const __m512i right = _mm512_set1_epi16(2 * kNode + 1 - kPast);
    const __m512i minus = _mm512_set1_epi16(-1);
#pragma GCC unroll 2
    for (uint32_t i = 0; i < kCount; i++) {
      exits.of[i] = _mm512_mask_add_epi16(right, left[i], right, minus);
    }
  } else {
    const auto of_left = Exits<kLevels, 2 * kNode, kCount>(top, ranks);
    const auto of_right = Exits<kLevels, 2 * kNode + 1, kCount>(top, ranks);
#pragma GCC unroll 2
    for (uint32_t i = 0; i < kCount; i++) {
      exits.of[i] = _mm512_mask_blend_epi16(left[i], of_right.of[i], of_left.of[i]);
    }
  }
  return exits;
}

// Calls `use` with the exits of each kLanes rows.
template <uint32_t kLevels, typename Use>
TRITONTS_AVX512_INLINE void EachExits(const TopNode* top, const uint16_t* ranks, uint32_t rows,
                                      const Use& use) {
  if constexpr (kLevels == 0) {
    for (uint32_t row = 0; row < rows; row += kLanes) use(row, _mm512_setzero_si512());
  } else if (rows <= kLanes) {
    use(0, Exits<kLevels, 1, 1>(top, ranks).of[0]);
  } else {
    const auto exits = Exits<kLevels, 1, 2>(top, ranks);
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

const Kernel* Avx512Kernel() {
  static constexpr Kernel kKernel{"avx512", FindExits, AddExits, RankBlock};
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
