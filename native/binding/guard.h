// Wraps the addon's functions for JavaScript: a lack of memory becomes a JavaScript error.
//
// Node's frames do not support C++ exceptions: an exception that crosses them ends the process. So
// every function called by JavaScript goes through Guarded. std::bad_alloc, the only exception that
// the engine throws on purpose, becomes the error of AddonData::no_memory. Any other exception is a
// bug of this package, and becomes an error with its text. JS thread only.
#pragma once

#include <exception>
#include <new>
#include <type_traits>

#include "setup.h"

namespace tritonts {

// Throws the out-of-memory error in JavaScript.
void ThrowNoMemory(Napi::Env env);
// Throws an error with this text in JavaScript. No exception may be pending.
void ThrowFault(Napi::Env env, const char* what);

// Returns what `call` returns. Without memory, throws an error in JavaScript and returns null.
template <typename Call>
napi_value Guarded(napi_env env, const Call& call) {
  try {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
    } else {
      return call();
    }
  } catch (const std::bad_alloc&) {
    ThrowNoMemory(env);
  } catch (const std::exception& fault) {
    ThrowFault(env, fault.what());
  }
  return nullptr;
}

// Adds a function to the addon's exports: `call(info)` returns a value or nothing.
template <auto kCall>
void Export(Napi::Env env, Napi::Object exports, const char* name) {
  napi_value function = nullptr;
  const napi_callback callback = [](napi_env caller, napi_callback_info raw) -> napi_value {
    return Guarded(caller, [&] { return kCall(Napi::CallbackInfo(caller, raw)); });
  };
  if (napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function) == napi_ok) {
    exports.Set(name, Napi::Value(env, function));
  }
}

}  // namespace tritonts
