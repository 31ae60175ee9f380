// Loading and starting versions of a server.
#include "server_scripts.h"

namespace tritonts::test {

TEST(server_opens_starts_and_serves_a_version) {
  ServerBench bench;
  IdentityBackend identity;
  PortClient client(bench.shared());
  const uint32_t uid = bench.Serve(&identity, ConfigOf(FloatIo()));
  CHECK(uid > 0);
  CHECK(bench.server().Serves(uid));
  client.Write(uid, 1, {OneFloat()});
  CHECK(client.Take(1)[0].code == Code::kOk);
}

TEST(server_tells_why_a_model_did_not_load) {
  Script script;
  script.load = [](const ModelSpec& spec) { return Status::InvalidArg("bad " + spec.path); };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  auto opened = bench.Open(&backend, {"m", 1, "/file", {}});
  CHECK(opened.status().code() == Code::kInvalidArg);
  CHECK_EQ(opened.status().message(), "bad /file");
}

TEST(server_keeps_a_version_that_did_not_start_until_it_is_retired) {
  Script script;
  script.create = [](const InstanceSpec&) { return Status::Unavailable(Reason::kNotReady, "no"); };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  const uint32_t uid = bench.Open(&backend).value();
  CHECK_EQ(bench.Start(uid, ConfigOf(FloatIo())).message(), "no");
  CHECK(bench.server().Serves(uid));
  Result<bool> retired;
  bench.server().Retire(uid, retired.Callback());
  CHECK_EQ(retired.Value(), false);
  CHECK(!bench.server().Serves(uid));
}

TEST(server_does_not_start_what_is_not_there) {
  ServerBench bench;
  CHECK(bench.Start(77, ConfigOf(FloatIo())).code() == Code::kCancelled);
}

TEST(server_starts_on_the_calling_thread_what_starts_at_once) {
  ServerBench bench;
  IdentityBackend identity;
  PortClient client(bench.shared());
  VersionConfig config = ConfigOf(FloatIo());
  const uint32_t uid = bench.Open(&identity).value();
  const auto status = bench.server().StartAtOnce(uid, &config);
  CHECK(status && status->ok());
  client.Write(uid, 1, {OneFloat()});
  CHECK(client.Take(1)[0].code == Code::kOk);
}

TEST(server_leaves_to_a_loader_what_does_not_start_at_once) {
  ServerBench bench;
  ScriptedBackend backend({});
  VersionConfig config = ConfigOf(FloatIo());
  const uint32_t uid = bench.Open(&backend).value();
  CHECK(!bench.server().StartAtOnce(uid, &config));
  CHECK(!bench.server().StartAtOnce(uid + 1, &config));
  CHECK_EQ(config.io.inputs.size(), 1u);
  CHECK(bench.Start(uid, std::move(config)).ok());
}

TEST(server_leaves_to_a_loader_what_has_many_instances_or_tensors) {
  ServerBench bench;
  IdentityBackend identity;
  const uint32_t uid = bench.Open(&identity).value();
  VersionConfig many = ConfigOf(FloatIo());
  many.instances.resize(17);
  CHECK(!bench.server().StartAtOnce(uid, &many));
  VersionConfig wide = ConfigOf(FloatIo());
  wide.io.inputs.resize(64);
  CHECK(!bench.server().StartAtOnce(uid, &wide));
}

TEST(server_that_closes_starts_nothing_at_once) {
  Script script;
  script.starts_at_once = true;
  script.create = [](const InstanceSpec&) { return Status::Internal("it was called"); };
  ScriptedBackend backend(std::move(script));
  ServerBench bench;
  VersionConfig config = ConfigOf(FloatIo());
  // A port that does not acknowledge the epoch keeps the version.
  PortClient client(bench.shared());
  const uint32_t uid = bench.Open(&backend).value();
  Result<Names> closed;
  bench.server().Close(3'600'000, closed.Callback());
  const auto status = bench.server().StartAtOnce(uid, &config);
  CHECK(status && status->code() == Code::kCancelled);
  CHECK(closed.Value().empty());
}

TEST(server_loads_as_many_models_at_once_as_it_may) {
  auto gate = std::make_shared<RunsGate>();
  ScriptedBackend backend(LoadThrough(gate));
  ServerBench bench;  // two concurrent loads
  Result<OpenResult> opened[3];
  for (auto& result : opened) bench.server().Open(&backend, {"m", 1, "", {}}, result.Callback());
  CHECK(gate->Entered(2));
  CHECK_EQ(gate->entered(), 2);
  gate->Open();
  for (auto& result : opened) CHECK(result.Value().status.ok());
  CHECK_EQ(gate->entered(), 3);
}

TEST(server_cancels_loads_that_have_not_begun) {
  auto gate = std::make_shared<RunsGate>();
  ScriptedBackend backend(LoadThrough(gate));
  ServerBench bench;
  Result<OpenResult> opened[3];
  for (auto& result : opened) bench.server().Open(&backend, {"m", 1, "", {}}, result.Callback());
  CHECK(gate->Entered(2));
  Result<Status> started;
  bench.server().Start(1, ConfigOf(FloatIo()), started.Callback());
  bench.server().CancelLoads();
  CHECK(opened[2].Value().status.code() == Code::kCancelled);
  CHECK(started.Value().code() == Code::kCancelled);
  gate->Open();
  CHECK(opened[0].Value().status.ok());
  CHECK(opened[1].Value().status.ok());
}

}  // namespace tritonts::test
