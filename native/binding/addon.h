// The addon's state for one environment (main thread or worker).
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/server/server.h"
#include "platform/children.h"
#include "plugin_owner.h"
#include "poster.h"
#include "setup.h"

namespace tritonts {

class CacheWrap;
class InstanceWrap;
class PluginCacheWrap;
class PortWrap;
class PythonWrap;

struct AddonData {
  Napi::FunctionReference port_class;
  Napi::FunctionReference server_class;
  Napi::FunctionReference bytes_class;
  Napi::FunctionReference instance_class;
  Napi::FunctionReference python_class;
  Napi::FunctionReference cache_class;
  Napi::FunctionReference plugin_cache_class;
  Napi::FunctionReference agent_class;
  Napi::FunctionReference no_memory;  // creates the out-of-memory error
  std::shared_ptr<Poster> poster;
  // Bytes of outputs that JavaScript holds in place. Used only on the JS thread; shared with
  // finalizers.
  std::shared_ptr<size_t> shared_bytes = std::make_shared<size_t>(0);
  std::unordered_set<PortWrap*> ports;                 // attached to this environment
  std::unordered_set<InstanceWrap*> instances;         // the same
  std::unordered_set<PythonWrap*> pythons;             // the same
  std::unordered_set<CacheWrap*> caches;               // the same
  std::unordered_set<PluginCacheWrap*> plugin_caches;  // the same
  platform::Children children;                         // processes that this environment started
  std::vector<uint32_t> reserved;                      // numbers of inboxes not yet released
  std::vector<std::shared_ptr<Server>> owned;          // created here and not closed
  // What answers plug-ins, by the ids of servers that were created here.
  std::unordered_map<uint32_t, std::unique_ptr<PluginAnswers>> plugin_answers;
};

AddonData& DataOf(Napi::Env env);

}  // namespace tritonts
