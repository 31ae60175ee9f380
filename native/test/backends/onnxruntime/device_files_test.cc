// Versions whose GPUs use different files: which file an instance uses, and what the files must
// have in common. Driver, GPUs, TensorRT and the CUDA provider are the fakes of test/fakes.
#include "backends/gpu/device_files.h"

#include "onnxruntime_gpu_fixture.h"

namespace tritonts::test {

namespace {

std::string TextWith(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  CHECK(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

// GPU 0 uses model.plan, and GPU 1 another file.
ModelSpec TwoPlans(const std::string& plan, const std::string& other,
                   std::map<std::string, std::string> settings = {}) {
  settings["file.1"] = "other.plan";
  ModelSpec spec = PlanSpec(plan, "0,1", "10.16", settings);
  spec.files["other.plan"] = std::make_shared<const std::string>(other);
  return spec;
}

// The error of loading or configuring.
Status StatusOf(Backend& backend, const ModelSpec& spec, const ModelIo& io) {
  auto model = backend.Load(spec);
  return model.ok() ? model.value()->Configure(io, "{}") : model.status();
}
Status PlansStatus(const std::string& plan, const std::string& other, const ModelIo& io = Io(),
                   const std::map<std::string, std::string>& settings = {}) {
  TensorRtBackend backend;
  return StatusOf(backend, TwoPlans(plan, other, settings), io);
}

std::vector<float> ValuesOf(VersionBench& bench, uint32_t slot) {
  auto response = bench.sink.Of(slot);
  CHECK_EQ(response.status.message(), "");
  return response.status.ok() ? Values<float>(response.outputs[0].bytes) : std::vector<float>();
}

// y = x
const std::string kSame = PlanText("copy");

}  // namespace

TEST(device_files_each_gpu_has_the_engine_of_its_file) {
  for (const auto& [device, expected] : {std::pair{0, 4.0f}, std::pair{1, 3.0f}}) {
    PlanBench bench(TwoPlans(PlanText(), kSame), {device});
    bench.Ask({3});
    CHECK(bench.sink.Wait(1));
    CHECK_EQ(ValuesOf(bench, 0).at(0), expected);
  }
  CHECK(Objects() == kNone);
}

TEST(device_files_are_read_from_disk_also_where_gpus_take_them_in_turn) {
  const TemporaryFolder folder;
  ModelSpec spec = PlanSpec("", "0,1");
  spec.files.clear();
  spec.path = folder.File("model.plan", PlanText());
  spec.settings["file.0"] = folder.File("other.plan", kSame);
  for (const auto& [device, expected] : {std::pair{0, 3.0f}, std::pair{1, 4.0f}}) {
    PlanBench bench(spec, {device});
    bench.Ask({3});
    CHECK(bench.sink.Wait(1));
    CHECK_EQ(ValuesOf(bench, 0).at(0), expected);
  }
  spec.settings["file.0"] = (folder.path() / "nosuch.plan").string();
  CHECK(Contains(TensorRtBackend().Load(spec).status(), "nosuch.plan can't be read"));
}

TEST(device_files_that_cannot_be_read_are_named_with_their_gpu) {
  const Status status = PlansStatus(PlanText(), "no plan at all");
  CHECK_EQ(status.code(), Code::kInvalidArg);
  CHECK(Contains(status, "'other.plan', for GPU 1: TensorRT 10.16.1 can't read the plan"));
  CHECK(Objects() == kNone);
}

TEST(device_files_with_other_tensors_are_refused_and_both_named) {
  const std::string plan = PlanText();
  const auto text = [&](const std::string& what, const std::string& with) {
    const Status status = PlansStatus(plan, TextWith(plan, what, with));
    CHECK_EQ(status.code(), Code::kInvalidArg);
    return status.message();
  };
  const std::string differ = "the files of cc_model_filenames differ: ";
  CHECK_EQ(text("output y", "output z"),
           differ + "output 'z': 'model.plan' has none, and 'other.plan' has it");
  CHECK_EQ(text("output y", "output z 0 0 0 -1 4\noutput y"),
           differ + "output 'z': 'model.plan' has none, and 'other.plan' has it");
  const Status fewer = PlansStatus(plan + "output z 0 0 0 -1 4\n", plan);
  CHECK_EQ(fewer.message(), differ + "output 'z': 'model.plan' has it, and 'other.plan' has none");
  CHECK_EQ(text("input x 0 0 0", "input x 3 0 0"),
           differ + "input 'x': 'model.plan' has float32, and 'other.plan' int32");
  CHECK_EQ(text("output y 0 0 0 -1 4", "output y 0 0 0 -1 -1"),
           differ + "output 'y': 'model.plan' has dims [-1,4], and 'other.plan' dims [-1,-1]");
  CHECK_EQ(text("output y 0 0 0 -1 4", "output y 0 0 0 -1 4 1"),
           differ + "output 'y': 'model.plan' has dims [-1,4], and 'other.plan' dims [-1,4,1]");
  CHECK(Objects() == kNone);
}

TEST(device_files_may_have_other_dims_where_the_configuration_says_them) {
  const std::string plan = PlanText();
  const std::string dynamic = TextWith(TextWith(plan, "input x 0 0 0 -1 4", "input x 0 0 0 -1 -1"),
                                       "1 4 4 4 8 4", "1 1 4 4 8 9");
  const std::map<std::string, std::string> written = {{"written_dims", "x\ny"}};
  CHECK(Contains(PlansStatus(plan, dynamic), "'other.plan' dims [-1,-1]"));
  CHECK_EQ(PlansStatus(plan, dynamic, Io(), written).message(), "");
  CHECK_EQ(PlansStatus(dynamic, plan, Io(), written).message(), "");
  // The first file's dims were compared before.
  ModelIo wide = Io();
  wide.inputs[0].dims = {-1, 5};
  CHECK_EQ(PlansStatus(dynamic, plan, wide, written).message(),
           "input 'x' is configured with dims [-1,5], but 'other.plan' has [-1,4]");
  const std::string five =
      TextWith(TextWith(plan, "-1 4\noutput", "-1 5\noutput"), "1 4 4 4 8 4", "1 5 4 5 8 5");
  CHECK(Contains(PlansStatus(plan, five, Io(), written), "'other.plan' dims [-1,5]"));
}

TEST(device_files_batches_are_what_all_profiles_take) {
  const std::string fewer = TextWith(PlanText(), "1 4 4 4 8 4", "1 4 2 4 6 4");
  for (const auto& [plan, other] : {std::pair{PlanText(), fewer}, std::pair{fewer, PlanText()}}) {
    auto model = TensorRtBackend().Load(TwoPlans(plan, other));
    CHECK_EQ(model.status().message(), "");
    CHECK_EQ(model.value()->Describe().most_rows.value_or(99), 6u);
    CHECK(Contains(model.value()->Configure(Io(7), "{}"), "at most 6 rows"));
    CHECK_EQ(model.value()->Configure(Io(6), "{}").message(), "");
  }
}

TEST(device_files_with_other_profiles_are_refused_and_both_named) {
  const std::string differ = "the files of cc_model_filenames differ: ";
  const std::string plan = PlanText();
  CHECK_EQ(PlansStatus(plan, plan + "profile x 1 4 4 4 16 4\n").message(),
           differ + "profiles: 'model.plan' has 1, and 'other.plan' 2");
  // max_batch_size does not limit the minimum rows.
  CHECK_EQ(PlansStatus(plan, TextWith(plan, "1 4 4 4", "2 4 4 4")).message(),
           differ +
               "input 'x', profile 0: 'model.plan' has [1,4] to [8,4], and 'other.plan' "
               "[2,4] to [8,4]");
  // Without batching it does not limit the maximum, either.
  CHECK_EQ(PlansStatus(plan, TextWith(plan, "8 4", "6 4"), Io(0)).message(),
           differ +
               "input 'x', profile 0: 'model.plan' has [1,4] to [8,4], and 'other.plan' "
               "[1,4] to [6,4]");
  const std::string shape =
      "fake-plan 10\nop add\ninput x 0 0 0 -1 4\ninput s 3 1 0 2\noutput y 0 0 0 -1 4\n"
      "profile x 1 4 4 4 8 4\nprofile s 2 2 2\nvalues s 1 1 4 4 8 8\n";
  const ModelIo io = {0,
                      {{"x", DataType::kFp32, {-1, 4}}, {"s", DataType::kInt32, {2}}},
                      {{"y", DataType::kFp32, {-1, 4}}}};
  CHECK_EQ(PlansStatus(shape, TextWith(shape, "8 8", "8 9"), io).message(),
           differ +
               "input 's', profile 0: 'model.plan' has [1,1] to [8,8], and 'other.plan' "
               "[1,1] to [8,9]");
  CHECK_EQ(PlansStatus(shape, TextWith(shape, "s 3 1 0 2", "s 3 0 0 2"), io).message(),
           differ + "input 's': 'model.plan' has a shape tensor, and 'other.plan' none");
  // The first values are rows, which max_batch_size limits.
  ModelIo batched = io;
  batched.max_batch_size = 4;
  batched.inputs[1].rows_in_values = true;
  CHECK_EQ(PlansStatus(shape, TextWith(shape, "4 4 8 8", "4 4 6 8"), batched).message(), "");
  CHECK_EQ(PlansStatus(shape, TextWith(shape, "4 4 8 8", "4 4 6 9"), batched).message(),
           differ +
               "input 's', profile 0: 'model.plan' has [1,1] to [6,8], and 'other.plan' "
               "[1,1] to [6,9]");
}

namespace {

// y = x + `addend`, [N, width].
OnnxModelWriter Plus(float addend, int64_t width = 4) {
  return OnnxModelWriter()
      .Initializer("one", kOnnxFloat, {1}, Raw<float>({addend}))
      .Input("x", Tensor(kOnnxFloat, {-1, width}))
      .Node("Add", {"x", "one"}, {"y"})
      .Output("y", Tensor(kOnnxFloat, {-1, width}));
}

// GPU 0 uses model.onnx; GPU 1 and the CPU use another file.
ModelSpec TwoModels(const FakeRuntime& runtime, const OnnxModelWriter& writer,
                    const OnnxModelWriter& other, SettingMap settings = {}) {
  settings["devices"] = "-1,0,1";
  settings["file.1"] = settings["file.-1"] = "other.onnx";
  ModelSpec spec = OnnxSpec(runtime, writer, std::move(settings));
  spec.files["other.onnx"] = std::make_shared<const std::string>(other.Model());
  return spec;
}

}  // namespace

RUNTIME_TEST(device_files_each_device_has_the_session_of_its_file) {
  const FakeRuntime runtime;
  for (const auto& [device, expected] :
       {std::pair{0, 4.0f}, std::pair{1, 13.0f}, std::pair{-1, 13.0f}}) {
    VersionBench bench(std::make_unique<OnnxOnGpus>(), TwoModels(runtime, Plus(1), Plus(10)));
    VersionConfig config = OnGpus({std::max(0, device)});
    if (device < 0) config.instances[0].memory = MemoryKind::kHost;
    CHECK_EQ(bench.version().Start(std::move(config)).message(), "");
    bench.Submit({MakeRows(&bench.requests, {3})});
    CHECK(bench.sink.Wait(1));
    CHECK_EQ(ValuesOf(bench, 0).at(0), expected);
  }
  CHECK_EQ(runtime.live(), 0);
}

RUNTIME_TEST(device_files_of_onnx_must_have_the_same_tensors) {
  const FakeRuntime runtime;
  OnnxOnGpus backend;
  const ModelIo io = Io();
  // The CPU comes first.
  CHECK_EQ(StatusOf(backend, TwoModels(runtime, Plus(1), PlusOne("z")), io).message(),
           "the files of cc_model_filenames differ: input 'x': 'other.onnx' has none, and "
           "'model.onnx' has it");
  const Status dims = StatusOf(backend, TwoModels(runtime, Plus(1), Plus(1, -2)), io);
  CHECK(Contains(dims, "input 'x': 'other.onnx' has dims [-1,-1], and 'model.onnx' dims [-1,4]"));
  const SettingMap written = {{"written_dims", "x\ny"}};
  CHECK_EQ(StatusOf(backend, TwoModels(runtime, Plus(1), Plus(1, -2), written), io).message(), "");
  CHECK_EQ(runtime.live(), 0);
}

}  // namespace tritonts::test
