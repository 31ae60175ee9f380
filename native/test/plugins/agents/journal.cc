// A repository agent that uses every function of the interface, checks what it gets, and notes its
// calls in a file. Its parameters:
//
//   journal   the file, to which each call adds a line
//   move      "yes": the model's files move to a folder of the agent's, where `added` is a new file
//   fault     what fails: "initialize", or an action in Triton's words; "late_move" moves the files
//             when it must not; "nowhere" moves them to a folder that does not exist; "slow" takes
//             `ms` for each action; "throw" throws at LOAD; "end" takes `ms` for the agent's
//             Finalize; "empty" moves the files to no place
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "plugins/abi/triton.h"

namespace {

TRITONSERVER_Error* Fault(TRITONSERVER_Error_Code code, const std::string& text) {
  return TRITONSERVER_ErrorNew(code, text.c_str());
}

TRITONSERVER_Error* Unexpected(const std::string& what) {
  return Fault(TRITONSERVER_ERROR_INTERNAL, "the journal agent did not expect " + what);
}

#define RETURN_IF_ERROR(call) \
  if (TRITONSERVER_Error* const error = (call)) return error

bool Fails(TRITONSERVER_Error* error, TRITONSERVER_Error_Code code) {
  const bool as_expected = error && TRITONSERVER_ErrorCode(error) == code;
  if (error) TRITONSERVER_ErrorDelete(error);
  return as_expected;
}

// How long the agent's end takes.
std::atomic<int> end_ms{0};

std::string Parameter(TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model,
                      const std::string& wanted) {
  uint32_t count = 0;
  if (TRITONREPOAGENT_ModelParameterCount(agent, model, &count)) return "";
  for (uint32_t i = 0; i < count; i++) {
    const char* name = nullptr;
    const char* value = nullptr;
    if (TRITONREPOAGENT_ModelParameter(agent, model, i, &name, &value)) return "";
    if (wanted == name) return value;
  }
  return "";
}

// The state of a model.
struct State {
  std::string journal;
  std::string folder;  // acquired
};

State* StateOf(TRITONREPOAGENT_AgentModel* model) {
  void* state = nullptr;
  (void)TRITONREPOAGENT_ModelState(model, &state);
  return static_cast<State*>(state);
}

void Note(const std::string& journal, const std::string& line) {
  if (journal.empty()) return;
  std::ofstream(journal, std::ios::app) << line << "\n";
}

// The agent's own state counts its models, which come and go on several threads.
std::atomic<int>* ModelsOf(TRITONREPOAGENT_Agent* agent) {
  void* state = nullptr;
  (void)TRITONREPOAGENT_State(agent, &state);
  return static_cast<std::atomic<int>*>(state);
}

TRITONSERVER_Error* Move(TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model) {
  TRITONREPOAGENT_ArtifactType type = TRITONREPOAGENT_ARTIFACT_REMOTE_FILESYSTEM;
  const char* from = nullptr;
  RETURN_IF_ERROR(TRITONREPOAGENT_ModelRepositoryLocation(agent, model, &type, &from));
  if (type != TRITONREPOAGENT_ARTIFACT_FILESYSTEM) return Unexpected("a remote place");
  const char* folder = nullptr;
  if (!Fails(TRITONREPOAGENT_ModelRepositoryLocationRelease(agent, model, "/"),
             TRITONSERVER_ERROR_UNAVAILABLE)) {
    return Unexpected("a folder to release");
  }
  if (!Fails(TRITONREPOAGENT_ModelRepositoryLocationAcquire(
                 agent, model, TRITONREPOAGENT_ARTIFACT_REMOTE_FILESYSTEM, &folder),
             TRITONSERVER_ERROR_INVALID_ARG)) {
    return Unexpected("a remote folder");
  }
  RETURN_IF_ERROR(TRITONREPOAGENT_ModelRepositoryLocationAcquire(
      agent, model, TRITONREPOAGENT_ARTIFACT_FILESYSTEM, &folder));
  std::ofstream(std::string(folder) + "/left") << "over";
  RETURN_IF_ERROR(TRITONREPOAGENT_ModelRepositoryLocationRelease(agent, model, folder));
  RETURN_IF_ERROR(TRITONREPOAGENT_ModelRepositoryLocationAcquire(
      agent, model, TRITONREPOAGENT_ARTIFACT_FILESYSTEM, &folder));
  const char* again = nullptr;
  RETURN_IF_ERROR(TRITONREPOAGENT_ModelRepositoryLocationAcquire(
      agent, model, TRITONREPOAGENT_ARTIFACT_FILESYSTEM, &again));
  if (std::strcmp(folder, again) != 0) return Unexpected("another folder");
  if (!std::filesystem::is_empty(folder)) return Unexpected("files in its folder");
  std::filesystem::copy(from, folder, std::filesystem::copy_options::recursive);
  const std::string added = Parameter(agent, model, "added");
  if (!added.empty()) std::ofstream(std::string(folder) + "/" + added) << "added\n";
  StateOf(model)->folder = folder;
  if (!Fails(TRITONREPOAGENT_ModelRepositoryUpdate(
                 agent, model, TRITONREPOAGENT_ARTIFACT_REMOTE_FILESYSTEM, folder),
             TRITONSERVER_ERROR_UNSUPPORTED)) {
    return Unexpected("a remote place for the files");
  }
  return TRITONREPOAGENT_ModelRepositoryUpdate(agent, model, TRITONREPOAGENT_ARTIFACT_FILESYSTEM,
                                               folder);
}

}  // namespace

extern "C" {

TRITONSERVER_Error* TRITONREPOAGENT_Initialize(TRITONREPOAGENT_Agent* agent) {
  uint32_t major = 9;
  uint32_t minor = 9;
  RETURN_IF_ERROR(TRITONREPOAGENT_ApiVersion(&major, &minor));
  if (major != 0 || minor < 1) return Unexpected("this version");
  return TRITONREPOAGENT_SetState(agent, new std::atomic<int>(0));
}

TRITONSERVER_Error* TRITONREPOAGENT_Finalize(TRITONREPOAGENT_Agent* agent) {
  delete ModelsOf(agent);
  std::this_thread::sleep_for(std::chrono::milliseconds(end_ms.exchange(0)));
  return nullptr;
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelInitialize(TRITONREPOAGENT_Agent* agent,
                                                    TRITONREPOAGENT_AgentModel* model) {
  const std::string journal = Parameter(agent, model, "journal");
  if (Parameter(agent, model, "fault") == "initialize") {
    return Fault(TRITONSERVER_ERROR_UNAVAILABLE, "the agent has no key for this model");
  }
  if (Parameter(agent, model, "fault") == "end") end_ms = std::stoi(Parameter(agent, model, "ms"));
  uint32_t count = 0;
  RETURN_IF_ERROR(TRITONREPOAGENT_ModelParameterCount(agent, model, &count));
  const char* name = nullptr;
  const char* value = nullptr;
  if (!Fails(TRITONREPOAGENT_ModelParameter(agent, model, count, &name, &value),
             TRITONSERVER_ERROR_INVALID_ARG)) {
    return Unexpected("one more parameter");
  }
  TRITONSERVER_Message* config = nullptr;
  if (!Fails(TRITONREPOAGENT_ModelConfig(agent, model, 2, &config),
             TRITONSERVER_ERROR_UNSUPPORTED)) {
    return Unexpected("a second version of the configuration");
  }
  RETURN_IF_ERROR(TRITONREPOAGENT_ModelConfig(agent, model, 1, &config));
  const char* text = nullptr;
  size_t size = 0;
  RETURN_IF_ERROR(TRITONSERVER_MessageSerializeToJson(config, &text, &size));
  const bool names_agent = std::string(text, size).find("\"journal\"") != std::string::npos;
  TRITONSERVER_MessageDelete(config);
  if (!names_agent) return Unexpected("a configuration without itself");
  RETURN_IF_ERROR(TRITONREPOAGENT_ModelSetState(model, new State{journal, ""}));
  Note(journal, "initialize " + std::to_string(++*ModelsOf(agent)));
  return nullptr;
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelFinalize(TRITONREPOAGENT_Agent* agent,
                                                  TRITONREPOAGENT_AgentModel* model) {
  const State* const state = StateOf(model);
  --*ModelsOf(agent);
  const bool is_there = !state->folder.empty() && std::filesystem::exists(state->folder);
  Note(state->journal, std::string("finalize") + (is_there ? " with folder" : ""));
  delete state;
  return nullptr;
}

TRITONSERVER_Error* TRITONREPOAGENT_ModelAction(TRITONREPOAGENT_Agent* agent,
                                                TRITONREPOAGENT_AgentModel* model,
                                                TRITONREPOAGENT_ActionType action_type) {
  static const char* const names[] = {"LOAD", "LOAD_COMPLETE", "LOAD_FAIL", "UNLOAD",
                                      "UNLOAD_COMPLETE"};
  const std::string action = names[action_type];
  Note(StateOf(model)->journal, action);
  const std::string fault = Parameter(agent, model, "fault");
  if (fault == action) return Fault(TRITONSERVER_ERROR_INVALID_ARG, "the agent refuses " + action);
  if (fault == "slow" || fault == "hang " + action) {
    const int ms = std::stoi(Parameter(agent, model, "ms"));
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  }
  if (fault == "throw" && action == "LOAD") throw std::runtime_error("two\nlines");
  if (fault == "empty" && action == "LOAD") {
    return TRITONREPOAGENT_ModelRepositoryUpdate(agent, model, TRITONREPOAGENT_ARTIFACT_FILESYSTEM,
                                                 "");
  }
  if (fault == "late_move" && action == "LOAD_COMPLETE") {
    return TRITONREPOAGENT_ModelRepositoryUpdate(agent, model, TRITONREPOAGENT_ARTIFACT_FILESYSTEM,
                                                 "/");
  }
  if (fault == "nowhere" && action == "LOAD") {
    return TRITONREPOAGENT_ModelRepositoryUpdate(agent, model, TRITONREPOAGENT_ARTIFACT_FILESYSTEM,
                                                 "/no/such/folder");
  }
  if (action == "LOAD" && Parameter(agent, model, "move") == "yes") return Move(agent, model);
  return nullptr;
}

}  // extern "C"
