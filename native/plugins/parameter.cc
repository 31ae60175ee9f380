#include "plugins/parameter.h"

#include <new>

#include "plugins/functions.h"

namespace tritonts::plugins {

TRITONSERVER_Parameter* TRITONSERVER_ParameterNew(const char* name, TRITONSERVER_ParameterType type,
                                                  const void* value) noexcept {
  if (!name || !value) return nullptr;
  try {
    switch (type) {
      case TRITONSERVER_PARAMETER_STRING:
        return new TRITONSERVER_Parameter{name, std::string(static_cast<const char*>(value))};
      case TRITONSERVER_PARAMETER_INT:
        return new TRITONSERVER_Parameter{name, *static_cast<const int64_t*>(value)};
      case TRITONSERVER_PARAMETER_BOOL:
        return new TRITONSERVER_Parameter{name, *static_cast<const bool*>(value)};
      case TRITONSERVER_PARAMETER_DOUBLE:
        return new TRITONSERVER_Parameter{name, *static_cast<const double*>(value)};
      case TRITONSERVER_PARAMETER_BYTES:
        break;  // Triton has a function of its own for these, and returns null here.
    }
  } catch (const std::bad_alloc&) {
  }
  return nullptr;
}

TRITONSERVER_Parameter* TRITONSERVER_ParameterBytesNew(const char* name, const void* byte_ptr,
                                                       uint64_t size) noexcept {
  if (!name || (!byte_ptr && size > 0)) return nullptr;
  try {
    return new TRITONSERVER_Parameter{name, BorrowedBytes{byte_ptr, size}};
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void TRITONSERVER_ParameterDelete(TRITONSERVER_Parameter* parameter) noexcept {
  delete parameter;
}

}  // namespace tritonts::plugins
