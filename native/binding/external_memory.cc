#include "external_memory.h"

#include <new>

#include "engine/base/datatype.h"

namespace tritonts {

namespace {

struct Lent {
  void (*release)(void* hint);
  void* hint;
};

void Return(napi_env, void*, void* lent) {
  const Lent known = *static_cast<Lent*>(lent);
  delete static_cast<Lent*>(lent);
  known.release(known.hint);
}

}  // namespace

napi_value ExternalMemory(napi_env env, void* data, size_t size, void (*release)(void* hint),
                          void* hint) {
  auto* const lent = size <= kMostTensorBytes ? new (std::nothrow) Lent{release, hint} : nullptr;
  if (!lent) {
    release(hint);
    return nullptr;
  }
  napi_value value = nullptr;
  const napi_status status =
      napi_create_external_arraybuffer(env, data, size, Return, lent, &value);
  if (status == napi_ok) return value;
  // Node calls the finalizer itself where it has tried and failed (too long, no memory), and that
  // leaves an error. It does not where it has not begun.
  bool threw = false;
  if (status == napi_generic_failure) {
    napi_value error = nullptr;
    if (napi_is_exception_pending(env, &threw) == napi_ok && threw)
      napi_get_and_clear_last_exception(env, &error);
    return nullptr;
  }
  Return(env, nullptr, lent);
  return nullptr;
}

}  // namespace tritonts
