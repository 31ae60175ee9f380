// OpenVINO's C interface, declared here because its headers are not used: the types, and the
// functions that this backend calls. They are those of 2023.0 and newer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../common/handle.h"

namespace tritonts::openvino {

// Objects of the library. Their content is its own.
struct OvCore;
struct OvModel;
struct OvPort;
struct OvCompiled;
struct OvRequest;
struct OvTensor;

struct OvShape {
  int64_t rank;
  int64_t* dims;
};
// A dim is static if both ends are equal. A dynamic dim without bounds is {0, -1}.
struct OvDimension {
  int64_t min;
  int64_t max;
  bool is_static() const { return min == max && max >= 0; }
};
struct OvPartialShape {
  OvDimension rank;
  OvDimension* dims;
};
struct OvVersion {
  const char* number;
  const char* description;
};
struct OvDevices {
  char** names;
  size_t size;
};
struct OvCallback {
  void (*function)(void* argument);
  void* argument;
};
struct OvProperty {
  const char* key;
  const void* value;
};

// Results of functions.
constexpr int kOvOk = 0;
constexpr int kOvCancelled = -13;
constexpr int kOvInvalidParameter = -14;

// The functions by their names in the library, without "ov_". Each returns 0, or the number of an
// error, unless it returns nothing.
//
// OF(name, result, parameters): every supported version has it. MAYBE: newer versions have it.
#define TRITONTS_OPENVINO_FUNCTIONS(OF, MAYBE)                                                 \
  OF(get_openvino_version, int, (OvVersion*))                                                  \
  OF(version_free, void, (OvVersion*))                                                         \
  OF(get_error_info, const char*, (int))                                                       \
  OF(get_last_err_msg, const char*, ())                                                        \
  OF(free, void, (const char*))                                                                \
  OF(core_create, int, (OvCore**))                                                             \
  OF(core_free, void, (OvCore*))                                                               \
  OF(core_get_available_devices, int, (const OvCore*, OvDevices*))                             \
  OF(available_devices_free, void, (OvDevices*))                                               \
  MAYBE(core_add_extension, int, (const OvCore*, const char*))                                 \
  OF(core_set_property, int, (const OvCore*, const char*, ...))                                \
  OF(core_read_model, int, (const OvCore*, const char*, const char*, OvModel**))               \
  OF(core_read_model_from_memory_buffer, int,                                                  \
     (const OvCore*, const char*, size_t, const OvTensor*, OvModel**))                         \
  OF(core_compile_model, int,                                                                  \
     (const OvCore*, const OvModel*, const char*, size_t, OvCompiled**, ...))                  \
  MAYBE(core_compile_model_props, int,                                                         \
        (const OvCore*, const OvModel*, const char*, size_t, const OvProperty*, OvCompiled**)) \
  OF(model_free, void, (OvModel*))                                                             \
  OF(model_inputs_size, int, (const OvModel*, size_t*))                                        \
  OF(model_outputs_size, int, (const OvModel*, size_t*))                                       \
  OF(model_const_input_by_index, int, (const OvModel*, size_t, OvPort**))                      \
  OF(model_const_output_by_index, int, (const OvModel*, size_t, OvPort**))                     \
  OF(model_const_input_by_name, int, (const OvModel*, const char*, OvPort**))                  \
  OF(model_const_output_by_name, int, (const OvModel*, const char*, OvPort**))                 \
  OF(model_reshape, int, (const OvModel*, const char**, const OvPartialShape*, size_t))        \
  OF(port_get_any_name, int, (const OvPort*, char**))                                          \
  OF(port_get_partial_shape, int, (const OvPort*, OvPartialShape*))                            \
  OF(port_get_element_type, int, (const OvPort*, int*))                                        \
  OF(output_const_port_free, void, (OvPort*))                                                  \
  OF(partial_shape_free, void, (OvPartialShape*))                                              \
  OF(compiled_model_free, void, (OvCompiled*))                                                 \
  OF(compiled_model_create_infer_request, int, (const OvCompiled*, OvRequest**))               \
  OF(compiled_model_get_property, int, (const OvCompiled*, const char*, char**))               \
  OF(infer_request_free, void, (OvRequest*))                                                   \
  OF(infer_request_set_input_tensor_by_index, int, (OvRequest*, size_t, const OvTensor*))      \
  OF(infer_request_set_output_tensor_by_index, int, (OvRequest*, size_t, const OvTensor*))     \
  OF(infer_request_get_output_tensor_by_index, int, (const OvRequest*, size_t, OvTensor**))    \
  OF(infer_request_infer, int, (OvRequest*))                                                   \
  OF(infer_request_start_async, int, (OvRequest*))                                             \
  OF(infer_request_wait, int, (OvRequest*))                                                    \
  OF(infer_request_cancel, int, (OvRequest*))                                                  \
  OF(infer_request_set_callback, int, (OvRequest*, const OvCallback*))                         \
  OF(tensor_create_from_host_ptr, int, (int, OvShape, void*, OvTensor**))                      \
  OF(tensor_get_shape, int, (const OvTensor*, OvShape*))                                       \
  OF(tensor_get_byte_size, int, (const OvTensor*, size_t*))                                    \
  OF(tensor_data, int, (const OvTensor*, void**))                                              \
  OF(tensor_free, void, (OvTensor*))                                                           \
  OF(shape_free, int, (OvShape*))                                                              \
  MAYBE(util_set_log_callback, void, (void (*)(const char*)))

struct Table {
#define TRITONTS_OPENVINO_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  TRITONTS_OPENVINO_FUNCTIONS(TRITONTS_OPENVINO_MEMBER, TRITONTS_OPENVINO_MEMBER)
#undef TRITONTS_OPENVINO_MEMBER
};

using Core = Handle<Table, OvCore, &Table::core_free>;
using Network = Handle<Table, OvModel, &Table::model_free>;
using Port = Handle<Table, OvPort, &Table::output_const_port_free>;
using Compiled = Handle<Table, OvCompiled, &Table::compiled_model_free>;
using InferRequest = Handle<Table, OvRequest, &Table::infer_request_free>;
using Tensor = Handle<Table, OvTensor, &Table::tensor_free>;

}  // namespace tritonts::openvino
