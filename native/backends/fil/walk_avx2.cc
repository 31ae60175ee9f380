// The kernel for x86 processors with AVX2: 16 ranks a register.
#include "walk.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <iterator>

// Only functions of this kernel may have such instructions. An option of the compiler would also
// concern inline functions of headers, which other processors run.
#define TRITONTS_AVX2 __attribute__((target("avx2")))
#define TRITONTS_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

namespace tritonts::fil {

namespace avx2 {

namespace {

constexpr uint32_t kLanes = 16;

// The exits of kLanes rows below a node.
template <uint32_t kLevels, uint32_t kNode>
TRITONTS_AVX2_INLINE __m256i Exits(const TopNode* top, const uint16_t* ranks) {
  constexpr uint32_t kPast = 1U << kLevels;
  const TopNode& node = top[kNode];
  const auto* const own =
      reinterpret_cast<const __m256i*>(ranks + size_t{node.column} * kBlockRows);
  // -1 in lanes that go left.
  const __m256i left =
      _mm256_cmpgt_epi16(_mm256_set1_epi32(static_cast<int>(node.rank)), _mm256_loadu_si256(own));
  if constexpr (2 * kNode >= kPast) {
    return _mm256_add_epi16(left, _mm256_set1_epi16(2 * kNode + 1 - kPast));
  } else {
    const __m256i of_left = Exits<kLevels, 2 * kNode>(top, ranks);
    const __m256i of_right = Exits<kLevels, 2 * kNode + 1>(top, ranks);
    return _mm256_blendv_epi8(of_right, of_left, left);
  }
}

template <uint32_t kLevels>
TRITONTS_AVX2 void FindExitsOf(const TopNode* top, const uint16_t* ranks, uint32_t rows,
                               uint16_t* exits) {
  for (uint32_t row = 0; row < rows; row += kLanes) {
    __m256i found = _mm256_setzero_si256();
    if constexpr (kLevels > 0) found = Exits<kLevels, 1>(top, ranks + row);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(exits + row), found);
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

}  // namespace avx2

const Kernel* Avx2Kernel() {
  static constexpr Kernel kKernel{"avx2", avx2::FindExits, nullptr};
  return __builtin_cpu_supports("avx2") ? &kKernel : nullptr;
}

}  // namespace tritonts::fil

#else

namespace tritonts::fil {

const Kernel* Avx2Kernel() {
  return nullptr;
}

}  // namespace tritonts::fil

#endif
