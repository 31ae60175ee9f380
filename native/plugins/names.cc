// Versions, and the names of what enums mean.
#include <cstring>
#include <iterator>

#include "engine/base/datatype.h"
#include "plugins/error.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

namespace {

// The versions of Triton's interfaces that these functions have. A plug-in refuses a server of
// another major version, and one of a lower minor version than its own.
TRITONSERVER_Error* Version(uint32_t* major, uint32_t* minor, uint32_t own_major,
                            uint32_t own_minor) noexcept {
  *major = own_major;
  *minor = own_minor;
  return nullptr;
}

template <size_t n>
const char* NameOf(const char* const (&names)[n], int value) noexcept {
  return value >= 0 && static_cast<size_t>(value) < n ? names[value] : "<invalid>";
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_ApiVersion(uint32_t* major, uint32_t* minor) noexcept {
  return Version(major, minor, 1, 34);
}

TRITONSERVER_Error* TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor) noexcept {
  return Version(major, minor, 1, 19);
}

TRITONSERVER_Error* TRITONCACHE_ApiVersion(uint32_t* major, uint32_t* minor) noexcept {
  return Version(major, minor, 0, 1);
}

TRITONSERVER_Error* TRITONREPOAGENT_ApiVersion(uint32_t* major, uint32_t* minor) noexcept {
  return Version(major, minor, 0, 1);
}

// The engine's datatypes have Triton's numbers.
static_assert(static_cast<int>(DataType::kBf16) == TRITONSERVER_TYPE_BF16);
static_assert(static_cast<int>(DataType::kBytes) == TRITONSERVER_TYPE_BYTES);

const char* TRITONSERVER_DataTypeString(TRITONSERVER_DataType datatype) noexcept {
  const bool is_known = datatype > TRITONSERVER_TYPE_INVALID && datatype <= TRITONSERVER_TYPE_BF16;
  return is_known ? Name(static_cast<DataType>(datatype)) : "<invalid>";
}

TRITONSERVER_DataType TRITONSERVER_StringToDataType(const char* dtype) noexcept {
  for (int type = TRITONSERVER_TYPE_BOOL; dtype && type <= TRITONSERVER_TYPE_BF16; type++) {
    if (std::strcmp(dtype, Name(static_cast<DataType>(type))) == 0) {
      return static_cast<TRITONSERVER_DataType>(type);
    }
  }
  return TRITONSERVER_TYPE_INVALID;
}

uint32_t TRITONSERVER_DataTypeByteSize(TRITONSERVER_DataType datatype) noexcept {
  return static_cast<uint32_t>(ByteSize(static_cast<DataType>(datatype)));
}

const char* TRITONSERVER_MemoryTypeString(TRITONSERVER_MemoryType memtype) noexcept {
  static constexpr const char* names[] = {"CPU", "CPU_PINNED", "GPU"};
  return NameOf(names, memtype);
}

const char* TRITONSERVER_ParameterTypeString(TRITONSERVER_ParameterType paramtype) noexcept {
  static constexpr const char* names[] = {"STRING", "INT", "BOOL", "DOUBLE", "BYTES"};
  return NameOf(names, paramtype);
}

const char* TRITONSERVER_InstanceGroupKindString(TRITONSERVER_InstanceGroupKind kind) noexcept {
  static constexpr const char* names[] = {"AUTO", "CPU", "GPU", "MODEL"};
  return NameOf(names, kind);
}

const char* TRITONSERVER_InferenceTraceLevelString(
    TRITONSERVER_InferenceTraceLevel level) noexcept {
  switch (level) {
    case TRITONSERVER_TRACE_LEVEL_DISABLED:
      return "DISABLED";
    case TRITONSERVER_TRACE_LEVEL_MIN:
      return "MIN";
    case TRITONSERVER_TRACE_LEVEL_MAX:
      return "MAX";
    case TRITONSERVER_TRACE_LEVEL_TIMESTAMPS:
      return "TIMESTAMPS";
    case TRITONSERVER_TRACE_LEVEL_TENSORS:
      return "TENSORS";
  }
  return "<unknown>";
}

const char* TRITONSERVER_InferenceTraceActivityString(
    TRITONSERVER_InferenceTraceActivity activity) noexcept {
  static constexpr const char* names[] = {
      "REQUEST_START",        "QUEUE_START",           "COMPUTE_START",  "COMPUTE_INPUT_END",
      "COMPUTE_OUTPUT_START", "COMPUTE_END",           "REQUEST_END",    "TENSOR_QUEUE_INPUT",
      "TENSOR_BACKEND_INPUT", "TENSOR_BACKEND_OUTPUT", "CUSTOM_ACTIVITY"};
  return NameOf(names, activity);
}

}  // namespace tritonts::plugins
