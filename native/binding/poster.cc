#include "poster.h"

#include <thread>
#include <utility>

namespace tritonts {

std::shared_ptr<Poster> Poster::Create(Napi::Env env) {
  std::shared_ptr<Poster> poster(new Poster());
  poster->env_ = env;
  napi_value name = nullptr;
  if (napi_create_string_utf8(env, "tritonts", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr,
                                      poster.get(), Call, &poster->function_) != napi_ok) {
    return nullptr;
  }
  napi_unref_threadsafe_function(env, poster->function_);
  return poster;
}

void Poster::Hold() {
  if (held_++ == 0) napi_ref_threadsafe_function(env_, function_);
}

void Poster::Release() {
  if (--held_ == 0) napi_unref_threadsafe_function(env_, function_);
}

void Poster::Post(Closure closure) {
  Send(std::make_unique<Posted>(Posted{std::move(closure), true}));
}

bool Poster::PostUnheld(Closure closure) {
  return Send(std::make_unique<Posted>(Posted{std::move(closure), false}));
}

bool Poster::Send(std::unique_ptr<Posted> posted) {
  posting_.fetch_add(1);
  // Close waits for every thread counted before it, so the function is still valid here.
  const bool sent = !closed_.load() && napi_call_threadsafe_function(function_, posted.get(),
                                                                     napi_tsfn_blocking) == napi_ok;
  if (sent) (void)posted.release();  // now owned by the function's queue
  posting_.fetch_sub(1);
  return sent;
}

void Poster::Close() {
  if (closed_.exchange(true)) return;
  // Posting is brief: the function's queue is unbounded.
  while (posting_.load() != 0) std::this_thread::yield();
  napi_release_threadsafe_function(function_, napi_tsfn_abort);
}

void Poster::Call(napi_env env, napi_value, void* context, void* data) {
  std::unique_ptr<Posted> posted(static_cast<Posted*>(data));
  if (env == nullptr) return;  // torn down meanwhile
  auto* poster = static_cast<Poster*>(context);
  if (posted->held) poster->Release();
  Napi::HandleScope scope(env);
  posted->closure(Napi::Env(env));
}

}  // namespace tritonts
