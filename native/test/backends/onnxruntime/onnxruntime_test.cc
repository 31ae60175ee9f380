// The onnxruntime backend: loading, describing, errors.
#include "backends/onnxruntime/library.h"
#include "backends/onnxruntime/pool_threads.h"
#include "onnxruntime_fixture.h"
#include "platform/cores.h"
#include "platform/dynamic_library.h"

namespace tritonts::test {

namespace {

// y = x + x, FP32 [N, 2].
OnnxModelWriter Doubling() {
  return OnnxModelWriter()
      .Input("x", Tensor(kOnnxFloat, {-1, 2}))
      .Node("Add", {"x", "x"}, {"y"})
      .Output("y", Tensor(kOnnxFloat, {-1, 2}));
}

ModelIo DoublingIo() {
  return {8, {{"x", DataType::kFp32, {-1, 2}, false}}, {{"y", DataType::kFp32, {-1, 2}, false}}};
}

}  // namespace

TEST(onnxruntime_refuses_a_library_that_is_missing) {
  const auto model = LoadBytes(Doubling().Model(), {{"library", "/nowhere/libonnxruntime.so"}});
  CHECK_EQ(model.status().code(), Code::kUnavailable);
  CHECK(Contains(model.status(), "/nowhere/libonnxruntime.so"));
  CHECK(Contains(model.status(), "npm i onnxruntime-node"));
  CHECK_EQ(LoadBytes("", {{"library", ""}}).status().code(), Code::kUnavailable);
}

TEST(onnxruntime_refuses_a_file_that_is_no_library) {
  const TemporaryFolder folder;
  const std::string path = folder.File("libonnxruntime.so.1", "text");
  const auto model = LoadBytes(Doubling().Model(), {{"library", path}});
  CHECK_EQ(model.status().code(), Code::kUnavailable);
  CHECK(Contains(model.status(), path));
}

TEST(onnxruntime_refuses_a_library_of_somebody_else) {
  const std::string other =
      platform::DynamicLibrary::PathOf(reinterpret_cast<const void*>(&std::fopen));
  const auto model = LoadBytes(Doubling().Model(), {{"library", other}});
  CHECK_EQ(model.status().code(), Code::kUnavailable);
  CHECK(Contains(model.status(), "not ONNX Runtime's"));
}

RUNTIME_TEST(onnxruntime_opens_a_library_once_whatever_its_path) {
  const TemporaryFolder folder;
  const auto link = folder.path() / "link.so";
  std::filesystem::create_symlink(std::filesystem::absolute(LibraryPath()), link);
  auto direct = onnxruntime::Library::Open(LibraryPath());
  auto linked = onnxruntime::Library::Open(link.string());
  CHECK(direct.ok() && linked.ok());
  CHECK(direct.value() == linked.value());
}

RUNTIME_TEST(onnxruntime_says_which_file_it_could_not_load) {
  const auto missing = LoadFile("/nowhere/model.onnx");
  CHECK_EQ(missing.status().code(), Code::kInternal);
  CHECK(Contains(missing.status(), "/nowhere/model.onnx"));
  const TemporaryFolder folder;
  const std::string corrupt = folder.File("model.onnx", "this is no protobuf message");
  CHECK_EQ(LoadFile(corrupt).status().code(), Code::kInternal);
  CHECK(Contains(LoadFile(corrupt).status(), corrupt));
  const std::string empty = folder.File("empty.onnx", "");
  CHECK_EQ(LoadFile(empty).status().code(), Code::kInternal);
}

RUNTIME_TEST(onnxruntime_names_an_operator_that_does_not_exist) {
  const auto model = LoadBytes(OnnxModelWriter()
                                   .Input("x", Tensor(kOnnxFloat, {-1}))
                                   .Node("NoSuchOperator", {"x"}, {"y"})
                                   .Output("y", Tensor(kOnnxFloat, {-1}))
                                   .Model());
  CHECK_EQ(model.status().code(), Code::kInternal);
  CHECK(Contains(model.status(), "NoSuchOperator"));
}

RUNTIME_TEST(onnxruntime_loads_model_onnx_from_a_folder) {
  const TemporaryFolder folder;
  folder.File("model.onnx", Doubling().Model());
  CHECK(LoadFile(folder.path().string()).ok());
}

RUNTIME_TEST(onnxruntime_describes_a_model) {
  auto model = LoadBytes(OnnxModelWriter()
                             .Input("tensor", Tensor(kOnnxFloat16, {-1, 3, -2}))
                             .Input("scalar", Tensor(kOnnxInt64, {}))
                             .Input("words", Tensor(kOnnxString, {-1}))
                             .Input("default", Tensor(kOnnxFloat, {1}))
                             .Input("bytes", Tensor(kOnnxFloat8, {2}))
                             .Input("list", Sequence(kOnnxFloat))
                             .Initializer("default", kOnnxFloat, {1}, Raw<float>({7}))
                             .Node("Identity", {"tensor"}, {"tensor_out"})
                             .Node("Add", {"default", "default"}, {"sum"})
                             .Node("SequenceLength", {"list"}, {"count"})
                             .Node("SequenceConstruct", {"default"}, {"list_out"})
                             .Output("tensor_out", Tensor(kOnnxFloat16, {-1, 3, -2}))
                             .Output("sum", Tensor(kOnnxFloat, {1}))
                             .Output("count", Tensor(kOnnxInt64, {}))
                             .Output("list_out", Sequence(kOnnxFloat))
                             .Model());
  CHECK_EQ(model.status().message(), "");
  const ModelDescription description = model.value()->Describe();
  const auto show = [](const std::vector<TensorDescription>& tensors) {
    std::string text;
    for (const auto& tensor : tensors) {
      text += tensor.name + (tensor.optional ? "? " : " ") + Name(tensor.datatype) + " " +
              tensor.type_name + " [";
      for (const int64_t dim : tensor.dims) text += std::to_string(dim) + ",";
      text += "]; ";
    }
    return text;
  };
  CHECK_EQ(show(description.inputs),
           "tensor FP16 float16 [-1,3,-1,]; scalar INT64 int64 []; words BYTES string [-1,]; "
           "bytes INVALID float8e4m3fn [2,]; list INVALID sequence []; "
           "default? FP32 float32 [1,]; ");
  CHECK_EQ(show(description.outputs),
           "tensor_out FP16 float16 [-1,3,-1,]; sum FP32 float32 [1,]; count INT64 int64 []; "
           "list_out INVALID sequence []; ");
}

RUNTIME_TEST(onnxruntime_tells_the_names_of_dims_and_what_operators_say) {
  const auto with = [](const char* op, SettingMap settings = {}) {
    return LoadBytes(OnnxModelWriter()
                         .Input("x", Tensor(kOnnxFloat, {-1, 3, -2}))
                         .Node(op, {"x"}, {"y"})
                         .Output("y", std::string(op) == "Abs" ? Tensor(kOnnxFloat, {-1, 3, -2})
                                                               : Tensor(kOnnxInt64, {3, -7}))
                         .Model(),
                     std::move(settings));
  };
  auto plain = with("Abs");
  CHECK_EQ(plain.status().message(), "");
  const ModelDescription description = plain.value()->Describe();
  CHECK((description.inputs[0].dim_names == std::vector<std::string>{"d1", "", "d2"}));
  CHECK((description.outputs[0].dim_names == std::vector<std::string>{"d1", "", "d2"}));
  CHECK_EQ(description.rows_vary, "");
  CHECK(!plain.value()->time_depends_on_data());
  CHECK(!plain.value()->Info().contains("never_inline"));
  auto varying = with("NonZero");
  CHECK_EQ(varying.status().message(), "");
  CHECK_EQ(varying.value()->Describe().rows_vary, "the model has the operator NonZero");
  CHECK(varying.value()->time_depends_on_data());
  CHECK_EQ(varying.value()->Info()["never_inline"], "the model has the operator NonZero");
}

RUNTIME_TEST(onnxruntime_looks_at_the_operators_of_a_model_given_as_bytes_too) {
  const std::string bytes = OnnxModelWriter()
                                .Input("x", Tensor(kOnnxFloat, {-1, 2}))
                                .Node("NonZero", {"x"}, {"y"})
                                .Output("y", Tensor(kOnnxInt64, {2, -3}))
                                .Model();
  auto model =
      OnnxRuntimeBackend()->Load({"m",
                                  1,
                                  "model.onnx",
                                  {{"library", LibraryPath()}, {"intra_op_threads", "1"}},
                                  {{"model.onnx", std::make_shared<const std::string>(bytes)}}});
  CHECK_EQ(model.status().message(), "");
  CHECK_EQ(model.value()->Describe().rows_vary, "the model has the operator NonZero");
}

RUNTIME_TEST(onnxruntime_runs_a_function_of_the_model_and_knows_it) {
  auto model = LoadBytes(
      OnnxModelWriter()
          .Input("x", Tensor(kOnnxFloat, {-1, 2}))
          .Node("Twice", {"x"}, {"y"}, {}, "own")
          .Output("y", Tensor(kOnnxFloat, {-1, 2}))
          .Function("own", "Twice", {"a"}, {"b"}, OnnxModelWriter().Node("Add", {"a", "a"}, {"b"}))
          .Model());
  CHECK_EQ(model.status().message(), "");
  CHECK(!model.value()->time_depends_on_data());
}

RUNTIME_TEST(onnxruntime_tells_a_tensor_of_unknown_rank_from_one_of_rank_zero) {
  const std::string model = OnnxModelWriter()
                                .Input("open", UnshapedTensor(kOnnxFloat))
                                .Input("scalar", Tensor(kOnnxFloat, {}))
                                .Node("Abs", {"open"}, {"open_out"})
                                .Node("Abs", {"scalar"}, {"scalar_out"})
                                .Output("open_out", UnshapedTensor(kOnnxFloat))
                                .Output("scalar_out", Tensor(kOnnxFloat, {}))
                                .Model();
  const TemporaryFolder folder;
  auto from_file = LoadFile(folder.File("model.onnx", model));
  auto from_bytes = LoadBytes(model);
  for (auto* loaded : {&from_file, &from_bytes}) {
    CHECK_EQ(loaded->status().message(), "");
    const ModelDescription description = loaded->value()->Describe();
    for (const auto* tensors : {&description.inputs, &description.outputs}) {
      CHECK(!(*tensors)[0].has_rank);
      CHECK((*tensors)[1].has_rank);
      CHECK((*tensors)[0].dims.empty() && (*tensors)[1].dims.empty());
    }
  }
}

RUNTIME_TEST(onnxruntime_refuses_a_configuration_of_another_model) {
  auto model = LoadBytes(Doubling().Model());
  CHECK(model.ok());
  ModelIo unknown = DoublingIo();
  unknown.outputs[0].name = "z";
  CHECK_EQ(model.value()->Configure(unknown, "{}").code(), Code::kInvalidArg);
  CHECK(Contains(model.value()->Configure(unknown, "{}"), "'z'"));
  ModelIo wrong = DoublingIo();
  wrong.inputs[0].datatype = DataType::kInt32;
  CHECK(Contains(model.value()->Configure(wrong, "{}"), "INT32"));
  CHECK(Contains(model.value()->Configure(wrong, "{}"), "float32"));
  CHECK(model.value()->Configure(DoublingIo(), "{}").ok());
  const auto device = model.value()->CreateInstance({"m_0", 0, MemoryKind::kDevice, 0});
  CHECK_EQ(device.status().code(), Code::kInvalidArg);
  CHECK(Contains(device.status(), "GPU 0, which is not among the devices"));
}

RUNTIME_TEST(onnxruntime_refuses_settings_it_does_not_know) {
  const auto refused = [](SettingMap settings) {
    return LoadBytes(Doubling().Model(), std::move(settings)).status().code() == Code::kInvalidArg;
  };
  CHECK(refused({{"threads", "2"}}));
  CHECK(refused({{"intra_op_threads", "two"}}));
  CHECK(refused({{"intra_op_threads", "-1"}}));
  CHECK(refused({{"execution_mode", "2"}}));
  CHECK(refused({{"allow_spinning", "yes"}}));
  CHECK(refused({{"allow_spinning", "1"}, {"spin_in_runs", "1"}}));
  CHECK(refused({{"shared_pool", "1"}, {"inter_op_threads", "2"}}));
}

RUNTIME_TEST(onnxruntime_passes_settings_to_the_runtime) {
  const TemporaryFolder folder;
  const std::string prefix = (folder.path() / "profile").string();
  {
    Ready ready(Doubling(), DoublingIo(),
                {{"intra_op_threads", "2"},
                 {"inter_op_threads", "2"},
                 {"execution_mode", "1"},
                 {"allow_spinning", "0"},
                 {"graph_optimization_level", "0"},
                 {"enable_cpu_mem_arena", "0"},
                 {"enable_mem_pattern", "0"},
                 {"profile_prefix", prefix},
                 {"session_config.session.disable_prepacking", "1"},
                 {"run_config.memory.enable_memory_arena_shrinkage", ""}});
    CHECK_EQ(ready.status.message(), "");
    auto info = ready.model->Info();
    CHECK_EQ(info["intra_op_threads"], "2");
    CHECK_EQ(info["shared_pool"], "0");
    CHECK_EQ(info["spinning"], "off");
    CHECK(info["version"].starts_with("1."));
    CHECK(std::filesystem::equivalent(info["library"], LibraryPath()));
    RecordingBatch batch;
    ready.instance->Execute(batch.Add().Floats({1, 2}, {1, 2}));
    CHECK_EQ(batch.status.message(), "");
  }
  size_t profiles = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    profiles += entry.path().extension() == ".json";
  }
  CHECK_EQ(profiles, 1u);
  const auto level = LoadBytes(Doubling().Model(), {{"graph_optimization_level", "17"}});
  CHECK_EQ(level.status().code(), Code::kInternal);
  const auto custom = LoadBytes(Doubling().Model(), {{"custom_op_libraries", "/nowhere/op.so\n"}});
  CHECK(Contains(custom.status(), "/nowhere/op.so"));
}

RUNTIME_TEST(onnxruntime_shares_one_pool_of_threads) {
  Ready first(Doubling(), DoublingIo(), {{"shared_pool", "1"}, {"global_threads", "2"}});
  Ready second(Doubling(), DoublingIo(), {{"shared_pool", "1"}, {"global_threads", "5"}});
  for (Ready* ready : {&first, &second}) {
    CHECK_EQ(ready->status.message(), "");
    auto info = ready->model->Info();
    CHECK_EQ(info["shared_pool"], "1");
    CHECK_EQ(info["intra_op_threads"], first.model->Info()["intra_op_threads"]);
    CHECK_EQ(info["spinning"], "off");
  }
}

RUNTIME_TEST(onnxruntime_gives_large_models_threads_that_spin_within_runs) {
  const SettingMap settings = {{"shared_pool", "1"},
                               {"global_threads", "2"},
                               {"fallback_threads", "2"},
                               {"spin_in_runs", "1"}};
  Ready small(Doubling(), DoublingIo(), settings);
  CHECK_EQ(small.status.message(), "");
  CHECK_EQ(small.model->Info()["shared_pool"], "1");
  CHECK_EQ(small.model->Info()["spinning"], "off");

  auto own = settings;
  own.erase("shared_pool");
  own["intra_op_threads"] = "2";
  Ready ready(Doubling(), DoublingIo(), own);
  CHECK_EQ(ready.status.message(), "");
  auto info = ready.model->Info();
  auto library = onnxruntime::Library::Open(LibraryPath());
  CHECK_EQ(info["spinning"], library.value()->bounds_spins() ? "within runs" : "off");
  RecordingBatch batch;
  ready.instance->Execute(batch.Add().Floats({1, 2}, {1, 2}));
  CHECK_EQ(batch.status.message(), "");
}

TEST(pool_threads_are_limited_and_come_back) {
  const int most = std::max(16, 4 * static_cast<int>(platform::AvailableCores()));
  onnxruntime::PoolThreads first;
  CHECK(!first.Take("a", most + 1));
  {
    onnxruntime::PoolThreads all;
    CHECK(all.Take("a", most));
    onnxruntime::PoolThreads none;
    CHECK(!none.Take("b", 1));
    CHECK(!none.taken());
  }
  CHECK(first.Take("b", most));
  first.Return();
  CHECK(first.Take("c", most));
}

TEST(pool_threads_stay_with_a_model_that_is_reloaded) {
  const int most = std::max(16, 4 * static_cast<int>(platform::AvailableCores()));
  onnxruntime::PoolThreads next;
  {
    onnxruntime::PoolThreads old;
    CHECK(old.Take("a", most));
    CHECK(next.Take("a", most));
    onnxruntime::PoolThreads third;
    CHECK(!third.Take("a", most));
  }
  onnxruntime::PoolThreads other;
  CHECK(!other.Take("b", 1));
  next.Return();
  CHECK(other.Take("b", 1));
}

RUNTIME_TEST(onnxruntime_makes_own_pools_in_an_environment_of_somebody_else) {
  // A copy counts as another library, so it does not share the other tests' environment.
  constexpr onnxruntime::Entry<3,
                               onnxruntime::OrtStatus*(int32_t, const char*, onnxruntime::OrtEnv**)>
      create_env;
  const TemporaryFolder folder;
  const auto copy = folder.path() / "libonnxruntime.so.1";
  std::filesystem::copy_file(LibraryPath(), copy);
  auto library = onnxruntime::Library::Open(copy.string());
  CHECK_EQ(library.status().message(), "");
  const auto& table = library.value()->table();
  onnxruntime::OrtEnv* env = nullptr;
  CHECK(library.value()->Take(table.Call(create_env, 3, "other", &env)).ok());
  Ready ready(Doubling(), DoublingIo(),
              {{"library", copy.string()}, {"shared_pool", "1"}, {"fallback_threads", "2"}});
  CHECK_EQ(ready.status.message(), "");
  auto info = ready.model->Info();
  CHECK_EQ(info["shared_pool"], "0");
  CHECK_EQ(info["intra_op_threads"], "2");
  CHECK_EQ(info["spinning"], "off");
  RecordingBatch batch;
  ready.instance->Execute(batch.Add().Floats({1, 2}, {1, 2}));
  CHECK(batch.status.ok());
}

}  // namespace tritonts::test
