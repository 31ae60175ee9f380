// Bytes that JavaScript handed over for a load: copied once, into memory of the engine's own, which
// loader threads read although the environment may end meanwhile. JS thread only.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "setup.h"
#include "wrapped.h"

namespace tritonts {

class BytesWrap : public Wrapped<BytesWrap> {
 public:
  static Napi::Function Define(Napi::Env env);
  // A copy of a typed array's bytes. Undefined for anything else.
  static Napi::Value Create(Napi::Env env, const Napi::Value& value);
  // The bytes of what Create returned; null for anything else, and when they were released.
  static std::shared_ptr<const std::string> BytesOf(const Napi::Value& value);

  explicit BytesWrap(std::shared_ptr<const std::string> bytes) : bytes_(std::move(bytes)) {}
  // V8 has collected the JavaScript side.
  void Finalize(napi_env env) { Drop(env); }

 private:
  Napi::Value Size(const Napi::CallbackInfo& info);
  Napi::Value Copy(const Napi::CallbackInfo& info);
  void Release(const Napi::CallbackInfo& info);
  // Lets go of the bytes; loads that use them have them still.
  void Drop(napi_env env);

  std::shared_ptr<const std::string> bytes_;
};

}  // namespace tritonts
