// Lean and dispatch runtimes, version-compatible plans and plugins. Driver, GPUs and TensorRT are
// the fakes of test/fakes.
#include "tensorrt_fixture.h"

namespace tritonts::test {

namespace {

std::string Compatible(const std::string& major = "10") {
  return PlanText("add", "0 0 0 -1 4", major + " compatible");
}

// A plan without the code that reads it.
std::string WithoutLean(const std::string& major = "10") {
  return PlanText("add", "0 0 0 -1 4", major + " compatible without-lean");
}

Status RuntimesLoadStatus(const std::string& plan, const std::string& which,
                          const std::map<std::string, std::string>& settings = {}) {
  return TensorRtBackend().Load(PlanSpec(plan, "0", which, settings)).status();
}

}  // namespace

TEST(tensorrt_reads_version_compatible_plans_where_that_is_allowed) {
  for (const char* which : {"10", "10.16", "11", "lean", "dispatch"}) {
    const Status forbidden = RuntimesLoadStatus(Compatible(), which);
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

// The fake ends the process if a runtime is deleted before the objects that it made or loaded.
TEST(tensorrt_loads_the_lean_runtime_that_a_plan_does_not_bring) {
  const std::map<std::string, std::string> settings = {{"version_compatible", "1"},
                                                       {"lean_runtime", FakeTensorRt("lean")}};
  for (const char* which : {"10", "10.16", "11", "dispatch"}) {
    CHECK(Contains(RuntimesLoadStatus(WithoutLean(), which, {{"version_compatible", "1"}}),
                   "the plan has no lean runtime, and none was loaded"));
    {
      PlanBench bench(PlanSpec(WithoutLean(), "0", which, settings));
      bench.Ask({1});
      CHECK(bench.sink.Wait(1));
      CHECK(bench.Answered(0, 1));
    }
    // Plans that need no lean runtime are read as without the setting, even if the file does not
    // exist.
    for (const std::string& file : {FakeTensorRt("lean"), std::string("/nowhere/liblean.so")}) {
      CHECK_EQ(RuntimesLoadStatus(Compatible(), which,
                                  {{"version_compatible", "1"}, {"lean_runtime", file}})
                   .message(),
               "");
    }
    CHECK(Objects() == kNone);
  }
}

TEST(tensorrt_says_why_no_lean_runtime_reads_a_plan) {
  const auto refused = [](const std::string& plan, const std::string& file,
                          const std::string& which = "11") {
    const Status status =
        RuntimesLoadStatus(plan, which, {{"version_compatible", "1"}, {"lean_runtime", file}});
    CHECK(Objects() == kNone);
    return status;
  };
  const Status missing = refused(WithoutLean(), "/nowhere/liblean.so");
  CHECK_EQ(missing.code(), Code::kUnavailable);
  CHECK(Contains(missing,
                 "TensorRT 11.1.0 can't load the lean runtime /nowhere/liblean.so (name "
                 "libnvinfer_lean of the version that built the plan with "
                 "backendConfig.tensorrt.lean-runtime): Unable to load library: "
                 "/nowhere/liblean.so"));
  const Status whole = refused(WithoutLean(), FakeTensorRt("10.16"));
  CHECK_EQ(whole.code(), Code::kUnavailable);
  CHECK(Contains(whole, "): Not a lean runtime: "));
  const Status version = refused(WithoutLean("9"), FakeTensorRt("lean"));
  CHECK_EQ(version.code(), Code::kInvalidArg);
  CHECK(Contains(version,
                 "can't read it, either (backendConfig.tensorrt.lean-runtime has to be of "
                 "the version that built the plan): the plan was built with another "
                 "version than the lean runtime"));
  const Status none = refused("no plan at all", FakeTensorRt("lean"));
  CHECK_EQ(none.code(), Code::kInvalidArg);
  CHECK(Contains(none, "magicTag"));
  const Status rtx = refused(WithoutLean(), FakeTensorRt("lean"), "rtx");
  CHECK_EQ(rtx.code(), Code::kUnsupported);
  CHECK(Contains(rtx, "TensorRT for RTX 1.7.1 has no lean runtimes"));
  CHECK_EQ(RuntimesLoadStatus(WithoutLean(), "11", {{"lean_runtime", FakeTensorRt("lean")}}).code(),
           Code::kInternal);
}

TEST(tensorrt_says_what_lean_and_dispatch_runtimes_read) {
  for (const auto& [which, major] : {std::pair{"lean", "10"}, std::pair{"dispatch", "11"}}) {
    const Status status = RuntimesLoadStatus(PlanText("add", "0 0 0 -1 4", major), which,
                                             {{"version_compatible", "1"}});
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
  CHECK(Contains(RuntimesLoadStatus(plan, "10"), "could not find plugin OwnPlugin"));
  const std::string own = TRITONTS_FAKES "/libfakeplugin.so";
  const Status missing =
      RuntimesLoadStatus(plan, "10", {{"plugins", own + "\n/nowhere/libplugin.so"}});
  CHECK_EQ(missing.code(), Code::kUnavailable);
  CHECK(Contains(missing,
                 "the library of plugins /nowhere/libplugin.so (backendConfig.tensorrt."
                 "plugins) can't be opened"));
  CHECK_EQ(RuntimesLoadStatus(plan, "10", {{"plugins", own}}).message(), "");
  CHECK(Objects() == kNone);
}

}  // namespace tritonts::test
