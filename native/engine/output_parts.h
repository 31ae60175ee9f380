// Cuts an output that was declared for a request of several parts (request.h).
#pragma once

#include <cstdint>

#include "response_sink.h"

namespace tritonts {

// Leaves of `tensor`, whose first dim is the rows of so many parts, what is part number `part`.
// False where its strings are not what their lengths say; then it is as it was. Any thread.
bool CutPart(uint32_t rows_of_part, uint32_t parts, uint32_t part, OutputTensor* tensor);

}  // namespace tritonts
