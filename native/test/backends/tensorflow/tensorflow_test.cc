// The tensorflow backend: its library, settings, graphs, batches, strings, state.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "backends/tensorflow/graph_content.h"
#include "fakes/fakes.h"
#include "tensorflow_fixture.h"

namespace tritonts::test {

namespace {

const std::string kFloatT = TypeOfTf("T", kTfFloat);

// y = x + x.
TfGraphWriter Doubling(const std::vector<int64_t>& dims) {
  return TfGraphWriter().Placeholder("x", kTfFloat, dims).Node("y", "AddV2", {"x", "x"}, kFloatT);
}

ModelIo FloatsIo(uint32_t max_batch_size, const std::vector<int64_t>& dims) {
  return {max_batch_size, {{"x", DataType::kFp32, dims}}, {{"y", DataType::kFp32, dims}}};
}

// y = the value of a variable, which then gets x.
TfGraphWriter Remembering(const std::vector<int64_t>& dims, const std::string& first) {
  return TfGraphWriter()
      .Placeholder("x", kTfFloat, dims)
      .Variable("v", dims, first)
      .Node("set", "AssignVariableOp", {"v", "x", "^v/read"}, TypeOfTf("dtype", kTfFloat))
      .Node("y", "Identity", {"v/read", "^set"}, kFloatT);
}

}  // namespace

TEST(tensorflow_settings_are_read_or_refused) {
  auto read = tensorflow::ReadSettings({{"library", "l"},
                                        {"format", "graphdef"},
                                        {"intra_op_threads", "3"},
                                        {"session_threads", "true"},
                                        {"init_ops", "a\nb"}});
  CHECK(read.ok());
  CHECK(read.value().graphdef && read.value().session_threads);
  CHECK_EQ(read.value().intra_op_threads, 3u);
  CHECK_EQ(read.value().init_ops, (std::vector<std::string>{"a", "b"}));
  CHECK(
      Contains(tensorflow::ReadSettings({{"format", "onnx"}}).status(), "savedmodel or graphdef"));
  CHECK(Contains(tensorflow::ReadSettings({{"share", "0"}}).status(), "a number from 1"));
  CHECK(Contains(tensorflow::ReadSettings({{"share", "2x"}}).status(), "a number from 1"));
  CHECK(Contains(tensorflow::ReadSettings({{"guess", ""}}).status(), "unknown tensorflow setting"));
}

TEST(tensorflow_library_that_cannot_be_used_says_what_to_do) {
  const auto refusal = [](const std::string& path) {
    const Status status = tensorflow::Library::Open(path).status();
    CHECK(status.code() == Code::kUnavailable && status.reason() == Reason::kMissing);
    return status.message();
  };
  CHECK(Contains(refusal("/nowhere/libtensorflow_cc.so.2"), "pip install tensorflow-cpu"));
  CHECK(Contains(refusal(PlainLibrary()), "not one with TensorFlow's C interface"));
}

TEST(tensorflow_graphs_tell_their_operations) {
  const tensorflow::GraphContent content = tensorflow::ReadGraph(Remembering({1}, "0000").Graph());
  CHECK(content.readable);
  CHECK_EQ(content.nodes.size(), 7u);
  CHECK_EQ(content.Last(), (std::vector<std::string>{"v/init", "y"}));
  CHECK(content.KindsFor({"y:0"}).contains("AssignVariableOp"));
  CHECK(!content.KindsFor({"v/read"}).contains("AssignVariableOp"));
}

TEST(tensorflow_graphs_tell_the_operations_of_functions) {
  // Node y calls f by an attribute, f calls g by its name.
  const auto function = [](const std::string& name, const std::string& op) {
    return Bytes(1, Bytes(1, Bytes(1, name)) + Bytes(3, Bytes(1, "n") + Bytes(2, op)));
  };
  const std::string call = TfAttribute("f", Bytes(10, Bytes(1, "f")));
  const std::string bytes =
      TfGraphWriter().Node("y", "StatefulPartitionedCall", {}, call).Graph() +
      Bytes(2, function("f", "g") + function("g", "Where") + function("h", "Unique"));
  const auto kinds = tensorflow::ReadGraph(bytes).KindsFor({"y"});
  CHECK(kinds.contains("Where"));
  CHECK(!kinds.contains("g") && !kinds.contains("Unique"));
}

TEST(tensorflow_signatures_are_read) {
  const auto tensor = [](const std::string& name, const std::string& place,
                         const std::string& shape) {
    return Bytes(1, name) + Bytes(2, Bytes(1, place) + Number(2, 1) + Bytes(3, shape));
  };
  const std::string signature = Bytes(1, tensor("b", "in:1", TfShape({-1, 0}))) +
                                Bytes(1, tensor("a", "in:0", Number(3, 1))) +
                                Bytes(2, tensor("y", "out:0", ""));
  const auto content =
      tensorflow::ReadMetaGraph(Bytes(5, Bytes(1, "serving_default") + Bytes(2, signature)));
  CHECK(content.readable);
  const tensorflow::Signature& read = content.signatures.at("serving_default");
  CHECK_EQ(read.inputs.size(), 2u);
  CHECK_EQ(read.inputs[0].name, "a");
  CHECK(!read.inputs[0].has_rank);
  CHECK_EQ(read.inputs[1].dims, (Dims{-1, 0}));
  CHECK_EQ(read.inputs[1].place, "in:1");
  CHECK(read.outputs[0].has_rank && read.outputs[0].dims.empty());
}

TEST(tensorflow_graphs_that_are_damaged_are_harmless) {
  const std::string whole = Remembering({1}, "0000").Graph();
  for (size_t size = 0; size < whole.size(); size++) {
    (void)tensorflow::ReadGraph(whole.substr(0, size)).KindsFor({"y"});
    (void)tensorflow::ReadMetaGraph(whole.substr(size)).Last();
    std::string changed = whole;
    changed[size] = static_cast<char>(~changed[size]);
    (void)tensorflow::ReadGraph(changed).Last();
    (void)tensorflow::ReadMetaGraph(Bytes(2, changed)).KindsFor({"y"});
  }
}

TENSORFLOW_TEST(tensorflow_runs_requests_together) {
  TensorFlowReady ready(Doubling({-1, 2}), FloatsIo(8, {-1, 2}));
  CHECK_EQ(ready.status.message(), "");
  CHECK(ready.model->may_run_again() && !ready.model->time_depends_on_data());
  for (int i = 0; i < 3; i++) {
    RecordingBatch batch;
    batch.Add(1).Floats({1, 2}, {1, 2}).Add(2).Floats({2, 2}, {3, 4, 5, 6});
    ready.instances[0]->Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    CHECK_EQ(batch.marks, "icr");
    CHECK_EQ(batch.outputs[0].tail, Dims{2});
    CHECK_EQ(Values<float>(batch.outputs[0].bytes), (Floats{2, 4, 6, 8, 10, 12}));
  }
}

TENSORFLOW_TEST(tensorflow_describes_graphs) {
  const TensorFlowReady ready(
      Doubling({-1, 2}).Node("z", "Shape", {"x"}, kFloatT + TypeOfTf("out_type", kTfInt32)),
      FloatsIo(8, {-1, 2}));
  CHECK_EQ(ready.status.message(), "");
  const ModelDescription description = ready.model->Describe();
  CHECK_EQ(description.inputs.size(), 1u);
  CHECK_EQ(description.inputs[0].name, "x");
  CHECK_EQ(description.inputs[0].dims, (Dims{-1, 2}));
  CHECK_EQ(description.outputs.size(), 2u);
  CHECK(description.outputs[1].datatype == DataType::kInt32);
}

TENSORFLOW_TEST(tensorflow_gives_any_operation_of_a_graph_as_an_output) {
  TensorFlowReady ready(Doubling({-1}).Node("z", "Neg", {"y"}, kFloatT), FloatsIo(8, {-1}));
  CHECK_EQ(ready.status.message(), "");
  CHECK_EQ(ready.Run({1}, {3}), Floats{6});
}

TENSORFLOW_TEST(tensorflow_tensors_may_be_empty_or_scalar) {
  TensorFlowReady empty(Doubling({-1}), FloatsIo(0, {-1}));
  CHECK_EQ(empty.status.message(), "");
  CHECK_EQ(empty.Run({0}, {}), Floats{});
  CHECK_EQ(empty.status.message(), "");
  TensorFlowReady scalar(Doubling({}), FloatsIo(0, {1}));
  CHECK_EQ(scalar.status.message(), "");
  CHECK_EQ(scalar.Run({1}, {2}), Floats{4});
}

TENSORFLOW_TEST(tensorflow_strings_pass_with_any_bytes) {
  TensorFlowReady ready(
      TfGraphWriter()
          .Placeholder("x", kTfText, {-1, 2})
          .Node("y", "Identity", {"x"}, TypeOfTf("T", kTfText)),
      {8, {{"x", DataType::kBytes, {-1, 2}}}, {{"y", DataType::kBytes, {-1, 2}}}});
  CHECK_EQ(ready.status.message(), "");
  const std::string nul("a\0b", 3);
  const std::vector<std::string> first = {"", nul};
  const std::vector<std::string> second = {std::string(100, 'l'), "\xff\xfe"};
  for (int i = 0; i < 2; i++) {
    RecordingBatch batch;
    batch.Add()
        .Input(0, DataType::kBytes, {1, 2}, Strings(first))
        .Add()
        .Input(0, DataType::kBytes, {1, 2}, Strings(second));
    ready.instances[0]->Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    CHECK_EQ(batch.outputs[0].bytes, Strings(first) + Strings(second));
    CHECK_EQ(batch.outputs[0].offsets.size(), 3u);
  }
  RecordingBatch wrong;
  wrong.Add().Input(0, DataType::kBytes, {1, 2}, Strings({"one"}));
  ready.instances[0]->Execute(wrong);
  CHECK(wrong.status.code() == Code::kInvalidArg);
}

TENSORFLOW_TEST(tensorflow_a_string_without_dims_is_no_crash) {
  TensorFlowReady ready(
      TfGraphWriter().Placeholder("x", kTfText, {}).Node("y", "StringLower", {"x"}),
      {0, {{"x", DataType::kBytes, {1}}}, {{"y", DataType::kBytes, {1}}}});
  CHECK_EQ(ready.status.message(), "");
  RecordingBatch batch;
  batch.Add().Input(0, DataType::kBytes, {1}, Strings({"ABC"}));
  ready.instances[0]->Execute(batch);
  CHECK_EQ(batch.status.message(), "");
  CHECK_EQ(batch.outputs[0].bytes, Strings({"abc"}));
}

TENSORFLOW_TEST(tensorflow_what_a_variable_keeps_is_its_own) {
  constexpr int64_t kSize = 1 << 18;
  TensorFlowReady ready(Remembering({kSize}, Raw(Floats(kSize, 0))), FloatsIo(0, {kSize}),
                        {{"init_ops", "v/init"}});
  CHECK_EQ(ready.status.message(), "");
  CHECK(!ready.model->may_run_again());
  // The library takes memory at such addresses without a copy.
  alignas(64) static float x[kSize];
  for (int i = 0; i < 4; i++) {
    std::fill(std::begin(x), std::end(x), static_cast<float>(i + 1));
    RecordingBatch batch;
    batch.Add().InputAt(0, DataType::kFp32, {kSize}, x, sizeof x);
    ready.instances[0]->Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    CHECK(Values<float>(batch.outputs[0].bytes) == Floats(kSize, static_cast<float>(i)));
  }
}

TENSORFLOW_TEST(tensorflow_takes_inputs_at_any_address) {
  TensorFlowReady ready(Doubling({-1}), FloatsIo(0, {-1}));
  alignas(64) static float x[1024];
  for (size_t shift = 0; shift < 32; shift++) {
    std::fill(std::begin(x), std::end(x), static_cast<float>(shift));
    RecordingBatch batch;
    batch.Add().InputAt(0, DataType::kFp32, {512}, x + shift, 512 * sizeof(float));
    ready.instances[0]->Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    CHECK(Values<float>(batch.outputs[0].bytes) == Floats(512, 2.0f * static_cast<float>(shift)));
    CHECK_EQ(x[shift], static_cast<float>(shift));
  }
}

TENSORFLOW_TEST(tensorflow_responses_do_not_share_memory_with_the_model) {
  TensorFlowReady ready(TfGraphWriter()
                            .Placeholder("x", kTfFloat, {2})
                            .Constant("y", kTfFloat, {2}, Raw(Floats{1, 2})),
                        FloatsIo(0, {2}));
  CHECK_EQ(ready.status.message(), "");
  RecordingBatch batch;
  batch.Add().Floats({2}, {0, 0});
  ready.instances[0]->Execute(batch);
  CHECK_EQ(batch.status.message(), "");
  *static_cast<float*>(batch.outputs[0].block->data()) = 9;
  CHECK_EQ(ready.Run({2}, {0, 0}), (Floats{1, 2}));
}

TENSORFLOW_TEST(tensorflow_instances_share_as_many_sessions_as_configured) {
  for (const uint32_t share : {1, 2}) {
    TensorFlowReady ready(Remembering({1}, Raw(Floats{7})), FloatsIo(0, {1}),
                          {{"init_ops", "v/init"}, {"share", std::to_string(share)}});
    CHECK_EQ(ready.status.message(), "");
    ready.AddInstance();
    ready.AddInstance();
    CHECK_EQ(ready.status.message(), "");
    CHECK_EQ(ready.Run({1}, {1}, 0), Floats{7});
    CHECK_EQ(ready.Run({1}, {2}, 1), Floats{share == 1 ? 7.0f : 1.0f});
    CHECK_EQ(ready.Run({1}, {3}, 2), Floats{7});
  }
}

TENSORFLOW_TEST(tensorflow_says_what_does_not_fit) {
  const TensorFlowReady name(Doubling({-1, 2}), {8, {{"a", DataType::kFp32, {-1, 2}}}, {}});
  CHECK(Contains(name.status, "has no input 'a'; it has 'x'"));
  const TensorFlowReady output(Doubling({-1}),
                               {8, {{"x", DataType::kFp32, {-1}}}, {{"q", DataType::kFp32, {-1}}}});
  CHECK(Contains(output.status, "output 'q': the graph has no tensor 'q'"));
  const TensorFlowReady type(Doubling({-1}),
                             {8, {{"x", DataType::kInt8, {-1}}}, {{"y", DataType::kInt8, {-1}}}});
  CHECK(Contains(type.status, "configured as INT8, but the model has DT_FLOAT"));
  const Status broken =
      tensorflow::TensorFlowModel::Load(TensorFlowSpec("no graph at all")).status();
  CHECK(broken.code() == Code::kInvalidArg);
  CHECK(Contains(broken, "TensorFlow cannot load the graph"));
  const Status init = tensorflow::TensorFlowModel::Load(
                          TensorFlowSpec(Doubling({-1}).Graph(), {{"init_ops", "nothing"}}))
                          .status();
  CHECK(Contains(init, "has no operation 'nothing'"));
  TensorFlowReady rows(
      TfGraphWriter().Placeholder("x", kTfFloat, {-1}).Node("y", "Where", {"x"}, kFloatT),
      {8, {{"x", DataType::kFp32, {-1}}}, {{"y", DataType::kInt64, {-1, 1}}}});
  CHECK_EQ(rows.status.message(), "");
  CHECK(rows.model->time_depends_on_data());
  CHECK_EQ(rows.model->Describe().rows_vary, "the model has the operation Where");
  (void)rows.Run({1}, {0});
  CHECK(Contains(rows.status, "output 'y': expected 1 row"));
}

TENSORFLOW_TEST(tensorflow_instance_ends_when_asked) {
  TensorFlowReady ready(Doubling({-1}), FloatsIo(8, {-1}));
  CHECK_EQ(ready.status.message(), "");
  ready.instances[0]->Terminate();
  (void)ready.Run({1}, {1});
  CHECK(ready.status.code() == Code::kCancelled);
}

}  // namespace tritonts::test
