#include "plugins/buffer_attributes.h"

#include "plugins/error.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

TRITONSERVER_Error* TRITONSERVER_BufferAttributesNew(
    TRITONSERVER_BufferAttributes** buffer_attributes) noexcept {
  return Guard([&] {
    *buffer_attributes = new TRITONSERVER_BufferAttributes();
    (*buffer_attributes)->is_callers = true;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesDelete(
    TRITONSERVER_BufferAttributes* buffer_attributes) noexcept {
  return Guard([&]() -> Status {
    if (buffer_attributes && !buffer_attributes->is_callers) {
      return Status::InvalidArg(
          "TRITONSERVER_BufferAttributesDelete: the attributes belong to a buffer of the server");
    }
    delete buffer_attributes;
    return Status::Ok();
  });
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
