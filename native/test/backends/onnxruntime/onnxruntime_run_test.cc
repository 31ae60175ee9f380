// The onnxruntime backend: running batches, and failing ones.
#include <thread>

#include "onnxruntime_fixture.h"

namespace tritonts::test {

namespace {

// value = table[index]. A run fails if an index is above 1.
OnnxModelWriter Table() {
  return OnnxModelWriter()
      .Input("index", Tensor(kOnnxInt64, {-1, 1}))
      .Initializer("table", kOnnxFloat, {2}, Raw<float>({10, 20}))
      .Node("Gather", {"table", "index"}, {"value"})
      .Output("value", Tensor(kOnnxFloat, {-1, 1}));
}

ModelIo TableIo() {
  return {8,
          {{"index", DataType::kInt64, {-1, 1}, false}},
          {{"value", DataType::kFp32, {-1, 1}, false}}};
}

}  // namespace

RUNTIME_TEST(onnxruntime_runs_requests_together) {
  Ready ready(Identity(kOnnxFloat, 2), IdentityIo(DataType::kFp32, 2));
  CHECK_EQ(ready.status.message(), "");
  RecordingBatch batch;
  batch.Add(1).Floats({1, 2}, {1, 2}).Add(2).Floats({2, 2}, {3, 4, 5, 6});
  ready.instance->Execute(batch);
  CHECK_EQ(batch.status.message(), "");
  CHECK_EQ(batch.marks, "icr");
  CHECK(batch.outputs[0].datatype == DataType::kFp32);
  CHECK(batch.outputs[0].tail == Dims{2});
  CHECK(Values<float>(batch.outputs[0].bytes) == (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

RUNTIME_TEST(onnxruntime_runs_shapes_that_are_not_known_before) {
  Ready ready(Identity(kOnnxFloat, -1), IdentityIo(DataType::kFp32, -1));
  CHECK_EQ(ready.status.message(), "");
  for (const int64_t width : {1, 3, 0, 2}) {
    RecordingBatch batch;
    const std::vector<float> row(static_cast<size_t>(width), 1.5f);
    batch.Add().Floats({1, width}, row).Add().Floats({1, width}, row);
    ready.instance->Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    CHECK(batch.outputs[0].tail == Dims{width});
    CHECK_EQ(batch.outputs[0].bytes, Raw(row) + Raw(row));
  }
}

RUNTIME_TEST(onnxruntime_asks_only_for_outputs_that_somebody_wants) {
  Ready ready(
      Table().Node("Identity", {"index"}, {"same"}).Output("same", Tensor(kOnnxInt64, {-1, 1})),
      {8,
       {{"index", DataType::kInt64, {-1, 1}, false}},
       {{"same", DataType::kInt64, {-1, 1}, false}, {"value", DataType::kFp32, {-1, 1}, false}}});
  CHECK_EQ(ready.status.message(), "");
  const std::string one = Raw<int64_t>({1});
  RecordingBatch same;
  ready.instance->Execute(same.Add(1, {0}).Input(0, DataType::kInt64, {1, 1}, one));
  CHECK_EQ(same.outputs.size(), 1u);
  CHECK_EQ(same.outputs[0].bytes, one);
  RecordingBatch different;
  different.Add(1, {0}).Input(0, DataType::kInt64, {1, 1}, one);
  different.Add(1, {1}).Input(0, DataType::kInt64, {1, 1}, one);
  ready.instance->Execute(different);
  CHECK_EQ(different.outputs.size(), 2u);
  CHECK_EQ(different.outputs[0].bytes, one + one);
  CHECK_EQ(different.outputs[1].bytes, Raw<float>({20, 20}));
}

RUNTIME_TEST(onnxruntime_fails_a_batch_with_the_text_of_the_runtime_and_runs_the_next) {
  Ready ready(Table(), TableIo());
  CHECK_EQ(ready.status.message(), "");
  RecordingBatch bad;
  ready.instance->Execute(bad.Add().Input(0, DataType::kInt64, {1, 1}, Raw<int64_t>({5})));
  CHECK_EQ(bad.status.code(), Code::kInternal);
  CHECK(Contains(bad.status, "model 'm'"));
  CHECK(Contains(bad.status, "Gather"));
  CHECK(bad.outputs.empty());
  RecordingBatch good;
  ready.instance->Execute(good.Add().Input(0, DataType::kInt64, {1, 1}, Raw<int64_t>({1})));
  CHECK_EQ(good.status.message(), "");
  CHECK(Values<float>(good.outputs[0].bytes) == std::vector<float>{20});
}

RUNTIME_TEST(onnxruntime_refuses_outputs_without_the_rows_of_the_batch) {
  // The file declares y as [d1, 2] like x, but Concat doubles the rows.
  const auto doubled = [](int64_t width) {
    return OnnxModelWriter()
        .Input("x", Tensor(kOnnxFloat, {-1, width}))
        .Node("Concat", {"x", "x"}, {"y"}, {IntAttribute("axis", 0)})
        .Output("y", Tensor(kOnnxFloat, {-1, width}));
  };
  for (const int64_t width : {2, -2}) {
    Ready ready(doubled(width), IdentityIo(DataType::kFp32, width < 0 ? -1 : width));
    CHECK_EQ(ready.status.message(), "");
    for (int i = 0; i < 2; i++) {
      RecordingBatch batch;
      batch.Add().Floats({1, 2}, {1, 2}).Add(2).Floats({2, 2}, {3, 4, 5, 6});
      ready.instance->Execute(batch);
      CHECK_EQ(batch.status.code(), Code::kInternal);
      CHECK(Contains(batch.status, "output 'y'"));
      CHECK(Contains(batch.status, "expected 3 rows"));
      CHECK(Contains(batch.status, "returned 6"));
      CHECK(Contains(batch.status, "Write max_batch_size: 0"));
    }
  }
}

RUNTIME_TEST(onnxruntime_reuses_the_memory_of_outputs_of_known_size) {
  Ready ready(Identity(kOnnxFloat, 2), IdentityIo(DataType::kFp32, 2));
  RecordingBatch batch;
  ready.instance->Execute(batch.Add().Floats({1, 2}, {1, 2}));
  const void* first = batch.outputs[0].data;
  batch.outputs.clear();  // returns the block to the batch's pool
  ready.instance->Execute(batch);
  CHECK(batch.outputs[0].data == first);
}

RUNTIME_TEST(onnxruntime_outputs_outlive_instance_and_model) {
  RecordingBatch batch;
  {
    Ready ready(Identity(kOnnxFloat, -1), IdentityIo(DataType::kFp32, -1));
    ready.instance->Execute(batch.Add().Floats({1, 3}, {1, 2, 3}));
  }
  const auto& output = batch.outputs[0];
  CHECK_EQ(std::string(static_cast<const char*>(output.data), 12), Raw<float>({1, 2, 3}));
}

RUNTIME_TEST(onnxruntime_ends_a_run_when_it_is_told_to) {
  // A loop that would take years.
  const std::string body = OnnxModelWriter()
                               .Input("iteration", Tensor(kOnnxInt64, {}))
                               .Input("go_on", Tensor(kOnnxBool, {}))
                               .Input("state", Tensor(kOnnxFloat, {-1, 1}))
                               .Node("Identity", {"go_on"}, {"go_on_after"})
                               .Node("Neg", {"state"}, {"state_after"})
                               .Output("go_on_after", Tensor(kOnnxBool, {}))
                               .Output("state_after", Tensor(kOnnxFloat, {-1, 1}))
                               .Graph();
  Ready ready(OnnxModelWriter()
                  .Input("x", Tensor(kOnnxFloat, {-1, 1}))
                  .Initializer("count", kOnnxInt64, {}, Raw<int64_t>({int64_t{1} << 60}))
                  .Initializer("always", kOnnxBool, {}, "\1")
                  .Node("Loop", {"count", "always", "x"}, {"y"}, {GraphAttribute("body", body)})
                  .Output("y", Tensor(kOnnxFloat, {-1, 1})),
              IdentityIo(DataType::kFp32, 1));
  CHECK_EQ(ready.status.message(), "");
  RecordingBatch batch;
  batch.Add().Floats({1, 1}, {1});
  std::thread thread([&] {
    while (!batch.started) std::this_thread::yield();
    ready.instance->Terminate();
  });
  ready.instance->Execute(batch);
  thread.join();
  CHECK_EQ(batch.status.code(), Code::kCancelled);
  CHECK(Contains(batch.status, "the run was asked to end"));
}

RUNTIME_TEST(onnxruntime_cancels_the_runs_of_a_terminated_instance) {
  Ready ready(Identity(kOnnxFloat, 2), IdentityIo(DataType::kFp32, 2));
  ready.instance->Terminate();
  RecordingBatch batch;
  ready.instance->Execute(batch.Add().Floats({1, 2}, {1, 2}));
  CHECK_EQ(batch.status.code(), Code::kCancelled);
  CHECK(Contains(batch.status, "the run was asked to end"));
}

RUNTIME_TEST(onnxruntime_instances_run_at_the_same_time) {
  Ready ready(Identity(kOnnxFloat, -1), IdentityIo(DataType::kFp32, -1));
  auto other = ready.model->CreateInstance({"m_1", 1, MemoryKind::kHost, 0});
  CHECK(other.ok());
  const auto run = [](Instance* instance, float value, bool* right) {
    *right = true;
    for (int i = 0; i < 200; i++) {
      RecordingBatch batch;
      instance->Execute(batch.Add().Floats({1, 2}, {value, value}));
      *right = *right && batch.outputs[0].bytes == Raw<float>({value, value});
    }
  };
  bool first = false;
  bool second = false;
  std::thread thread(run, other.value().get(), 2.0f, &second);
  run(ready.instance.get(), 1.0f, &first);
  thread.join();
  CHECK(first);
  CHECK(second);
}

RUNTIME_TEST(onnxruntime_runs_a_batch_after_one_that_threw) {
  Ready ready(Identity(kOnnxFloat, 1), IdentityIo(DataType::kFp32, 1));
  CHECK(ready.status.ok());
  RecordingBatch bad;
  bad.Add().Floats({1, 1}, {1});
  bad.lacks_memory = true;
  bool threw = false;
  try {
    ready.instance->Execute(bad);
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  CHECK(threw);
  RecordingBatch good;
  good.Add(2).Floats({2, 1}, {2, 3});
  ready.instance->Execute(good);
  CHECK(good.status.ok());
  CHECK_EQ(good.outputs[0].bytes, Raw<float>({2, 3}));
}

}  // namespace tritonts::test
