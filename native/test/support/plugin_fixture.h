// A version of a model whose backend is one of the plug-ins of test/plugins/backends.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "version_fixture.h"

namespace tritonts {

namespace plugin {
Backend* MakeBackend();
}  // namespace plugin

namespace test {

using Settings = std::map<std::string, std::string>;

inline ModelSpec PluginSpec(const std::string& name, const std::string& config,
                            const std::string& backend_config = "{\"cmdline\":{}}") {
  return {
      "m",
      1,
      "",
      {{"library", std::string(TRITONTS_FAKES) + "/plugins/" + name + "/libtriton_" + name + ".so"},
       {"own_library", TRITONTS_OWN_LIBRARY},
       {"backend", name},
       {"backend_config", backend_config},
       {"config", config},
       {"auto_complete", "false"},
       {"repository", "/models/m"},
       {"engine", "0"},
       {"server", "0"}}};
}

// The configuration of a model with these parameters, as far as plug-ins read it.
inline std::string PluginConfig(const Settings& parameters = {}, const std::string& more = "") {
  std::string text = R"({"name":"m","max_batch_size":8)" + more + R"(,"parameters":{)";
  for (const auto& [name, value] : parameters) {
    text += (text.back() == '{' ? "\"" : ",\"") + name + R"(":{"string_value":")" + value + "\"}";
  }
  return text + "}}";
}

inline VersionConfig WithJson(VersionConfig config, std::string json) {
  config.json = std::move(json);
  return config;
}

// A started version.
class PluginVersion : public VersionBench {
 public:
  PluginVersion(const std::string& name, VersionConfig config, const std::string& json)
      : VersionBench(std::unique_ptr<Backend>(plugin::MakeBackend()), PluginSpec(name, json)) {
    CHECK_EQ(version().Start(WithJson(std::move(config), json)).message(), "");
  }

  // A request of one row with this value as input 0, and a parameter `break`.
  Request* Make(float value, const std::string& rule = "") {
    Request* const request = requests.Floats({value});
    if (!rule.empty()) request->header->parameters.push_back({"break", rule});
    return request;
  }
  SeenResponse Answer(Request* request) {
    Submit({request});
    return AnswerTo(request);
  }
  // The response to a request of a model that is not decoupled.
  SeenResponse AnswerTo(Request* request) {
    const uint32_t slot = request->header->slot;
    CHECK(Eventually([&] { return !sink.AllOf(slot).empty(); }));
    return sink.Of(slot);
  }
};

}  // namespace test
}  // namespace tritonts
