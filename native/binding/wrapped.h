// C++ objects owned by JavaScript objects. JS thread only.
//
// Napi::ObjectWrap creates the C++ object in a constructor that Node calls, where a lack of memory
// cannot be reported. Here C++ creates the object first, and then the JavaScript object, whose
// constructor does nothing.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "guard.h"
#include "setup.h"

namespace tritonts {

template <typename T>
class Wrapped {
 public:
  // A method of the JavaScript class; it returns a value or nothing.
  struct Method {
    using Returns = Napi::Value (T::*)(const Napi::CallbackInfo&);
    using Acts = void (T::*)(const Napi::CallbackInfo&);
    constexpr Method(const char* name, Returns call) : name(name), returns(call) {}
    constexpr Method(const char* name, Acts call) : name(name), acts(call) {}

    const char* name;
    Returns returns = nullptr;
    Acts acts = nullptr;
  };

  // Returns the C++ object of a JavaScript object; null if it has none.
  static T* Unwrap(const Napi::Value& object) {
    void* known = nullptr;
    if (napi_unwrap(object.Env(), object, &known) != napi_ok) return nullptr;
    return static_cast<T*>(known);
  }

 protected:
  // Defines the class; empty if the environment cannot. `methods` must live as long as the process.
  static Napi::Function DefineWrapped(Napi::Env env, const char* name,
                                      std::span<const Method> methods) {
    std::vector<napi_property_descriptor> properties;
    for (const Method& method : methods) {
      napi_property_descriptor property{};
      property.utf8name = method.name;
      property.method = Call;
      property.data = const_cast<Method*>(&method);
      property.attributes = napi_default;
      properties.push_back(property);
    }
    napi_value defined = nullptr;
    const napi_callback constructor = [](napi_env, napi_callback_info) -> napi_value {
      return nullptr;
    };
    if (napi_define_class(env, name, NAPI_AUTO_LENGTH, constructor, nullptr, properties.size(),
                          properties.data(), &defined) != napi_ok) {
      return {};
    }
    return {env, defined};
  }

  // Creates the JavaScript object that owns `object`. If the environment is ending, `object` is
  // destroyed and the result is empty.
  static Napi::Object Wrap(const Napi::FunctionReference& known_class, std::unique_ptr<T> object) {
    const Napi::Env env = known_class.Env();
    napi_value made = nullptr;
    if (napi_new_instance(env, known_class.Value(), 0, nullptr, &made) != napi_ok) return {};
    const napi_finalize finalize = [](napi_env ending, void* data, void*) {
      const std::unique_ptr<T> last(static_cast<T*>(data));
      last->Finalize(ending);
    };
    if (napi_wrap(env, made, object.get(), finalize, nullptr, nullptr) != napi_ok) return {};
    (void)object.release();  // now owned by the JavaScript object
    return {env, made};
  }

 private:
  static napi_value Call(napi_env env, napi_callback_info raw) {
    return Guarded(env, [&]() -> napi_value {
      const Napi::CallbackInfo info(env, raw);
      T* self = Unwrap(info.This());
      if (!self) return nullptr;
      const auto* method = static_cast<const Method*>(info.Data());
      if (method->returns) return (self->*method->returns)(info);
      (self->*method->acts)(info);
      return nullptr;
    });
  }
};

}  // namespace tritonts
