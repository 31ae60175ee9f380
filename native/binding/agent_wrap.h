// A model of a repository agent that is a plug-in of Triton (plugins/agent_plugin.h). Typed in
// src/addon/native/agent.ts. JS thread; the plug-in is called on threads of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "plugins/agent_plugin.h"
#include "setup.h"
#include "wrapped.h"

namespace tritonts {

class AgentWrap : public Wrapped<AgentWrap> {
 public:
  static Napi::Function Define(Napi::Env env);
  // Arguments: the path of the plug-in, that of the package's libtritonserver.so, and the facts.
  static Napi::Value Create(const Napi::CallbackInfo& info);

  AgentWrap(std::string path, std::string own_library, TRITONREPOAGENT_AgentModel::Facts facts,
            std::chrono::milliseconds limit);
  // The model's plug-in is told of its end, if it was not.
  ~AgentWrap();
  void Finalize(napi_env) {}

 private:
  // What the threads share. One of them uses it at a time, as TypeScript makes one call at a time.
  struct Shared {
    std::string path;
    std::string own_library;
    TRITONREPOAGENT_AgentModel::Facts facts;
    std::chrono::milliseconds limit;             // how long an agent that ends is waited for
    std::shared_ptr<plugins::AgentModel> model;  // null: not initialised, or finalised
  };

  // A call that is under way. The end of the process does not wait for one that was left alone.
  class UnderWay {
   public:
    // Any thread.
    void End();
    void Leave();

   private:
    enum class State { kRuns, kEnded, kLeft };
    std::atomic<State> state_{State::kRuns};
  };

  // Calls `call`, which returns a status, on a thread of its own, and tells `done` of it.
  template <typename Task, typename Done>
  void Apart(Task call, Done done);
  // Argument of each: done(error), which is called later; for Act after the action. None keeps the
  // event loop alive.
  void Open(const Napi::CallbackInfo& info);
  void Act(const Napi::CallbackInfo& info);
  void End(const Napi::CallbackInfo& info);
  // Nobody waits any more for the call that is under way.
  void Leave(const Napi::CallbackInfo& info);

  const std::shared_ptr<Shared> shared_;
  std::shared_ptr<UnderWay> under_way_;  // the last call; null: there was none
};

}  // namespace tritonts
