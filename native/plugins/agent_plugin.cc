#include "plugins/agent_plugin.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/base/exit.h"
#include "engine/base/insist.h"
#include "platform/dynamic_library.h"
#include "platform/thread.h"
#include "plugins/abi/functions.h"
#include "plugins/backend_plugin.h"
#include "plugins/plugin_library.h"

namespace tritonts::plugins {

// The functions of a plug-in, under their own names.
struct AgentCalls {
#define TRITONTS_FIELD(returns, name, parameters, arguments) returns(*name) parameters = nullptr;
  TRITONTS_AGENT_PLUGIN_FUNCTIONS(TRITONTS_FIELD)
#undef TRITONTS_FIELD

  explicit AgentCalls(const platform::DynamicLibrary& library) {
#define TRITONTS_FIND(returns, name, parameters, arguments) \
  this->name = reinterpret_cast<returns(*) parameters>(library.Symbol(#name));
    TRITONTS_AGENT_PLUGIN_FUNCTIONS(TRITONTS_FIND)
#undef TRITONTS_FIND
  }
};

// A place for the agent of a library. It is never destroyed, as the library stays open.
struct AgentPlace {
  std::mutex mutex;  // guards the rest; not held during a call of the plug-in
  std::condition_variable changed;
  std::weak_ptr<AgentPlugin> agent;
  bool is_live = false;        // from its beginning until it was finalised
  bool is_beginning = false;   // the library is opened, or the agent initialised
  bool is_left_alone = false;  // nobody waits for that beginning any more
};

namespace {

// Calls a function of the plug-in, unless it lacks it, which it may.
template <typename Function, typename... Arguments>
Status CallAgent(Function function, Arguments... arguments) {
  if (!function) return Status::Ok();
  const RuntimeCall call(false);
  if (!call.allowed()) return Status::Unavailable(Reason::kClosed, "the process exits");
  return CallPlugin(function, arguments...);
}

AgentPlace& AgentPlaceOf(const std::string& path) {
  static auto* const mutex = new std::mutex();
  static auto* const places = new std::map<std::string, AgentPlace>();
  const std::lock_guard lock(*mutex);
  return (*places)[path];
}

}  // namespace

// An agent, which models share.
class AgentPlugin {
 public:
  static StatusOr<std::shared_ptr<AgentPlugin>> Share(const std::string& path,
                                                      const std::string& own_library,
                                                      std::chrono::milliseconds limit) {
    AgentPlace& place = AgentPlaceOf(path);
    std::unique_lock lock(place.mutex);
    std::shared_ptr<AgentPlugin> known;
    Status status = AwaitTurn(path, place, &lock, limit, &known);
    if (!status.ok()) return status;
    if (known) return known;
    place.is_live = place.is_beginning = true;
    lock.unlock();
    std::shared_ptr<AgentPlugin> made;
    status = MakeStatus([&] { return Begin(path, own_library, &place, &made); });
    lock.lock();
    place.is_beginning = place.is_left_alone = false;
    place.is_live = status.ok();
    place.agent = made;
    lock.unlock();
    place.changed.notify_all();
    if (!status.ok()) return status;
    return made;
  }

  AgentPlugin(AgentPlace* place, const AgentCalls& calls) : place_(place), calls_(calls) {}
  ~AgentPlugin() {
    if (!is_initialized_) return;
    // Nobody is left to be told of an error.
    (void)CallAgent(calls_.TRITONREPOAGENT_Finalize, &agent_);
    {
      const std::lock_guard lock(place_->mutex);
      place_->is_live = false;
    }
    place_->changed.notify_all();
  }
  AgentPlugin(const AgentPlugin&) = delete;
  AgentPlugin& operator=(const AgentPlugin&) = delete;

  const AgentCalls& calls() const { return calls_; }
  TRITONREPOAGENT_Agent* agent() { return &agent_; }

 private:
  // Waits until the agent can be shared, or begun. One that ends, or whose beginning was left
  // alone, is waited for no longer than the limit: it may never return. `known` is the agent; null:
  // it can be begun.
  static Status AwaitTurn(const std::string& path, AgentPlace& place,
                          std::unique_lock<std::mutex>* lock, std::chrono::milliseconds limit,
                          std::shared_ptr<AgentPlugin>* known) {
    std::optional<std::chrono::steady_clock::time_point> until;
    while (place.is_live) {
      // Not a temporary one: as the last share it would end the agent with the lock held.
      *known = place.agent.lock();
      if (*known) return Status::Ok();
      if (place.is_beginning && !place.is_left_alone) {
        place.changed.wait(*lock);
        continue;
      }
      if (!until) until = std::chrono::steady_clock::now() + limit;
      if (std::chrono::steady_clock::now() >= *until) {
        return Status::Unavailable(
            Reason::kNotReady,
            "the agent of '" + path + "' cannot be used: its function " +
                (place.is_beginning ? "TRITONREPOAGENT_Initialize" : "TRITONREPOAGENT_Finalize") +
                " did not return within " + std::to_string(limit.count()) + " ms");
      }
      place.changed.wait_until(*lock, *until);
    }
    return Status::Ok();
  }

  static Status Begin(const std::string& path, const std::string& own_library, AgentPlace* place,
                      std::shared_ptr<AgentPlugin>* begun) {
    auto library = OpenPlugin(path, own_library);
    if (!library.ok()) return library.status();
    const AgentCalls calls(library.value());
    if (!calls.TRITONREPOAGENT_ModelAction) {
      return Status::InvalidArg("'" + path +
                                "' has no function TRITONREPOAGENT_ModelAction, which a "
                                "repository agent needs");
    }
    auto made = std::make_shared<AgentPlugin>(place, calls);
    // An agent that has failed to begin has nothing to end.
    Status status = CallAgent(calls.TRITONREPOAGENT_Initialize, &made->agent_);
    if (!status.ok()) return status;
    made->is_initialized_ = true;
    *begun = std::move(made);
    return status;
  }

  AgentPlace* const place_;
  const AgentCalls calls_;
  TRITONREPOAGENT_Agent agent_;
  bool is_initialized_ = false;
};

AgentModel::AgentModel(std::shared_ptr<AgentPlugin> plugin, TRITONREPOAGENT_AgentModel::Facts facts)
    : plugin_(std::move(plugin)), model_(std::move(facts)) {}

StatusOr<std::shared_ptr<AgentModel>> AgentModel::Open(const std::string& path,
                                                       const std::string& own_library,
                                                       TRITONREPOAGENT_AgentModel::Facts facts,
                                                       std::chrono::milliseconds limit) {
  auto plugin = AgentPlugin::Share(path, own_library, limit);
  if (!plugin.ok()) return plugin.status();
  std::shared_ptr<AgentModel> made(new AgentModel(plugin.take(), std::move(facts)));
  AgentPlugin& agent = *made->plugin_;
  Status status =
      CallAgent(agent.calls().TRITONREPOAGENT_ModelInitialize, agent.agent(), &made->model_);
  if (!status.ok()) return status;
  made->is_initialized_ = true;
  return made;
}

AgentModel::~AgentModel() {
  // Nobody is left to be told of an error.
  if (is_initialized_) {
    (void)CallAgent(plugin_->calls().TRITONREPOAGENT_ModelFinalize, plugin_->agent(), &model_);
  }
}

Status AgentModel::Act(TRITONREPOAGENT_ActionType action) {
  model_.Begin(action);
  Status status =
      CallAgent(plugin_->calls().TRITONREPOAGENT_ModelAction, plugin_->agent(), &model_, action);
  model_.End();
  return status;
}

void LeaveAgentAlone(const std::string& path) {
  AgentPlace& place = AgentPlaceOf(path);
  {
    const std::lock_guard lock(place.mutex);
    if (!place.is_beginning) return;
    place.is_left_alone = true;
  }
  place.changed.notify_all();
}

bool RunApart(std::function<void()> call) {
  platform::Thread thread;
  const bool started = thread.Start([call = std::move(call)] {
    platform::NameThread("agent plug-in");
    Insist(call);
  });
  if (started) thread.Detach();
  return started;
}

}  // namespace tritonts::plugins
