// The openvino backend: its library, settings, shapes, batches.
#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "backends/openvino/type_model.h"
#include "fakes/fakes.h"
#include "openvino_fixture.h"
#include "version_fixture.h"

namespace tritonts::test {

namespace {

// y = x + x, with these dims.
OnnxModelWriter Twice(const std::vector<int64_t>& dims, OnnxType type = kOnnxFloat) {
  return OnnxModelWriter()
      .Input("x", Tensor(type, dims))
      .Node("Add", {"x", "x"}, {"y"})
      .Output("y", Tensor(type, dims));
}

ModelIo TwiceIo(uint32_t max_batch_size, const std::vector<int64_t>& dims,
                DataType type = DataType::kFp32) {
  return {max_batch_size, {{"x", type, dims}}, {{"y", type, dims}}};
}

// The values whose indexes in x are not 0, in a tensor whose shape depends on them.
OnnxModelWriter Positions() {
  return OnnxModelWriter()
      .Input("x", Tensor(kOnnxFloat, {-1}))
      .Node("NonZero", {"x"}, {"y"})
      .Output("y", Tensor(kOnnxInt64, {1, -2}));
}

}  // namespace

TEST(openvino_settings_are_read_or_refused) {
  auto read = openvino::ReadSettings(
      {{"library", "l"}, {"device", "CPU"}, {"properties", "A=1\nB=c=d"}, {"padding", "true"}});
  CHECK(read.ok());
  CHECK_EQ(read.value().properties.size(), 2u);
  CHECK_EQ(read.value().properties[1].second, "c=d");
  CHECK(read.value().padding && !read.value().reshape);
  CHECK(Contains(openvino::ReadSettings({{"padding", "YES"}}).status(), "true or false"));
  CHECK(Contains(openvino::ReadSettings({{"properties", "A"}}).status(), "KEY=VALUE"));
  CHECK(Contains(openvino::ReadSettings({{"guess", ""}}).status(), "unknown openvino setting"));
}

TEST(openvino_library_that_cannot_be_used_says_what_to_do) {
  const auto refusal = [](const std::string& path) {
    const Status status = openvino::Library::Open(path).status();
    CHECK(status.code() == Code::kUnavailable && status.reason() == Reason::kMissing);
    return status.message();
  };
  CHECK(Contains(refusal("/nowhere/libopenvino_c.so"), "pip install openvino"));
  CHECK(Contains(refusal(PlainLibrary()), "not OpenVINO's C library"));
}

TEST(openvino_type_model_names_its_inputs_by_their_types) {
  CHECK(openvino::TypeOfInput("FP32") == DataType::kFp32);
  CHECK(openvino::TypeOfInput("BF16") == DataType::kBf16);
  CHECK(openvino::TypeOfInput("BYTES") == DataType::kInvalid);
  CHECK(openvino::TypeModel().find("UINT64_out") != std::string::npos);
}

OPENVINO_TEST(openvino_library_has_a_number_for_each_datatype) {
  auto library = openvino::Library::Open(OpenVinoSettings()["library"]);
  CHECK_EQ(library.status().message(), "");
  std::vector<int> numbers;
  for (int type = 1; type <= static_cast<int>(DataType::kBf16); type++) {
    const auto datatype = static_cast<DataType>(type);
    const int number = library.value()->ElementOf(datatype);
    CHECK_EQ(number >= 0, datatype != DataType::kBytes);
    if (number >= 0) CHECK(library.value()->TypeOf(number) == datatype);
  }
  CHECK(openvino::Library::Open(OpenVinoSettings()["library"]).value() == library.value());
}

OPENVINO_TEST(openvino_runs_requests_together) {
  OpenVinoReady ready(Twice({-1, 2}), TwiceIo(8, {-1, 2}));
  CHECK_EQ(ready.status.message(), "");
  for (int i = 0; i < 3; i++) {
    RecordingBatch batch;
    batch.Add(1).Floats({1, 2}, {1, 2}).Add(2).Floats({2, 2}, {3, 4, 5, 6});
    ready.instance->Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    CHECK_EQ(batch.marks, "icr");
    CHECK_EQ(batch.outputs[0].tail, Dims{2});
    CHECK_EQ(Values<float>(batch.outputs[0].bytes), (Floats{2, 4, 6, 8, 10, 12}));
  }
}

OPENVINO_TEST(openvino_batches_a_model_of_one_row) {
  OpenVinoReady ready(Twice({1, 2}), TwiceIo(8, {-1, 2}));
  CHECK_EQ(ready.status.message(), "");
  RecordingBatch batch;
  batch.Add(3).Floats({3, 2}, {1, 2, 3, 4, 5, 6});
  ready.instance->Execute(batch);
  CHECK_EQ(batch.status.message(), "");
  CHECK_EQ(Values<float>(batch.outputs[0].bytes), (Floats{2, 4, 6, 8, 10, 12}));
}

OPENVINO_TEST(openvino_runs_shapes_that_are_not_known_before) {
  OpenVinoReady ready(Twice({-1, -2}), TwiceIo(8, {-1, -1}));
  CHECK_EQ(ready.status.message(), "");
  for (const int64_t width : {1, 3, 2}) {
    RecordingBatch batch;
    const Floats row(static_cast<size_t>(width), 1.5f);
    const Floats doubled(static_cast<size_t>(width), 3.0f);
    batch.Add().Floats({1, width}, row).Add().Floats({1, width}, row);
    ready.instance->Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    CHECK_EQ(batch.outputs[0].tail, Dims{width});
    CHECK_EQ(batch.outputs[0].bytes, Raw(doubled) + Raw(doubled));
  }
}

OPENVINO_TEST(openvino_answers_outputs_whose_shape_depends_on_data) {
  OpenVinoReady ready(Positions(),
                      {0, {{"x", DataType::kFp32, {-1}}}, {{"y", DataType::kInt64, {1, -1}}}});
  CHECK_EQ(ready.status.message(), "");
  for (const Floats& values : {Floats{0, 1, 0, 2}, Floats{1, 1, 1}, Floats{0, 0}}) {
    std::vector<int64_t> expected;
    for (size_t i = 0; i < values.size(); i++) {
      if (values[i] != 0) expected.push_back(static_cast<int64_t>(i));
    }
    RecordingBatch batch;
    batch.Add().Floats({static_cast<int64_t>(values.size())}, values);
    ready.instance->Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    CHECK_EQ(batch.outputs[0].tail, (Dims{1, static_cast<int64_t>(expected.size())}));
    CHECK_EQ(Values<int64_t>(batch.outputs[0].bytes), expected);
  }
}

OPENVINO_TEST(openvino_computes_outputs_that_nobody_wants_elsewhere) {
  OpenVinoReady ready(
      Twice({-1, 2}).Node("Neg", {"x"}, {"z"}).Output("z", Tensor(kOnnxFloat, {-1, 2})),
      {8,
       {{"x", DataType::kFp32, {-1, 2}}},
       {{"y", DataType::kFp32, {-1, 2}}, {"z", DataType::kFp32, {-1, 2}}}});
  CHECK_EQ(ready.status.message(), "");
  const float* first = nullptr;
  RecordingBatch both;
  both.Add().Floats({1, 2}, {1, 2});
  ready.instance->Execute(both);
  CHECK_EQ(both.status.message(), "");
  first = static_cast<const float*>(both.outputs[0].data);
  RecordingBatch one;
  one.Add(1, {1}).Floats({1, 2}, {7, 8});
  ready.instance->Execute(one);
  CHECK_EQ(one.status.message(), "");
  CHECK_EQ(one.outputs.size(), 1u);
  CHECK_EQ(Values<float>(one.outputs[1].bytes), (Floats{-7, -8}));
  CHECK_EQ(first[0], 2.0f);  // the memory of the earlier response
}

OPENVINO_TEST(openvino_fills_batches_of_models_that_take_only_full_ones) {
  // The weights have 4 rows, so the model takes 4.
  const OnnxModelWriter four = OnnxModelWriter()
                                   .Input("x", Tensor(kOnnxFloat, {4, 1}))
                                   .Initializer("w", kOnnxFloat, {4, 1}, Raw<float>({1, 2, 3, 4}))
                                   .Node("Mul", {"x", "w"}, {"y"})
                                   .Output("y", Tensor(kOnnxFloat, {4, 1}));
  const OpenVinoReady refused(four, TwiceIo(4, {-1, 1}));
  CHECK(refused.status.code() == Code::kInvalidArg);
  CHECK(Contains(refused.status, "ENABLE_BATCH_PADDING: YES"));
  OpenVinoReady ready(four, TwiceIo(4, {-1, 1}), {{"padding", "true"}});
  CHECK_EQ(ready.status.message(), "");
  for (uint32_t rows = 4; rows > 0; rows--) {
    RecordingBatch batch;
    const Floats ones(rows, 1);
    batch.Add(rows).Floats({int64_t{rows}, 1}, ones);
    ready.instance->Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    Floats expected = {1, 2, 3, 4};
    expected.resize(rows);
    CHECK_EQ(Values<float>(batch.outputs[0].bytes), expected);
  }
}

OPENVINO_TEST(openvino_answers_outputs_that_are_inputs) {
  OpenVinoReady ready(OnnxModelWriter()
                          .Input("x", Tensor(kOnnxFloat, {-1, 2}))
                          .Node("Add", {"x", "x"}, {"y"})
                          .Output("x", Tensor(kOnnxFloat, {-1, 2}))
                          .Output("y", Tensor(kOnnxFloat, {-1, 2})),
                      {8,
                       {{"x", DataType::kFp32, {-1, 2}}},
                       {{"x", DataType::kFp32, {-1, 2}}, {"y", DataType::kFp32, {-1, 2}}}});
  CHECK_EQ(ready.status.message(), "");
  for (uint32_t rows : {1, 3, 2}) {
    RecordingBatch batch;
    const Floats values(rows * 2, static_cast<float>(rows));
    batch.Add(rows).Floats({int64_t{rows}, 2}, values);
    ready.instance->Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    CHECK_EQ(Values<float>(batch.outputs[0].bytes), values);
    CHECK_EQ(Values<float>(batch.outputs[1].bytes),
             Floats(rows * 2, 2.0f * static_cast<float>(rows)));
  }
}

OPENVINO_TEST(openvino_keeps_the_tensors_of_small_batches_only_while_shapes_stay) {
  OpenVinoReady ready(Twice({-1, -2}), TwiceIo(512, {-1, -1}));
  CHECK_EQ(ready.status.message(), "");
  OpenVinoReady known(Twice({-1, 16}), TwiceIo(512, {-1, 16}));
  CHECK_EQ(known.status.message(), "");
  // Batches of one row stay the same, and some have more bytes than small ones.
  for (const uint32_t rows : {1, 1, 512, 1, 2, 512, 2, 2}) {
    for (OpenVinoReady* one : {&ready, &known}) {
      RecordingBatch batch;
      Floats values(rows * 16);
      for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(i + rows);
      batch.Add(rows).Floats({int64_t{rows}, 16}, values);
      one->instance->Execute(batch);
      CHECK_EQ(batch.status.message(), "");
      for (float& value : values) value *= 2;
      CHECK(Values<float>(batch.outputs[0].bytes) == values);
    }
    // A batch that fails in between.
    RecordingBatch lacking;
    lacking.Add(1);
    known.instance->Execute(lacking);
    CHECK(lacking.status.code() == Code::kInvalidArg);
  }
}

OPENVINO_TEST(openvino_refuses_more_rows_than_an_output_has) {
  // y is the first three rows of x.
  const OnnxModelWriter first = OnnxModelWriter()
                                    .Input("x", Tensor(kOnnxFloat, {-1, 1}))
                                    .Initializer("from", kOnnxInt64, {1}, Raw<int64_t>({0}))
                                    .Initializer("to", kOnnxInt64, {1}, Raw<int64_t>({3}))
                                    .Node("Slice", {"x", "from", "to"}, {"y"})
                                    .Output("y", Tensor(kOnnxFloat, {-2, 1}));
  const OpenVinoReady ready(first, TwiceIo(8, {-1, 1}));
  CHECK(ready.status.code() == Code::kInvalidArg);
  CHECK(Contains(ready.status, "has at most 3 rows, but max_batch_size is 8"));
}

OPENVINO_TEST(openvino_answers_rows_whose_size_depends_on_their_number) {
  // y[i] is x[i] repeated min(rows, 2) times: its row has another size for one row than for two.
  const OnnxModelWriter wide =
      OnnxModelWriter()
          .Input("x", Tensor(kOnnxFloat, {-1, 1}))
          .Initializer("two", kOnnxInt64, {1}, Raw<int64_t>({2}))
          .Initializer("zero", kOnnxInt64, {1}, Raw<int64_t>({0}))
          .Initializer("one", kOnnxInt64, {1}, Raw<int64_t>({1}))
          .Node("Shape", {"x"}, {"shape"})
          .Node("Slice", {"shape", "zero", "one"}, {"rows"})
          .Node("Min", {"rows", "two"}, {"least"})
          .Node("Concat", {"rows", "least"}, {"wanted"}, {IntAttribute("axis", 0)})
          .Node("Expand", {"x", "wanted"}, {"y"})
          .Output("y", Tensor(kOnnxFloat, {-1, -2}));
  OpenVinoReady ready(wide,
                      {8, {{"x", DataType::kFp32, {-1, 1}}}, {{"y", DataType::kFp32, {-1, -1}}}});
  CHECK_EQ(ready.status.message(), "");
  for (uint32_t rows : {4, 1, 2, 3}) {
    RecordingBatch batch;
    const Floats values(rows, static_cast<float>(rows));
    batch.Add(rows).Floats({int64_t{rows}, 1}, values);
    ready.instance->Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    const size_t width = rows < 2 ? 1 : 2;
    CHECK_EQ(batch.outputs[0].tail, Dims{static_cast<int64_t>(width)});
    CHECK_EQ(Values<float>(batch.outputs[0].bytes), Floats(rows * width, static_cast<float>(rows)));
  }
}

OPENVINO_TEST(openvino_runs_models_without_inputs) {
  OpenVinoReady ready(OnnxModelWriter()
                          .Initializer("w", kOnnxFloat, {2}, Raw<float>({1, 2}))
                          .Node("Neg", {"w"}, {"y"})
                          .Output("y", Tensor(kOnnxFloat, {2})),
                      {0, {}, {{"y", DataType::kFp32, {2}}}});
  CHECK_EQ(ready.status.message(), "");
  RecordingBatch batch;
  batch.Add();
  ready.instance->Execute(batch);
  CHECK_EQ(batch.status.message(), "");
  CHECK_EQ(Values<float>(batch.outputs[0].bytes), (Floats{-1, -2}));
}

OPENVINO_TEST(openvino_knows_models_whose_time_depends_on_data) {
  const auto varies = [](const OnnxModelWriter& writer) {
    return openvino::OpenVinoModel::Load(OpenVinoSpec(writer.Model()))
        .value()
        ->time_depends_on_data();
  };
  CHECK(!varies(Twice({-1, 2})));
  CHECK(varies(Positions()));
}

OPENVINO_TEST(openvino_refuses_batches_of_models_that_mix_rows) {
  const OnnxModelWriter sum = OnnxModelWriter()
                                  .Input("x", Tensor(kOnnxFloat, {-1, 2}))
                                  .Node("ReduceMax", {"x"}, {"y"}, {IntAttribute("keepdims", 0)})
                                  .Output("y", Tensor(kOnnxFloat, {}));
  const OpenVinoReady ready(sum,
                            {8, {{"x", DataType::kFp32, {-1, 2}}}, {{"y", DataType::kFp32, {-1}}}});
  CHECK(ready.status.code() == Code::kInvalidArg);
  CHECK(Contains(ready.status, "does not keep the rows"));
}

OPENVINO_TEST(openvino_says_what_does_not_fit) {
  const OpenVinoReady name(Twice({-1, 2}), {8, {{"a", DataType::kFp32, {-1, 2}}}, {}});
  CHECK(Contains(name.status, "has no input 'a'; it has 'x'"));
  const OpenVinoReady type(Twice({-1, 2}), TwiceIo(8, {-1, 2}, DataType::kInt8));
  CHECK(Contains(type.status, "configured as INT8, but the model has FP32"));
  const OpenVinoReady device(Twice({-1, 2}), TwiceIo(8, {-1, 2}), {{"device", "NPU"}});
  CHECK(device.status.code() == Code::kUnavailable);
  CHECK(Contains(device.status, "no device 'NPU'"));
  const Status broken = openvino::OpenVinoModel::Load(OpenVinoSpec("no model")).status();
  CHECK(broken.code() == Code::kInvalidArg);
  CHECK(Contains(broken, "OpenVINO cannot read the model"));
  const OpenVinoReady property(Twice({-1, 2}), TwiceIo(8, {-1, 2}), {{"properties", "GUESS=1"}});
  CHECK(Contains(property.status, "OpenVINO cannot compile the model for CPU"));
}

OPENVINO_TEST(openvino_reads_files_given_as_bytes_from_a_folder_of_their_own) {
  ModelSpec spec = OpenVinoSpec(Twice({-1, 2}).Model());
  spec.files["../outside.bin"] = spec.files["model.onnx"];
  const Status status = openvino::OpenVinoModel::Load(spec).status();
  CHECK(Contains(status, "but received '../outside.bin'"));
  const auto folders = [] {
    size_t count = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::temp_directory_path())) {
      count += entry.path().filename().string().starts_with("tritonts-") ? 1 : 0;
    }
    return count;
  };
  const size_t before = folders();
  auto model = openvino::OpenVinoModel::Load(OpenVinoSpec(Twice({-1, 2}).Model()));
  CHECK_EQ(folders(), before + 1);
  model.value().reset();
  CHECK_EQ(folders(), before);
}

OPENVINO_TEST(openvino_has_several_batches_under_way) {
  auto model = openvino::OpenVinoModel::Load(
      OpenVinoSpec(Twice({-1, 1}).Model(), {{"properties",
                                             "INFERENCE_PRECISION_HINT=f32\nNUM_STREAMS=3\n"
                                             "INFERENCE_NUM_THREADS=3"}}));
  CHECK_EQ(model.status().message(), "");
  class Given final : public Backend {
   public:
    explicit Given(std::unique_ptr<Model> model) : model_(std::move(model)) {}
    StatusOr<std::unique_ptr<Model>> Load(const ModelSpec&) override { return std::move(model_); }
    bool may_run_on_js_thread() const override { return true; }

   private:
    std::unique_ptr<Model> model_;
  };
  VersionBench bench(std::make_unique<Given>(model.take()), {});
  CHECK_EQ(bench.version().Start(ConfigOf(FloatIo(), 2, Dynamic(4))).message(), "");
  constexpr uint32_t kCount = 2000;
  for (uint32_t i = 0; i < kCount; i++) bench.Send({static_cast<float>(i)});
  CHECK(bench.sink.Wait(kCount));
  size_t wrong = 0;
  for (const SeenResponse& seen : bench.sink.responses()) {
    const auto found = seen.outputs.find(0);
    if (!seen.status.ok() || found == seen.outputs.end() ||
        Values<float>(found->second.bytes) != Floats{2.0f * static_cast<float>(seen.slot)}) {
      wrong++;
    }
  }
  CHECK_EQ(wrong, 0u);
}

}  // namespace tritonts::test
