#include "plugins/backend_plugin.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <tuple>
#include <type_traits>

#include "engine/server/loaders.h"
#include "platform/whole_library.h"
#include "plugins/error.h"
#include "plugins/functions.h"
#include "plugins/plugin_library.h"

namespace tritonts::plugins {

namespace {

// How long a load waits for the end of the object that the last models had.
constexpr auto kFinalizeWait = std::chrono::seconds(10);

// The backend objects that models use. Never destroyed, because threads may outlive static
// destructors.
struct Backends {
  struct Entry {
    std::weak_ptr<TRITONBACKEND_Backend> known;
    // These do not overlap for one entry. Plug-ins of different entries do not wait for each other.
    bool initializing = false;
    bool exists = false;  // it is initialised, and not finalised
  };
  std::mutex mutex;  // guards the entries; no plug-in is called with it
  std::condition_variable changed;
  std::map<std::tuple<std::string, std::string, std::string>, Entry> all;  // never erased
  static Backends& Get() {
    static auto* const backends = new Backends();
    return *backends;
  }
  // Notes a change of an entry.
  void Set(bool* field, bool value) {
    {
      const std::lock_guard lock(mutex);
      *field = value;
    }
    changed.notify_all();
  }
};

StatusOr<BackendFunctions> FindFunctions(const std::string& path, const std::string& own_library) {
  auto library = OpenPlugin(path, own_library);
  if (!library.ok()) return library.status();
  BackendFunctions functions;
  const auto find = [&](auto* function, const char* name) {
    using Function = std::remove_pointer_t<decltype(function)>;
    *function = reinterpret_cast<Function>(library.value().Symbol(name));
  };
#define TRITONTS_FIND(returns, name, parameters, arguments) find(&functions.name, #name);
  TRITONTS_BACKEND_PLUGIN_FUNCTIONS(TRITONTS_FIND)
#undef TRITONTS_FIND
  if (functions.TRITONBACKEND_ModelInstanceExecute) return functions;
  return Status::InvalidArg("the library '" + path +
                            "' has no function TRITONBACKEND_ModelInstanceExecute, which backends "
                            "of Triton must have");
}

}  // namespace

Status CheckPlugin(const std::string& library, const std::string& own_library) {
  return FindFunctions(library, own_library).status();
}

Status ThrewStatus(const char* what) noexcept {
  return MakeStatus([&] { return Status::Internal(std::string("the plug-in threw ") + what); });
}

Status StatusOfError(TRITONSERVER_Error* error) noexcept {
  return TakeError(error);
}

}  // namespace tritonts::plugins

using tritonts::Status;
using tritonts::StatusOr;

TRITONBACKEND_Backend::TRITONBACKEND_Backend(const tritonts::plugins::BackendSource& its_source)
    : source(its_source),
      folder(tritonts::platform::Utf8(
          tritonts::platform::NativePath(its_source.library).parent_path())),
      config{its_source.config, true} {}

TRITONBACKEND_Backend::~TRITONBACKEND_Backend() {
  // Its text has no place to go: the last model has ended.
  if (opened_ && functions.TRITONBACKEND_Finalize) {
    (void)tritonts::plugins::CallPlugin(functions.TRITONBACKEND_Finalize, this);
  }
}

Status TRITONBACKEND_Backend::Initialize() {
  auto found = tritonts::plugins::FindFunctions(source.library, source.own_library);
  if (!found.ok()) return found.status();
  functions = found.value();
  opened_ = true;
  may_ask_server = tritonts::platform::MayName(source.library, "TRITONSERVER_Server");
  Status status;
  if (functions.TRITONBACKEND_Initialize) {
    initializing = true;
    status = tritonts::plugins::CallPlugin(functions.TRITONBACKEND_Initialize, this);
    initializing = false;
  }
  if (status.ok() && functions.TRITONBACKEND_GetBackendAttribute) {
    TRITONBACKEND_BackendAttribute found;
    // If it fails, its attributes do not count, as in Triton.
    if (tritonts::plugins::CallPlugin(functions.TRITONBACKEND_GetBackendAttribute, this, &found)
            .ok()) {
      attributes = std::move(found);
    }
  }
  return status;
}

StatusOr<std::shared_ptr<TRITONBACKEND_Backend>> TRITONBACKEND_Backend::Get(
    const tritonts::plugins::BackendSource& source) {
  using tritonts::plugins::Backends;
  Backends& backends = Backends::Get();
  Backends::Entry* entry = nullptr;
  {
    std::unique_lock lock(backends.mutex);
    entry = &backends.all[{source.library, source.name, source.config}];
    std::shared_ptr<TRITONBACKEND_Backend> found;
    const auto is_over = [&] {
      found = entry->known.lock();
      return found || !entry->exists;
    };
    // One whose last model has ended is finalised before the next one is initialised.
    for (;;) {
      if (entry->initializing) {
        // It may take long, or hang: this thread's place is for loads of other backends meanwhile.
        const tritonts::LoaderWait place;
        backends.changed.wait(lock, [&] { return !entry->initializing; });
      }
      if (!backends.changed.wait_for(lock, tritonts::plugins::kFinalizeWait, is_over)) {
        return Status::Unavailable(
            tritonts::Reason::kNone,
            "backend '" + source.name + "': TRITONBACKEND_Finalize of '" + source.library +
                "' has not returned since the last of its models was unloaded");
      }
      if (found) return found;
      if (!entry->initializing) break;
    }
    entry->initializing = true;
  }
  struct Turn {
    Backends::Entry* const entry;
    ~Turn() { Backends::Get().Set(&entry->initializing, false); }
  };
  const Turn turn{entry};
  auto made = std::make_unique<TRITONBACKEND_Backend>(source);
  const Status status = made->Initialize();
  if (!status.ok()) return status;
  // If it cannot be shared, this finalises it.
  std::shared_ptr<TRITONBACKEND_Backend> shared(made.release(),
                                                [entry](TRITONBACKEND_Backend* last) {
                                                  delete last;
                                                  Backends::Get().Set(&entry->exists, false);
                                                });
  const std::lock_guard lock(backends.mutex);
  entry->known = shared;
  entry->exists = true;
  return shared;
}

namespace tritonts::plugins {

// --- The functions of backends.

TRITONSERVER_Error* TRITONBACKEND_BackendName(TRITONBACKEND_Backend* backend,
                                              const char** name) noexcept {
  *name = backend->source.name.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend* backend,
                                                TRITONSERVER_Message** backend_config) noexcept {
  *backend_config = &backend->config;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendExecutionPolicy(
    TRITONBACKEND_Backend* backend, TRITONBACKEND_ExecutionPolicy* policy) noexcept {
  *policy = backend->policy;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendSetExecutionPolicy(
    TRITONBACKEND_Backend* backend, TRITONBACKEND_ExecutionPolicy policy) noexcept {
  return Guard([&]() -> Status {
    if (!backend->initializing) {
      return Status::InvalidArg(
          "the execution policy can be set only during TRITONBACKEND_Initialize");
    }
    if (policy != TRITONBACKEND_EXECUTION_BLOCKING &&
        policy != TRITONBACKEND_EXECUTION_DEVICE_BLOCKING) {
      return Status::InvalidArg("expected the execution policy BLOCKING or DEVICE_BLOCKING");
    }
    backend->policy = policy;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_BackendArtifacts(TRITONBACKEND_Backend* backend,
                                                   TRITONBACKEND_ArtifactType* artifact_type,
                                                   const char** location) noexcept {
  *artifact_type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = backend->folder.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendMemoryManager(
    TRITONBACKEND_Backend* backend, TRITONBACKEND_MemoryManager** manager) noexcept {
  *manager = &backend->memory;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendState(TRITONBACKEND_Backend* backend,
                                               void** state) noexcept {
  *state = backend->state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendSetState(TRITONBACKEND_Backend* backend,
                                                  void* state) noexcept {
  backend->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
    TRITONBACKEND_BackendAttribute* backend_attributes, TRITONSERVER_InstanceGroupKind kind,
    uint64_t count, const uint64_t* device_ids, uint64_t id_count) noexcept {
  return Guard([&] {
    TRITONBACKEND_BackendAttribute::Group group{kind, count, {}};
    if (device_ids) group.devices.assign(device_ids, device_ids + id_count);
    backend_attributes->groups.push_back(std::move(group));
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(
    TRITONBACKEND_BackendAttribute* backend_attributes, bool enabled) noexcept {
  backend_attributes->parallel_loading = enabled;
  return nullptr;
}

}  // namespace tritonts::plugins
