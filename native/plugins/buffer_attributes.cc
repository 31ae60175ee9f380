#include "plugins/buffer_attributes.h"

#include "plugins/error.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

TRITONSERVER_Error* TRITONSERVER_BufferAttributesNew(
    TRITONSERVER_BufferAttributes** buffer_attributes) noexcept {
  return Guard([&] {
    *buffer_attributes = new TRITONSERVER_BufferAttributes();
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesDelete(
    TRITONSERVER_BufferAttributes* buffer_attributes) noexcept {
  delete buffer_attributes;
  return nullptr;
}

// The functions that set or read a field.
#define TRITONTS_FIELD(title, field, type)                                      \
  TRITONSERVER_Error* TRITONSERVER_BufferAttributesSet##title(                  \
      TRITONSERVER_BufferAttributes* buffer_attributes, type field) noexcept {  \
    buffer_attributes->field = field;                                           \
    return nullptr;                                                             \
  }                                                                             \
  TRITONSERVER_Error* TRITONSERVER_BufferAttributes##title(                     \
      TRITONSERVER_BufferAttributes* buffer_attributes, type* field) noexcept { \
    *field = buffer_attributes->field;                                          \
    return nullptr;                                                             \
  }
TRITONTS_FIELD(MemoryTypeId, memory_type_id, int64_t)
TRITONTS_FIELD(MemoryType, memory_type, TRITONSERVER_MemoryType)
TRITONTS_FIELD(CudaIpcHandle, cuda_ipc_handle, void*)
TRITONTS_FIELD(ByteSize, byte_size, size_t)
#undef TRITONTS_FIELD

}  // namespace tritonts::plugins
