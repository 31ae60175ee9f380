// The addon's functions as JavaScript calls them: want of memory becomes an error there.
//
// Node's frames know no C++ exceptions: one that crosses them ends the process. So whatever
// JavaScript calls goes through Guarded. std::bad_alloc, which is all that the engine lets out on
// purpose, becomes the error of AddonData::no_memory; any other exception is a fault of this
// package, and becomes an error with its text. JS thread only.
#pragma once

#include <exception>
#include <new>
#include <type_traits>

#include "setup.h"

namespace tritonts {

// Throws, in JavaScript, the error for want of memory.
void ThrowNoMemory(Napi::Env env);
// The same with a text. Not where something is thrown already.
void ThrowFault(Napi::Env env, const char* what);

// What `call` returns to JavaScript; nothing, and an error is thrown there, where there is no
// memory.
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
