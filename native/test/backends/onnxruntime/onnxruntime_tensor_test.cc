// The onnxruntime backend: tensors of all types and shapes, in and out.
#include "onnxruntime_fixture.h"

namespace tritonts::test {

namespace {

// y = x of one type and shape, without batching.
Ready Unbatched(OnnxType type, DataType datatype, const Dims& dims, const Dims& configured) {
  return Ready(OnnxModelWriter()
                   .Input("x", Tensor(type, dims))
                   .Node("Identity", {"x"}, {"y"})
                   .Output("y", Tensor(type, dims)),
               {0, {{"x", datatype, configured, false}}, {{"y", datatype, configured, false}}});
}

}  // namespace

RUNTIME_TEST(onnxruntime_passes_every_fixed_size_type_as_it_is) {
  for (int32_t number = 1; number <= 16; number++) {
    const auto type = static_cast<OnnxType>(number);
    const bool complex = number == 14 || number == 15;
    if (type == kOnnxString || complex) continue;
    // BOOL needs bytes of 0 or 1. For the other types all bit patterns are valid.
    const std::string bytes = type == kOnnxBool ? std::string("\0\1\1\0", 4) : "\x80\x7f\x01\x3c";
    for (const DataType datatype :
         {DataType::kBool, DataType::kUint8, DataType::kUint16, DataType::kUint32,
          DataType::kUint64, DataType::kInt8, DataType::kInt16, DataType::kInt32, DataType::kInt64,
          DataType::kFp16, DataType::kFp32, DataType::kFp64, DataType::kBf16}) {
      const auto width = static_cast<int64_t>(8 / ByteSize(datatype));
      Ready ready(Identity(type, width), IdentityIo(datatype, width));
      if (!ready.instance) continue;  // not the model's type
      RecordingBatch batch;
      ready.instance->Execute(batch.Add().Input(0, datatype, {1, width}, bytes + bytes));
      CHECK_EQ(batch.status.message(), "");
      CHECK_EQ(batch.outputs[0].bytes, bytes + bytes);
      CHECK(batch.outputs[0].datatype == datatype);
    }
  }
}

RUNTIME_TEST(onnxruntime_passes_bytes_with_nul_in_both_directions) {
  Ready ready(Identity(kOnnxString, -1), IdentityIo(DataType::kBytes, -1));
  CHECK_EQ(ready.status.message(), "");
  const std::string nul("a\0b", 3);
  const std::string first = Strings({"", nul});
  const std::string second = Strings({"\xff\xfe", "longer than the others, by far, to be sure"});
  RecordingBatch batch;
  batch.Add().Input(0, DataType::kBytes, {1, 2}, first);
  batch.Add().Input(0, DataType::kBytes, {1, 2}, second);
  ready.instance->Execute(batch);
  CHECK_EQ(batch.status.message(), "");
  CHECK_EQ(batch.outputs[0].bytes, first + second);
  CHECK(batch.outputs[0].offsets ==
        (std::vector<size_t>{0, first.size(), first.size() + second.size()}));
  CHECK(batch.outputs[0].tail == Dims{2});
  RecordingBatch none;
  ready.instance->Execute(none.Add().Input(0, DataType::kBytes, {1, 0}, ""));
  CHECK_EQ(none.status.message(), "");
  CHECK_EQ(none.outputs[0].bytes, "");
  CHECK(none.outputs[0].offsets == (std::vector<size_t>{0, 0}));
}

RUNTIME_TEST(onnxruntime_refuses_malformed_bytes) {
  Ready ready(Identity(kOnnxString, -1), IdentityIo(DataType::kBytes, -1));
  const auto refused = [&](int64_t width, const std::string& bytes) {
    RecordingBatch batch;
    ready.instance->Execute(batch.Add().Input(0, DataType::kBytes, {1, width}, bytes));
    return batch.status.code() == Code::kInvalidArg && Contains(batch.status, "'x'");
  };
  CHECK(refused(2, Strings({"one"})));
  CHECK(refused(1, Strings({"one", "two"})));
  CHECK(refused(1, Strings({"one"}).substr(0, 6)));
  CHECK(refused(1, "abc"));
  CHECK(refused(1, std::string("\xff\xff\xff\xff", 4)));
  CHECK(refused(int64_t{1} << 62, Strings({"one"})));
  RecordingBatch batch;
  ready.instance->Execute(batch.Add().Input(0, DataType::kBytes, {1, 1}, Strings({"fine"})));
  CHECK(batch.status.ok());
}

RUNTIME_TEST(onnxruntime_gives_a_scalar_as_one_element) {
  Ready number = Unbatched(kOnnxFloat, DataType::kFp32, {}, {1});
  CHECK_EQ(number.status.message(), "");
  RecordingBatch batch;
  number.instance->Execute(batch.Add().Floats({1}, {2.5f}));
  CHECK_EQ(batch.status.message(), "");
  CHECK(batch.outputs[0].tail == Dims{1});
  CHECK(Values<float>(batch.outputs[0].bytes) == std::vector<float>{2.5f});

  Ready word = Unbatched(kOnnxString, DataType::kBytes, {}, {1});
  RecordingBatch words;
  word.instance->Execute(words.Add().Input(0, DataType::kBytes, {1}, Strings({"word"})));
  CHECK_EQ(words.status.message(), "");
  CHECK(words.outputs[0].tail == Dims{1});
  CHECK_EQ(words.outputs[0].bytes, Strings({"word"}));
}

RUNTIME_TEST(onnxruntime_runs_models_without_batching) {
  Ready fixed = Unbatched(kOnnxFloat, DataType::kFp32, {2, 1}, {2, 1});
  RecordingBatch batch;
  fixed.instance->Execute(batch.Add().Floats({2, 1}, {1, 2}));
  CHECK(batch.outputs[0].tail == (Dims{2, 1}));
  CHECK_EQ(batch.outputs[0].bytes, Raw<float>({1, 2}));
  Ready dynamic = Unbatched(kOnnxFloat, DataType::kFp32, {-1, 2}, {-1, 2});
  RecordingBatch longer;
  dynamic.instance->Execute(longer.Add().Floats({2, 2}, {1, 2, 3, 4}));
  CHECK(longer.outputs[0].tail == (Dims{2, 2}));
  CHECK_EQ(longer.outputs[0].bytes, Raw<float>({1, 2, 3, 4}));
}

RUNTIME_TEST(onnxruntime_takes_the_default_of_an_absent_optional_input) {
  Ready ready(OnnxModelWriter()
                  .Input("x", Tensor(kOnnxFloat, {-1, 1}))
                  .Input("bias", Tensor(kOnnxFloat, {1}))
                  .Initializer("bias", kOnnxFloat, {1}, Raw<float>({7}))
                  .Node("Add", {"x", "bias"}, {"y"})
                  .Output("y", Tensor(kOnnxFloat, {-1, 1})),
              {0,
               {{"bias", DataType::kFp32, {1}, true}, {"x", DataType::kFp32, {-1, 1}, false}},
               {{"y", DataType::kFp32, {-1, 1}, false}}});
  CHECK_EQ(ready.status.message(), "");
  RecordingBatch absent;
  ready.instance->Execute(absent.Add().Input(1, DataType::kFp32, {1, 1}, Raw<float>({1})));
  CHECK(Values<float>(absent.outputs[0].bytes) == std::vector<float>{8});
  RecordingBatch present;
  present.Add().Input(1, DataType::kFp32, {1, 1}, Raw<float>({1}));
  ready.instance->Execute(present.Input(0, DataType::kFp32, {1}, Raw<float>({2})));
  CHECK(Values<float>(present.outputs[0].bytes) == std::vector<float>{3});
}

RUNTIME_TEST(onnxruntime_tolerates_a_model_that_declares_a_wrong_shape) {
  // Reshape has a computed shape, so the runtime cannot know that the output is not [N, 2].
  Ready ready(
      OnnxModelWriter()
          .Input("x", Tensor(kOnnxFloat, {-1, 2}))
          .Input("shape", Tensor(kOnnxInt64, {3}))
          .Node("Reshape", {"x", "shape"}, {"y"})
          .Node("Identity", {"x"}, {"same"})
          .Output("y", Tensor(kOnnxFloat, {-1, 2, 1}))
          .Output("same", Tensor(kOnnxFloat, {-1, 2})),
      {0,
       {{"x", DataType::kFp32, {2, 2}, false}, {"shape", DataType::kInt64, {3}, false}},
       {{"y", DataType::kFp32, {2, 2, 1}, false}, {"same", DataType::kFp32, {2, 2}, false}}});
  CHECK_EQ(ready.status.message(), "");
  for (int i = 0; i < 2; i++) {
    RecordingBatch batch;
    batch.Add().Floats({2, 2}, {1, 2, 3, 4});
    ready.instance->Execute(batch.Input(1, DataType::kInt64, {3}, Raw<int64_t>({4, 1, 1})));
    CHECK_EQ(batch.status.message(), "");
    CHECK(batch.outputs[0].tail == (Dims{4, 1, 1}));
    CHECK_EQ(batch.outputs[0].bytes, Raw<float>({1, 2, 3, 4}));
    CHECK(batch.outputs[1].tail == (Dims{2, 2}));
  }
}

RUNTIME_TEST(onnxruntime_copies_an_output_that_is_an_input) {
  Ready ready(
      OnnxModelWriter()
          .Input("x", Tensor(kOnnxFloat, {-1, 2}))
          .Output("x", Tensor(kOnnxFloat, {-1, 2})),
      {8, {{"x", DataType::kFp32, {-1, 2}, false}}, {{"x", DataType::kFp32, {-1, 2}, false}}});
  CHECK_EQ(ready.status.message(), "");
  RecordingBatch batch;
  ready.instance->Execute(batch.Add().Floats({1, 2}, {1, 2}));
  CHECK_EQ(batch.status.message(), "");
  CHECK_EQ(batch.outputs[0].bytes, Raw<float>({1, 2}));
  CHECK(batch.outputs[0].data != batch.requests()[0]->inputs()[0].first_chunks[0].data);
}

}  // namespace tritonts::test
