// Shared by tests of ports.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "port_client.h"
#include "server_fixture.h"

namespace tritonts::test {

// A model with a vector of any length as input 0 and output 0.
inline ModelIo Vectors() {
  ModelIo io = FloatIo(0);
  io.inputs[0].dims = io.outputs[0].dims = {-1};
  return io;
}

inline PortInput FloatsInput(const std::vector<float>& values) {
  return {0, {static_cast<int32_t>(values.size()), 1}, BytesOf(values)};
}

// The response to a slot. Fails the test if there is none.
inline const PortResponse& ResponseOf(uint32_t slot, const std::vector<PortResponse>& responses) {
  static const PortResponse none;
  for (const PortResponse& response : responses) {
    if (response.slot == slot) return response;
  }
  CHECK(!"there is an answer for the slot");
  return none;
}

// A server with one version, and a port.
struct PortBench {
  explicit PortBench(bool copies = false, uint64_t limit = uint64_t{1} << 30)
      : server(limit), client(server.shared(), copies) {}

  void ServeIdentity(VersionConfig config) { uid = server.Serve(&identity, std::move(config)); }
  // Serves a version whose runs wait at their gate.
  void ServeRuns(VersionConfig config) {
    scripted = std::make_unique<ScriptedBackend>(ScriptOf(runs));
    uid = server.Serve(scripted.get(), std::move(config));
  }
  void ServeScript(Script script, VersionConfig config) {
    scripted = std::make_unique<ScriptedBackend>(std::move(script));
    uid = server.Serve(scripted.get(), std::move(config));
  }
  uint32_t Write(const std::vector<float>& values) {
    return client.Write(uid, static_cast<uint32_t>(values.size()), {FloatsInput(values)});
  }
  Statistics statistics() { return server.server().FindVersion(uid)->statistics(); }

  std::shared_ptr<Runs> runs = std::make_shared<Runs>();
  IdentityBackend identity;
  std::unique_ptr<ScriptedBackend> scripted;
  ServerBench server;
  PortClient client;
  uint32_t uid = 0;
};

}  // namespace tritonts::test
