// Asynchronous results for JavaScript. JS thread only; what Then returns may be called on any
// thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>

#include "addon.h"
#include "poster.h"
#include "setup.h"

namespace tritonts {

// An asynchronous result for JavaScript: its function at `info[index]` is called once, later. Until
// then the environment's loop stays alive, unless JavaScript sees to that itself: what may never
// return must not keep the process.
class Awaited {
 public:
  enum class Keeps { kLoop, kNothing };

  Awaited(const Napi::CallbackInfo& info, size_t index, Keeps keeps = Keeps::kLoop)
      : poster_(DataOf(info.Env()).poster), held_(keeps == Keeps::kLoop) {
    *function_ = Napi::Persistent(info[index].As<Napi::Function>());
    if (held_) poster_->Hold();
  }
  // If the engine threw instead of accepting the call, nothing is awaited.
  ~Awaited() {
    if (taken_) return;
    if (held_) poster_->Release();
    function_->Reset();
  }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

  // Creates the callback for the engine: `to_js(env, told…)` returns the function's arguments.
  template <typename ToArguments>
  auto Then(ToArguments to_arguments) const {
    return [poster = poster_, held = held_, function = function_, to_arguments](auto... told) {
      auto call = [function, to_arguments,
                   told = std::make_tuple(std::move(told)...)](Napi::Env env) {
        const auto arguments =
            std::apply([&](const auto&... one) { return to_arguments(env, one...); }, told);
        CallOnce(*function, arguments);
      };
      if (held) {
        poster->Post(std::move(call));
      } else {
        (void)poster->PostUnheld(std::move(call));
      }
    };
  }
  void Taken() { taken_ = true; }

 private:
  // If an argument could not be created, as when the environment ends, the function is not called.
  template <size_t kCount>
  static void CallOnce(Napi::FunctionReference& function,
                       const std::array<napi_value, kCount>& arguments) {
    if (std::none_of(arguments.begin(), arguments.end(), [](napi_value one) { return !one; })) {
      napi_call_function(function.Env(), function.Env().Undefined(), function.Value(), kCount,
                         arguments.data(), nullptr);
    }
    function.Reset();
  }

  const std::shared_ptr<Poster> poster_;
  const bool held_;
  // Deleted on the JS thread, by the closure that has called it. If the environment ends first, it
  // is leaked, because no other thread may free it.
  const std::shared_ptr<Napi::FunctionReference> function_{new Napi::FunctionReference(),
                                                           [](Napi::FunctionReference* known) {
                                                             if (known->IsEmpty()) delete known;
                                                           }};
  bool taken_ = false;
};

}  // namespace tritonts
