// Named values, such as the labels of a metric and what a model is loaded with. Immutable.
//
// Ownership: the caller's, until TRITONSERVER_ParameterDelete. The bytes of
// TRITONSERVER_ParameterBytesNew stay the caller's, and are read in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "plugins/abi/types.h"

namespace tritonts::plugins {

struct BorrowedBytes {
  const void* data = nullptr;
  uint64_t size = 0;
};

}  // namespace tritonts::plugins

struct TRITONSERVER_Parameter {
  std::string name;
  // In the order of TRITONSERVER_ParameterType.
  std::variant<std::string, int64_t, bool, double, tritonts::plugins::BorrowedBytes> value;
};
