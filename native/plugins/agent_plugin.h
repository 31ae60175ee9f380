// Repository agents of Triton's interface TRITONREPOAGENT: libraries, and the models that they
// prepare.
//
// A library has one agent, whatever servers and models use it. The first model initialises it, and
// the last one finalises it; a later one initialises it again. The library itself stays open.
//
//   ModelInitialize, then actions in the order that TypeScript keeps, then ModelFinalize
//
// Threads: any. An agent's calls wait for the plug-in, so they are made on threads of their own
// (RunApart). Those of one model follow each other. Once the process exits, they return UNAVAILABLE
// without a call.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "engine/base/status.h"
#include "plugins/abi/types.h"
#include "plugins/agent.h"

namespace tritonts::plugins {

class AgentPlugin;

// A model of an agent.
class AgentModel {
 public:
  // Opens the library at `path`, if that was not done before, and has it initialise the agent and a
  // model. `own_library`: see OpenPlugin. An agent that ends is waited for as long as `limit`.
  // INVALID_ARG: the library lacks a function of an agent; UNAVAILABLE: an agent of the library
  // does not end; what the plug-in returns. Throws std::bad_alloc.
  static StatusOr<std::shared_ptr<AgentModel>> Open(const std::string& path,
                                                    const std::string& own_library,
                                                    TRITONREPOAGENT_AgentModel::Facts facts,
                                                    std::chrono::milliseconds limit);
  // Finalises the model, and the agent if no other model uses it.
  ~AgentModel();
  AgentModel(const AgentModel&) = delete;
  AgentModel& operator=(const AgentModel&) = delete;

  // Throws std::bad_alloc.
  Status Act(TRITONREPOAGENT_ActionType action);
  // Where the plug-in has moved the model's files; "": nowhere.
  std::string MovedTo() { return model_.MovedTo(); }

 private:
  AgentModel(std::shared_ptr<AgentPlugin> plugin, TRITONREPOAGENT_AgentModel::Facts facts);

  const std::shared_ptr<AgentPlugin> plugin_;
  TRITONREPOAGENT_AgentModel model_;
  bool is_initialized_ = false;
};

// Nobody waits any more for the agent of the library at `path`, if that is being initialised.
// Others that wait for it do so no longer than their limits. Throws std::bad_alloc.
void LeaveAgentAlone(const std::string& path);

// Runs a call of a plug-in on a thread of its own. False: the system has no thread for it. A call
// that throws std::bad_alloc must not have had an effect, and is made again.
[[nodiscard]] bool RunApart(std::function<void()> call);

}  // namespace tritonts::plugins
