// What an agent plug-in is told of: itself, and a model whose load it prepares.
//
// Ownership: both are the server's (agent_plugin.h). Texts that the plug-in gets stay valid until
// ModelFinalize of the model. An agent's functions may be called for several models at a time, and
// those of one model for one action at a time; so the plug-in guards its own state.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "plugins/abi/types.h"

struct TRITONREPOAGENT_Agent {
  void* state = nullptr;  // the plug-in's
};

struct TRITONREPOAGENT_AgentModel {
 public:
  // What TypeScript knows of the load.
  struct Facts {
    std::string location;  // of the model's files
    bool is_remote = false;
    std::string config;  // JSON, as it is written
    std::vector<std::pair<std::string, std::string>> parameters;
    std::string folder;  // where the plug-in may have a folder of its own; exists
  };

  explicit TRITONREPOAGENT_AgentModel(Facts facts);

  const Facts& facts() const { return facts_; }
  // Any thread. These throw std::bad_alloc.
  const char* Location(TRITONREPOAGENT_ArtifactType* type);
  tritonts::Status Acquire(TRITONREPOAGENT_ArtifactType type, const char** location);
  tritonts::Status Release(const std::string& location);
  tritonts::Status Update(TRITONREPOAGENT_ArtifactType type, const std::string& location);

  // For the server. Only LOAD may move the files.
  void Begin(TRITONREPOAGENT_ActionType action);
  void End();
  // Where the plug-in has moved the files; "": nowhere.
  std::string MovedTo();

  void* state = nullptr;  // the plug-in's

 private:
  const Facts facts_;
  const std::string own_folder_;       // exists while it is acquired
  std::mutex mutex_;                   // guards all below
  std::deque<std::string> locations_;  // the last one holds; texts never move
  bool is_moved_ = false;
  bool is_loading_ = false;
  bool is_acquired_ = false;
};
