// Lean and dispatch runtimes, version-compatible plans and plugins. Driver, GPUs and TensorRT are
// fakes; what they do is in test/fakes.
#include "tensorrt_fixture.h"

namespace tritonts::test {

namespace {

std::string Compatible(const std::string& major = "10") {
  return PlanText("add", "0 0 0 -1 4", major + " compatible");
}

Status LoadStatus(const std::string& plan, const std::string& which,
                  const std::map<std::string, std::string>& settings = {}) {
  return TensorRtBackend().Load(PlanSpec(plan, "0", which, settings)).status();
}

}  // namespace

TEST(tensorrt_reads_version_compatible_plans_where_that_is_allowed) {
  for (const char* which : {"10", "10.16", "11", "lean", "dispatch"}) {
    const Status forbidden = LoadStatus(Compatible(), which);
    CHECK_EQ(forbidden.code(), Code::kInvalidArg);
    CHECK(Contains(forbidden, "set version-compatible in backendConfig.tensorrt"));
    CHECK(Contains(forbidden, "setEngineHostCodeAllowed"));
    PlanBench bench(PlanSpec(Compatible(), "0", which, {{"version_compatible", "1"}}));
    bench.Ask({1});
    CHECK(bench.sink.Wait(1));
    CHECK(bench.Answered(0, 1));
  }
  CHECK(Objects() == kNone);
}

TEST(tensorrt_says_what_lean_and_dispatch_runtimes_read) {
  for (const auto& [which, major] : {std::pair{"lean", "10"}, std::pair{"dispatch", "11"}}) {
    const Status status =
        LoadStatus(PlanText("add", "0 0 0 -1 4", major), which, {{"version_compatible", "1"}});
    CHECK_EQ(status.code(), Code::kInvalidArg);
    CHECK(Contains(status, "can't read the plan (it reads version-compatible plans only)"));
  }
}

TEST(tensorrt_registers_the_plugins_of_nvidia_beside_the_library) {
  const std::string plan = PlanText() + "plugin NvidiasPlugin\n";
  PlanBench bench(plan);
  bench.Ask({1});
  CHECK(bench.sink.Wait(1));
  CHECK(bench.Answered(0, 1));
  CHECK(bench.version().Info().at("plugins").ends_with("/libnvinfer_plugin.so.10"));
}

TEST(tensorrt_opens_the_libraries_of_plugins_that_are_named) {
  const std::string plan = PlanText() + "plugin OwnPlugin\n";
  CHECK(Contains(LoadStatus(plan, "10"), "could not find plugin OwnPlugin"));
  const std::string own = TRITONTS_FAKES "/libfakeplugin.so";
  const Status missing = LoadStatus(plan, "10", {{"plugins", own + "\n/nowhere/libplugin.so"}});
  CHECK_EQ(missing.code(), Code::kUnavailable);
  CHECK(Contains(missing,
                 "the library of plugins /nowhere/libplugin.so (backendConfig.tensorrt."
                 "plugins) can't be opened"));
  CHECK_EQ(LoadStatus(plan, "10", {{"plugins", own}}).message(), "");
  CHECK(Objects() == kNone);
}

}  // namespace tritonts::test
