// How a node decides on a value. Any thread may call these functions.
#pragma once

#include <cmath>
#include <cstdint>

namespace tritonts::fil {

// LightGBM's zero: values of at most this, of either sign.
constexpr float kMostZero = 1e-35F;

inline bool IsMissing(float value, bool zero_is_missing) {
  return std::isnan(value) || (zero_is_missing && std::fabs(value) <= kMostZero);
}

// Whether the value is a category of a set: bit k of `words` words is category k.
inline bool InSet(const uint32_t* set, uint32_t words, bool truncates_negatives, float value) {
  // Values of (-1, 0) become 0 only here; -0.0 is 0 anyhow.
  if (value < 0 && !(truncates_negatives && value > -1)) return false;
  // Greater ones do not fit the integer.
  if (value >= 4294967296.0F) return false;
  const auto category = value < 0 ? 0U : static_cast<uint32_t>(value);
  return category / 32 < words && (set[category / 32] >> (category % 32) & 1) != 0;
}

}  // namespace tritonts::fil
