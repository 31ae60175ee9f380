// The TensorRT version of a library, and how its objects are called.
#pragma once

#include <cstdint>
#include <string>

#include "../../platform/dynamic_library.h"
#include "engine/base/status.h"
#include "table.h"

namespace tritonts::tensorrt {

struct Version {
  int32_t number = 0;  // as the library reports it and expects it
  bool rtx = false;    // TensorRT for RTX, which has its own version numbers
  int32_t major = 0;
  int32_t minor = 0;
  std::string text;  // "10.16.1", "for RTX 1.7.1"
  Table table{};
  // a lean or dispatch runtime: it reads only version-compatible plans
  bool compatible_only = false;
  bool named_objects = false;  // callers' objects report their interface's name, as 11 requires
};

// Determines the version of an open library. UNAVAILABLE: it is not TensorRT. UNSUPPORTED: the
// version's function table is not known.
StatusOr<Version> VersionOf(const platform::DynamicLibrary& library, const std::string& file);

}  // namespace tritonts::tensorrt
