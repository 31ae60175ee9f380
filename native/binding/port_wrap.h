// A port, as JavaScript sees it. JS thread only, except the wake-up.
//
// It has its own thread-safe function, which the engine signals at most once until the finished
// pages are taken. The function is unreferenced while no request is in flight, so that an idle
// server does not keep the process alive; TypeScript controls this (ref, unref).
#pragma once

#include <memory>

#include "engine/port/port.h"
#include "setup.h"
#include "wrapped.h"

namespace tritonts {

class Server;

class PortWrap : public Wrapped<PortWrap> {
 public:
  static Napi::Function Define(Napi::Env env);
  // Creates a port of `server`. `on_pages` is called with [id, words, id, words, …]. Empty if the
  // engine has no memory, or the environment no thread-safe function. `external`: try external
  // ArrayBuffers.
  static Napi::Value Create(Napi::Env env, const std::shared_ptr<Server>& server,
                            const Napi::Function& on_pages, bool external);

  ~PortWrap() { Detach(); }
  void Finalize(napi_env) {}

  // Ends the port; idempotent. The environment's cleanup hook also calls it.
  void Detach();
  const std::shared_ptr<Port>& port() const { return port_; }

 private:
  static void Wake(napi_env env, napi_value on_pages, void* context, void* data);

  Napi::Value AddSlab(const Napi::CallbackInfo& info);
  Napi::Value Slab(const Napi::CallbackInfo& info);
  Napi::Value Header(const Napi::CallbackInfo& info);
  Napi::Value Submission(const Napi::CallbackInfo& info);
  Napi::Value External(const Napi::CallbackInfo& info);
  Napi::Value Stage(const Napi::CallbackInfo& info);
  void Unstage(const Napi::CallbackInfo& info);
  Napi::Value Submit(const Napi::CallbackInfo& info);
  // The common part of both submissions: returns a status, or the number of pages listed in the
  // header.
  Napi::Value SubmitWords(Napi::Env env, const int32_t* words, size_t count,
                          const char* const* slab_sources, bool run);
  // Takes finished pages, lists them in the header, and returns their number.
  uint32_t TakePages();
  Napi::Value SubmitCopies(const Napi::CallbackInfo& info);
  // Returns the number of pages listed in the header, or another value of Looked.
  Napi::Value Look(const Napi::CallbackInfo& info);
  void Cancel(const Napi::CallbackInfo& info);
  void CancelMany(const Napi::CallbackInfo& info);
  void DropSlab(const Napi::CallbackInfo& info);
  void Shrink(const Napi::CallbackInfo& info);
  Napi::Value Page(const Napi::CallbackInfo& info);
  void CopyPage(const Napi::CallbackInfo& info);
  Napi::Value TakeLarge(const Napi::CallbackInfo& info);
  Napi::Value LargeBytes(const Napi::CallbackInfo& info);
  void CopyLarge(const Napi::CallbackInfo& info);
  Napi::Value Recycle(const Napi::CallbackInfo& info);
  void Read(const Napi::CallbackInfo& info);
  void Acknowledge(const Napi::CallbackInfo& info);
  Napi::Value HeaderWord(const Napi::CallbackInfo& info);
  void RefLoop(const Napi::CallbackInfo& info);
  void UnrefLoop(const Napi::CallbackInfo& info);
  void DetachFromJs(const Napi::CallbackInfo& info);

  // Returns output info[1] of page info[0], which is too large for the page. Null if it does not
  // exist or was already taken.
  CompletionPage::Large* LargeOf(const Napi::CallbackInfo& info);

  // Shared with the wake-up, which may run while the wrap is being destroyed.
  struct Signal {
    napi_threadsafe_function function = nullptr;
  };

  std::shared_ptr<Port> port_;
  std::shared_ptr<Signal> signal_;
  Napi::ObjectReference self_;  // set until it is detached
  bool external_ = false;
  bool detached_ = false;
};

}  // namespace tritonts
