// Turns every comparison of a feature with a number into the one that a Forest has.
#pragma once

#include <cstdint>

#include "forest.h"

namespace tritonts::fil {

enum class Comparison : uint8_t { kLess, kLessOrEqual, kGreater, kGreaterOrEqual };

// Makes the node test `value <comparison> threshold`: the child at `yes` is for values that pass.
// Exact for every float value, infinite ones included. The threshold must not be NaN.
void SetComparison(Comparison comparison, double threshold, uint32_t yes, uint32_t no,
                   bool missing_is_yes, Node* node);

}  // namespace tritonts::fil
