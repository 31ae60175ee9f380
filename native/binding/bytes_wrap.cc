#include "bytes_wrap.h"

#include <utility>

#include "addon.h"

namespace tritonts {

namespace {

// Returns the bytes of a typed array; null data for other values.
std::pair<const char*, size_t> ShownBy(const Napi::Value& value) {
  bool is_typed_array = false;
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  if (napi_is_typedarray(value.Env(), value, &is_typed_array) != napi_ok || !is_typed_array ||
      napi_get_typedarray_info(value.Env(), value, &type, &length, &data, nullptr, nullptr) !=
          napi_ok ||
      type != napi_uint8_array) {
    return {nullptr, 0};
  }
  return {data ? static_cast<const char*>(data) : "", length};
}

}  // namespace

Napi::Function BytesWrap::Define(Napi::Env env) {
  static constexpr Method kMethods[] = {
      {"size", &BytesWrap::Size},
      {"copy", &BytesWrap::Copy},
      {"release", &BytesWrap::Release},
  };
  return DefineWrapped(env, "NativeBytes", kMethods);
}

Napi::Value BytesWrap::Create(Napi::Env env, const Napi::Value& value) {
  const auto [data, size] = ShownBy(value);
  if (!data) return env.Undefined();
  const Napi::Object object =
      Wrap(DataOf(env).bytes_class,
           std::make_unique<BytesWrap>(std::make_shared<const std::string>(data, size)));
  if (object.IsEmpty()) return env.Undefined();  // the environment is ending
  // V8 does not count these bytes by itself. If the call fails, V8 only collects later.
  int64_t total = 0;
  napi_adjust_external_memory(env, static_cast<int64_t>(size), &total);
  return object;
}

std::shared_ptr<const std::string> BytesWrap::BytesOf(const Napi::Value& value) {
  if (!value.IsObject()) return nullptr;
  const Napi::Object object = value.As<Napi::Object>();
  bool is_ours = false;
  if (napi_instanceof(value.Env(), object, DataOf(value.Env()).bytes_class.Value(), &is_ours) !=
          napi_ok ||
      !is_ours) {
    return nullptr;
  }
  const BytesWrap* wrap = Unwrap(object);
  return wrap ? wrap->bytes_ : nullptr;
}

void BytesWrap::Drop(napi_env env) {
  if (!bytes_) return;
  int64_t total = 0;
  napi_adjust_external_memory(env, -static_cast<int64_t>(bytes_->size()), &total);
  bytes_ = nullptr;
}

Napi::Value BytesWrap::Size(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), bytes_ ? static_cast<double>(bytes_->size()) : 0);
}

Napi::Value BytesWrap::Copy(const Napi::CallbackInfo& info) {
  if (!bytes_) return Napi::Buffer<char>::New(info.Env(), 0);
  return Napi::Buffer<char>::Copy(info.Env(), bytes_->data(), bytes_->size());
}

void BytesWrap::Release(const Napi::CallbackInfo& info) {
  Drop(info.Env());
}

}  // namespace tritonts
