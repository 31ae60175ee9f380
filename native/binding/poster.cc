#include "poster.h"

namespace tritonts {

std::shared_ptr<Poster> Poster::Create(Napi::Env env) {
  std::shared_ptr<Poster> poster(new Poster());
  poster->env_ = env;
  napi_value name = Napi::String::New(env, "tritonts");
  if (napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr,
                                      poster.get(), Call, &poster->function_) != napi_ok) {
    return nullptr;
  }
  napi_unref_threadsafe_function(env, poster->function_);
  return poster;
}

void Poster::Hold() {
  if (held_++ == 0) napi_ref_threadsafe_function(env_, function_);
}

void Poster::Post(Closure closure) {
  auto* data = new Closure(std::move(closure));
  std::lock_guard lock(mutex_);
  // The function only signals; held, so that Close can't come between.
  if (closed_ || napi_call_threadsafe_function(function_, data, napi_tsfn_blocking) != napi_ok) {
    delete data;
  }
}

void Poster::Close() {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  closed_ = true;
  napi_release_threadsafe_function(function_, napi_tsfn_abort);
}

void Poster::Call(napi_env env, napi_value, void* context, void* data) {
  std::unique_ptr<Closure> closure(static_cast<Closure*>(data));
  if (env == nullptr) return;  // torn down meanwhile
  auto* poster = static_cast<Poster*>(context);
  if (--poster->held_ == 0) napi_unref_threadsafe_function(env, poster->function_);
  Napi::HandleScope scope(env);
  (*closure)(Napi::Env(env));
}

}  // namespace tritonts
