// Which argument of forward an input of the configuration is, and which value of its result an
// output is. The rules are Triton's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/request/model_io.h"

namespace tritonts::pytorch {

// The number after the first "__" of a name; none there is 0. nullopt: the name has no "__", or
// something else than digits after it.
std::optional<uint32_t> IndexIn(std::string_view name);

// The argument of each input, by the order of the inputs: all names are arguments of forward, or
// all have an index, or the order of the configuration counts. INVALID_ARG: an index is too high,
// or two inputs have the same argument.
StatusOr<std::vector<uint32_t>> ArgumentsOf(const std::vector<TensorSpec>& inputs,
                                            const std::vector<std::string>& arguments);

// The value of each output: all names have an index, or the order of the configuration counts.
std::vector<uint32_t> ValuesOf(const std::vector<TensorSpec>& outputs);

}  // namespace tritonts::pytorch
