#include "external_memory.h"

#include "engine/base/datatype.h"

namespace tritonts {

napi_value ExternalMemory(napi_env env, void* data, size_t size, napi_finalize release,
                          void* hint) {
  if (size > kMostTensorBytes) {
    release(env, data, hint);
    return nullptr;
  }
  napi_value value = nullptr;
  const napi_status status =
      napi_create_external_arraybuffer(env, data, size, release, hint, &value);
  if (status == napi_ok) return value;
  // If Node tried and failed (too long, no memory), it calls the finalizer itself and leaves an
  // exception. If it did not try, it does neither.
  bool threw = false;
  if (status == napi_generic_failure) {
    napi_value error = nullptr;
    if (napi_is_exception_pending(env, &threw) == napi_ok && threw)
      napi_get_and_clear_last_exception(env, &error);
    return nullptr;
  }
  release(env, data, hint);
  return nullptr;
}

}  // namespace tritonts
