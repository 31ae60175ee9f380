// Bytes that JavaScript passes for a load. They are copied once into the engine's memory, because
// the environment may end while loader threads read them. JS thread only.
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
  // Copies a typed array's bytes. Returns undefined for other values.
  static Napi::Value Create(Napi::Env env, const Napi::Value& value);
  // Returns the bytes of a value made by Create. Null for other values, or if they were released.
  static std::shared_ptr<const std::string> BytesOf(const Napi::Value& value);

  explicit BytesWrap(std::shared_ptr<const std::string> bytes) : bytes_(std::move(bytes)) {}
  // V8 has collected the JavaScript object.
  void Finalize(napi_env env) { Drop(env); }

 private:
  Napi::Value Size(const Napi::CallbackInfo& info);
  Napi::Value Copy(const Napi::CallbackInfo& info);
  void Release(const Napi::CallbackInfo& info);
  // Releases the bytes; loads that use them keep them alive.
  void Drop(napi_env env);

  std::shared_ptr<const std::string> bytes_;
};

}  // namespace tritonts
