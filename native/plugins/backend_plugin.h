// Backends of Triton: the functions of a plug-in's library, and its backend object.
//
// Lifetimes, as Triton has them. A library stays open for the life of the process. A backend object
// is made when the first model needs it, and is finalised when its last model ends:
//
//   Initialize, GetBackendAttribute
//     ModelInitialize
//       ModelInstanceInitialize ... ModelInstanceExecute ... ModelInstanceFinalize
//     ModelFinalize
//   Finalize
//
// What was initialised with an error is finalised, too, because it may have made part of its state.
// Models with the same library, name and configuration of the backend share the object.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "platform/dynamic_library.h"
#include "plugins/abi/functions.h"
#include "plugins/message.h"

namespace tritonts::plugins {

// A plug-in's functions; null: it has none of that name.
struct BackendFunctions {
#define TRITONTS_FIELD(returns, name, parameters, arguments) returns(*name) parameters = nullptr;
  TRITONTS_BACKEND_PLUGIN_FUNCTIONS(TRITONTS_FIELD)
#undef TRITONTS_FIELD
};

// What decides which backend object a model has.
struct BackendSource {
  std::string name;
  std::string library;      // path of the plug-in's file
  std::string own_library;  // path of the package's libtritonserver.so
  std::string config;       // JSON: the message of TRITONBACKEND_BackendConfig
};

// Opens a library, and checks that it is a backend of Triton. Calls nothing of it. Any thread may
// call it.
Status CheckPlugin(const std::string& library, const std::string& own_library);

// Calls a function of a plug-in. An exception that leaves it becomes an error.
template <typename Function, typename... Arguments>
Status CallPlugin(Function function, Arguments... arguments) noexcept;

}  // namespace tritonts::plugins

// Its size is its only content: plug-ins pass it back.
struct TRITONBACKEND_MemoryManager {};

// An instance group that a backend prefers.
struct TRITONBACKEND_BackendAttribute {
  struct Group {
    TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_AUTO;
    uint64_t count = 0;
    std::vector<uint64_t> devices;
  };
  std::vector<Group> groups;  // the most preferred one first
  // Accepted. The engine makes the instances of a version one after the other.
  bool parallel_loading = false;
};

// Immutable once it is initialised, but for `state`, which is the plug-in's.
struct TRITONBACKEND_Backend {
  // INVALID_ARG, UNAVAILABLE, UNSUPPORTED, and whatever the plug-in says. Throws std::bad_alloc.
  static tritonts::StatusOr<std::shared_ptr<TRITONBACKEND_Backend>> Get(
      const tritonts::plugins::BackendSource& source);

  explicit TRITONBACKEND_Backend(const tritonts::plugins::BackendSource& its_source);
  TRITONBACKEND_Backend(const TRITONBACKEND_Backend&) = delete;
  TRITONBACKEND_Backend& operator=(const TRITONBACKEND_Backend&) = delete;
  ~TRITONBACKEND_Backend();

  const tritonts::plugins::BackendSource source;
  const std::string folder;  // of the library
  TRITONSERVER_Message config;
  tritonts::plugins::BackendFunctions functions;
  TRITONBACKEND_BackendAttribute attributes;
  TRITONBACKEND_MemoryManager memory;
  TRITONBACKEND_ExecutionPolicy policy = TRITONBACKEND_EXECUTION_BLOCKING;
  // It may call functions of a server, which wait for other models or for JavaScript.
  bool may_ask_server = true;
  bool initializing = false;
  void* state = nullptr;

 private:
  tritonts::Status Initialize();

  bool opened_ = false;
};

namespace tritonts::plugins {

// Implementation.

Status ThrewStatus(const char* what) noexcept;
Status StatusOfError(TRITONSERVER_Error* error) noexcept;

template <typename Function, typename... Arguments>
Status CallPlugin(Function function, Arguments... arguments) noexcept {
  try {
    return StatusOfError(function(arguments...));
  } catch (const std::exception& error) {
    return ThrewStatus(error.what());
  } catch (...) {
    return ThrewStatus("something that is no std::exception");
  }
}

}  // namespace tritonts::plugins
