// Turns the margins of a row into its values. In float, the operations are those of XGBoost, in the
// same order, so that the bits are the same. Any thread may call these functions.
#pragma once

#include <cstddef>

#include "compiled_forest.h"

namespace tritonts::fil {

// Replaces `count` margins by the transformed values. Returns how many values there are.
size_t TransformMargins(const CompiledForest& forest, float* margins, size_t count);
size_t TransformMargins(const CompiledForest& forest, double* margins, size_t count);

}  // namespace tritonts::fil
