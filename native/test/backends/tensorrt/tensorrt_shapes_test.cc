// Shapes and types of plans: profiles, shape tensors, outputs whose shapes depend on data,
// datatypes and formats. Driver, GPUs and TensorRT are the fakes of test/fakes.
#include "device/gpu.h"
#include "tensorrt_fixture.h"

namespace tritonts::test {

namespace {

// One version of TensorRT for each function table: 10 with the older functions, 10 with the newer
// ones, and 11.
constexpr const char* kVersions[] = {"10", "10.16", "11"};

// A version that serves a plan with any tensors.
class ShapesBench : public VersionBench {
 public:
  ShapesBench(const std::string& plan, const ModelIo& io, const std::string& which = "10",
              const std::map<std::string, std::string>& settings = {})
      : VersionBench(std::make_unique<TensorRtBackend>(),
                     PlanSpec("fake-plan " + Major(which) + "\n" + plan, "0", which, settings)) {
    const Status status = version().Start(OnGpus({0}, io));
    CHECK_EQ(status.message(), "");
  }
  struct Tensor {
    DataType type;
    std::vector<int64_t> shape;
    std::string bytes;
  };
  // The response to a request.
  SeenResponse Answer(const std::vector<Tensor>& inputs, uint32_t rows = 1) {
    Request* const request = requests.Add(rows);
    for (uint32_t i = 0; i < inputs.size(); i++)
      requests.Input(request, i, inputs[i].type, inputs[i].shape, inputs[i].bytes);
    Submit({request});
    CHECK(sink.Wait(++asked_));
    return sink.Of(static_cast<uint32_t>(asked_ - 1));
  }

 private:
  size_t asked_ = 0;
};

ShapesBench::Tensor FloatTensor(const std::vector<int64_t>& shape,
                                const std::vector<float>& values) {
  return {DataType::kFp32, shape, tritonts::test::BytesOf(values)};
}

// Three profiles: for 1 row, for 1 to 8, for 4 to 64.
constexpr char kProfiles[] =
    "op profile\ninput x 0 0 0 -1 4\noutput y 0 0 0 -1 4\nprofile x 1 4 1 4 1 4\n"
    "profile x 1 4 6 4 8 4\nprofile x 4 4 32 4 64 4\n";

// The number of the profile that runs this many rows; -1: none.
int ProfileFor(ShapesBench& bench, int64_t rows) {
  const std::vector<float> zeros(static_cast<size_t>(rows) * 4, 0);
  const SeenResponse seen =
      bench.Answer({FloatTensor({rows, 4}, zeros)}, static_cast<uint32_t>(rows));
  if (!seen.status.ok()) return -1;
  float first = 0;
  std::memcpy(&first, seen.outputs.at(0).bytes.data(), sizeof(first));
  return static_cast<int>(first);
}

ModelIo Unbatched(const std::vector<TensorSpec>& inputs, const std::vector<TensorSpec>& outputs) {
  return {0, inputs, outputs};
}

Status ShapesLoadStatus(const std::string& plan) {
  return TensorRtBackend().Load(PlanSpec("fake-plan 10\n" + plan)).status();
}

}  // namespace

TEST(tensorrt_runs_a_batch_with_the_profile_whose_best_shapes_are_nearest) {
  for (const char* which : kVersions) {
    ShapesBench bench(kProfiles, Io(64), which, {{"profiles", "0,1,2"}});
    CHECK_EQ(ProfileFor(bench, 1), 0);
    CHECK_EQ(ProfileFor(bench, 2), 1);
    CHECK_EQ(ProfileFor(bench, 8), 1);
    CHECK_EQ(ProfileFor(bench, 9), 2);
    CHECK_EQ(ProfileFor(bench, 64), 2);
    CHECK_EQ(ProfileFor(bench, 1), 0);
  }
  CHECK(Objects() == kNone);
}

TEST(tensorrt_uses_the_profiles_that_an_instance_has) {
  ShapesBench second(kProfiles, Io(8), "10", {{"profiles", "1"}});
  CHECK_EQ(ProfileFor(second, 1), 1);
  ShapesBench two(kProfiles, Io(64), "10", {{"profiles", "2,0"}});
  CHECK_EQ(ProfileFor(two, 1), 0);
  CHECK_EQ(ProfileFor(two, 40), 2);
  // Without the setting, the first.
  ShapesBench first(kProfiles, Io(1), "10");
  CHECK_EQ(ProfileFor(first, 1), 0);
}

TEST(tensorrt_says_what_each_profile_takes_where_none_takes_a_batch) {
  ShapesBench bench(kProfiles, Io(0), "10", {{"profiles", "0,2"}});
  const SeenResponse seen = bench.Answer({FloatTensor({2, 4}, std::vector<float>(8))});
  CHECK_EQ(seen.status.code(), Code::kInvalidArg);
  CHECK_EQ(
      seen.status.message(),
      "model 'm': input 'x': the batch has shape [2,4], but profile 0 of the plan takes [1,4] "
      "to [1,4]; input 'x': the batch has shape [2,4], but profile 2 of the plan takes [4,4] to "
      "[64,4]");
  CHECK_EQ(ProfileFor(bench, 5), 2);
}

TEST(tensorrt_tells_the_rows_that_every_instance_takes) {
  const auto rows = [](const std::string& profiles) {
    auto model = TensorRtBackend().Load(
        PlanSpec(std::string("fake-plan 10\n") + kProfiles, "0", "10", {{"profiles", profiles}}));
    return model.value()->Describe().most_rows.value_or(99);
  };
  CHECK_EQ(rows("0"), 1u);
  CHECK_EQ(rows("0,2"), 64u);
  CHECK_EQ(rows("0,2;1"), 8u);
  auto model = TensorRtBackend().Load(PlanSpec(std::string("fake-plan 10\n") + kProfiles));
  CHECK_EQ(
      model.value()->Configure(Io(2), "{}").message(),
      "max_batch_size is 2, but the profiles of the plan that the instances use take at most 1 "
      "rows");
}

TEST(tensorrt_refuses_a_profile_that_the_plan_has_not) {
  auto model = TensorRtBackend().Load(
      PlanSpec(std::string("fake-plan 10\n") + kProfiles, "0", "10", {{"profiles", "3"}}));
  CHECK(model.ok());
  CHECK(model.value()->Configure(Io(0), "{}").ok());
  const auto instance = model.value()->CreateInstance({"m_0", 0, MemoryKind::kDevice, 0});
  CHECK_EQ(instance.status().code(), Code::kInvalidArg);
  CHECK(Contains(instance.status(),
                 "instance_group has profile 3, but the plan has 3, counted from 0"));
}

TEST(tensorrt_reads_the_values_of_shape_tensors_on_the_host) {
  for (const char* which : kVersions) {
    for (const DataType type : {DataType::kInt32, DataType::kInt64}) {
      const bool wide = type == DataType::kInt64;
      ShapesBench bench("op fill\ninput x 0 0 0 1\ninput s " + std::string(wide ? "8" : "3") +
                            " 1 0 2\noutput y 0 0 0 -1 -1\nvalues s 1 1 2 2 4 5\n",
                        Unbatched({{"x", DataType::kFp32, {1}}, {"s", type, {2}}},
                                  {{"y", DataType::kFp32, {-1, -1}}}),
                        which);
      const auto dims = [&](int32_t rows, int32_t columns) {
        return wide ? ShapesBench::Tensor{type,
                                          {2},
                                          tritonts::test::BytesOf(
                                              std::vector<int64_t>{rows, columns})}
                    : ShapesBench::Tensor{
                          type, {2}, tritonts::test::BytesOf(std::vector<int32_t>{rows, columns})};
      };
      const SeenResponse seen = bench.Answer({FloatTensor({1}, {7}), dims(3, 5)});
      CHECK_EQ(seen.status.message(), "");
      CHECK(seen.outputs.at(0).shape == (std::vector<int64_t>{3, 5}));
      CHECK(seen.outputs.at(0).bytes == tritonts::test::BytesOf(std::vector<float>(15, 7)));
      // The older function has no 64-bit values, so TensorRT itself rejects the batch.
      const SeenResponse beyond = bench.Answer({FloatTensor({1}, {7}), dims(3, 6)});
      CHECK(Contains(beyond.status,
                     wide && which == std::string("10")
                         ? "a value of a shape tensor is outside of the profile"
                         : "input 's': the batch has the values [3,6], but profile 0 of the plan "
                           "takes [1,1] to [4,5]"));
    }
  }
  CHECK(Objects() == kNone);
}

TEST(tensorrt_gives_outputs_that_it_writes_on_the_host) {
  ShapesBench bench("op shape\ninput x 0 0 0 -1 4\noutput y 3 1 0 2\nprofile x 1 4 4 4 8 4\n",
                    Unbatched({{"x", DataType::kFp32, {-1, 4}}}, {{"y", DataType::kInt32, {2}}}));
  const SeenResponse seen = bench.Answer({FloatTensor({3, 4}, std::vector<float>(12))});
  CHECK_EQ(seen.status.message(), "");
  CHECK(seen.outputs.at(0).bytes == tritonts::test::BytesOf(std::vector<int32_t>{3, 4}));
}

TEST(tensorrt_gives_outputs_whose_shapes_depend_on_data) {
  for (const char* which : kVersions) {
    ShapesBench bench(
        "op positive\ninput x 0 0 0 -1 2\noutput y 0 0 0 -1 2\nprofile x 1 2 4 2 8 2\n",
        Unbatched({{"x", DataType::kFp32, {-1, 2}}}, {{"y", DataType::kFp32, {-1, 2}}}), which);
    const SeenResponse some = bench.Answer({FloatTensor({3, 2}, {1, 2, -3, 4, 5, 6})});
    CHECK_EQ(some.status.message(), "");
    CHECK(some.outputs.at(0).shape == (std::vector<int64_t>{2, 2}));
    CHECK(some.outputs.at(0).bytes == tritonts::test::BytesOf(std::vector<float>{1, 2, 5, 6}));
    const SeenResponse none = bench.Answer({FloatTensor({1, 2}, {-1, 2})});
    CHECK_EQ(none.status.message(), "");
    CHECK(none.outputs.at(0).shape == (std::vector<int64_t>{0, 2}));
    const SeenResponse more = bench.Answer({FloatTensor({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})});
    CHECK(more.outputs.at(0).shape == (std::vector<int64_t>{4, 2}));
  }
  CHECK(Objects() == kNone);
}

TEST(tensorrt_says_why_there_is_no_memory_for_an_output_whose_shape_depends_on_data) {
  ShapesBench bench(
      "op positive\ninput x 0 0 0 -1 2\noutput y 0 0 0 -1 2\nprofile x 1 2 4 2 9000 2\n",
      Unbatched({{"x", DataType::kFp32, {-1, 2}}}, {{"y", DataType::kFp32, {-1, 2}}}));
  const std::vector<float> ones(2 * 9000, 1);
  // Each tensor is allocated by a separate call.
  device::Gpu::LimitDevice(0, 0);
  // The first two are for the input, and for an empty output.
  FailOnce("cuMemAlloc_v2", 2, 2);
  const SeenResponse failed = bench.Answer({FloatTensor({9000, 2}, ones)});
  CHECK(Contains(failed.status,
                 "output 'y': GPU 0: cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY"));
  device::Gpu::LimitDevice(0, device::Gpu::kMostDeviceBytes);
  const SeenResponse seen = bench.Answer({FloatTensor({9000, 2}, ones)});
  CHECK(seen.outputs.at(0).bytes == tritonts::test::BytesOf(ones));
}

TEST(tensorrt_says_that_rows_which_depend_on_data_are_no_batch) {
  PlanBench bench(PlanText("positive"));
  bench.Ask({-10});
  CHECK(bench.sink.Wait(1));
  CHECK(Contains(bench.StatusOf(0), "returned shape [0,4] for a batch of 1 rows"));
}

TEST(tensorrt_passes_each_datatype_that_triton_has_a_name_for) {
  struct Case {
    int number;
    DataType type;
  };
  for (const auto& [number, type] :
       {Case{0, DataType::kFp32}, Case{1, DataType::kFp16}, Case{2, DataType::kInt8},
        Case{3, DataType::kInt32}, Case{4, DataType::kBool}, Case{5, DataType::kUint8},
        Case{7, DataType::kBf16}, Case{8, DataType::kInt64}}) {
    const std::string text = std::to_string(number);
    ShapesBench bench("op copy\ninput x " + text + " 0 0 -1 3\noutput y " + text +
                          " 0 0 -1 3\nprofile x 1 3 4 3 8 3\n",
                      {8, {{"x", type, {-1, 3}}}, {{"y", type, {-1, 3}}}});
    std::string bytes;
    for (size_t i = 0; i < 6 * ByteSize(type); i++)
      bytes += static_cast<char>(type == DataType::kBool ? i % 2 : 37 * i);
    const SeenResponse seen = bench.Answer({{type, {2, 3}, bytes}}, 2);
    CHECK_EQ(seen.status.message(), "");
    CHECK(seen.outputs.at(0).bytes == bytes);
  }
  // Other formats are reported, and cannot be configured.
  auto model = TensorRtBackend().Load(
      PlanSpec("fake-plan 10\nop copy\ninput x 6 0 0 -1 3\noutput y 6 0 0 -1 3\n"));
  CHECK(model.value()->Describe().inputs[0].datatype == DataType::kInvalid);
  CHECK_EQ(model.value()->Describe().inputs[0].type_name, "fp8");
}

TEST(tensorrt_adds_whole_numbers_and_multiplies_matrices) {
  ShapesBench whole("op add\ninput x 8 0 0 -1 2\noutput y 8 0 0 -1 2\nprofile x 1 2 4 2 8 2\n",
                    {8, {{"x", DataType::kInt64, {-1, 2}}}, {{"y", DataType::kInt64, {-1, 2}}}});
  const std::vector<int64_t> large{int64_t{1} << 60, -5};
  const SeenResponse sum =
      whole.Answer({{DataType::kInt64, {1, 2}, tritonts::test::BytesOf(large)}});
  CHECK(sum.outputs.at(0).bytes == tritonts::test::BytesOf(std::vector<int64_t>{large[0] + 1, -4}));
  ShapesBench product(
      "op matmul\nweights 1 2 3 4 5 6\ninput x 0 0 0 -1 2\noutput y 0 0 0 -1 3\nprofile x 1 2 4 2 "
      "8 2\n",
      {8, {{"x", DataType::kFp32, {-1, 2}}}, {{"y", DataType::kFp32, {-1, 3}}}});
  const SeenResponse seen = product.Answer({FloatTensor({2, 2}, {1, 0, 2, 1})}, 2);
  CHECK(seen.outputs.at(0).bytes == tritonts::test::BytesOf(std::vector<float>{1, 2, 3, 6, 9, 12}));
}

TEST(tensorrt_refuses_formats_that_are_not_linear_by_name) {
  const Status vectorised = ShapesLoadStatus("op add\ninput x 0 0 4 -1 4\noutput y 0 0 0 -1 4\n");
  CHECK_EQ(vectorised.code(), Code::kUnsupported);
  CHECK(
      Contains(vectorised, "input 'x' has the format CHW16 (4), but only LINEAR (0) is supported"));
  const Status unknown = ShapesLoadStatus("op add\ninput x 0 0 0 -1 4\noutput y 0 0 77 -1 4\n");
  CHECK(
      Contains(unknown, "output 'y' has the format a format that this version does not know (77)"));
  const Status shape = ShapesLoadStatus("op fill\ninput s 0 1 0 2\noutput y 0 0 0 -1 4\n");
  CHECK(Contains(shape, "input 's' is a shape tensor of type float32"));
  CHECK(Objects() == kNone);
}

// They need 1000 and 2000 bytes, and the instances run at the same time.
TEST(tensorrt_gives_the_contexts_of_an_instance_one_piece_of_device_memory) {
  const ScopedVariable delay("TRITONTS_FAKE_DELAY_US", "300");
  for (const char* which : kVersions) {
    const std::string plan = "fake-plan " + Major(which) + "\n" + kProfiles;
    PlanBench bench(PlanSpec(plan, "0", which, {{"profiles", "0,1;0,1;1,0"}}), {0, 0, 0});
    for (int i = 0; i < 100; i++) bench.Ask(std::vector<float>(static_cast<size_t>(1 + i % 8), 1));
    CHECK(bench.sink.Wait(100));
    for (uint32_t i = 0; i < 100; i++) CHECK_EQ(bench.StatusOf(i).message(), "");
  }
  CHECK(Objects() == kNone);
}

}  // namespace tritonts::test
