// Which TensorRT a library is, and how its objects are called.
#pragma once

#include <cstdint>
#include <string>

#include "../../platform/dynamic_library.h"
#include "engine/base/status.h"
#include "table.h"

namespace tritonts::tensorrt {

struct Version {
  int32_t number = 0;  // as the library tells it, and wants it told
  bool rtx = false;    // TensorRT for RTX, which counts its versions anew
  int32_t major = 0;
  int32_t minor = 0;
  std::string text;  // "10.16.1", "for RTX 1.7.1"
  Table table{};
  bool compatible_only = false;  // a lean or dispatch runtime: it reads version-compatible plans
  bool named_objects = false;    // a caller's objects tell what they are, as 11 wants it
};

// The version of an open library. UNAVAILABLE: it is none of TensorRT. UNSUPPORTED: a version whose
// functions are not known.
StatusOr<Version> VersionOf(const platform::DynamicLibrary& library, const std::string& file);

}  // namespace tritonts::tensorrt
