// The memory of the pytorch backend's inputs and outputs, with libtorch.
#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "pytorch_fixture.h"

namespace tritonts::test {

namespace {

// The bytes of a request's input as they are now.
std::string BytesNow(const RecordingBatch& batch, uint32_t request = 0, uint32_t input = 0) {
  const Request& one = *batch.requests()[request];
  const Buffer chunk = one.chunk(*batch.input(request, input));
  return {static_cast<const char*>(chunk.data), chunk.size};
}

const void* PlaceNow(const RecordingBatch& batch) {
  return batch.requests()[0]->chunk(*batch.input(0, 0)).data;
}

}  // namespace

PYTORCH_TEST(pytorch_runs_requests_together) {
  PyTorchReady ready("twice", PyTorchIo(8, {-1, 2}));
  CHECK_EQ(ready.status.message(), "");
  CHECK(ready.model->may_run_again() && !ready.model->time_depends_on_data());
  for (int i = 0; i < 3; i++) {
    RecordingBatch batch;
    batch.Add(1).Floats({1, 2}, {1, 2}).Add(2).Floats({2, 2}, {3, 4, 5, 6});
    ready.instance().Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    CHECK_EQ(batch.marks, "icr");
    CHECK_EQ(batch.outputs[0].tail, Dims{2});
    CHECK_EQ(Values<float>(batch.outputs[0].bytes), (Floats{2, 4, 6, 8, 10, 12}));
  }
}

PYTORCH_TEST(pytorch_gives_its_own_memory_to_callers) {
  PyTorchReady ready("twice", PyTorchIo(0, {-1}));
  RecordingBatch batch;
  batch.Add().Floats({4}, {1, 2, 3, 4});
  ready.instance().Execute(batch);
  CHECK_EQ(Values<float>(batch.outputs[0].bytes), (Floats{2, 4, 6, 8}));
  // The block is the tensor's, not one of the run's pool, and outlives instance and model.
  const BlockRef block = batch.outputs[0].block;
  CHECK(block->data() == batch.outputs[0].data && block->size() == 4 * sizeof(float));
  ready.instances.clear();
  ready.model.reset();
  CHECK_EQ(static_cast<const float*>(block->data())[3], 8.0f);
}

PYTORCH_TEST(pytorch_graphs_that_change_or_keep_inputs_have_effects) {
  const auto has_effects = [](const std::string& name) {
    ModelIo io = PyTorchIo(0, {-1, -1});
    if (name == "in_place_dict") io.inputs[0].name = "a";
    PyTorchReady ready(name, io);
    CHECK_EQ(ready.status.message(), "");
    return ready.model && !ready.model->may_run_again();
  };
  for (const char* name : {"in_place", "in_place_view", "in_place_dict", "in_place_list", "keep",
                           "count", "alias_dropout", "alias_type_as", "alias_sum_to_size",
                           "alias_atleast_2d", "alias_set", "alias_weights"}) {
    CHECK(has_effects(name));
  }
  for (const char* name :
       {"in_place_fresh", "twice", "perceptron", "same", "view", "weights", "nonzero", "until"}) {
    CHECK(!has_effects(name));
  }
}

PYTORCH_TEST(pytorch_models_never_change_requests) {
  for (const char* name : {"in_place", "in_place_view", "in_place_list"}) {
    PyTorchReady ready(name, PyTorchIo(8, {-1, 3}));
    CHECK_EQ(ready.status.message(), "");
    for (int i = 0; i < 5; i++) {
      RecordingBatch batch;
      batch.Add().Floats({1, 3}, {1, 2, 3});
      ready.instance().Execute(batch);
      CHECK_EQ(batch.status.message(), "");
      CHECK_EQ(BytesNow(batch), Raw(Floats{1, 2, 3}));
    }
  }
  ModelIo io = PyTorchIo(8, {-1, 3});
  io.inputs[0].name = "a";
  PyTorchReady ready("in_place_dict", io);
  RecordingBatch batch;
  batch.Add().Floats({1, 3}, {1, 2, 3});
  ready.instance().Execute(batch);
  CHECK_EQ(Values<float>(batch.outputs[0].bytes), (Floats{2, 4, 6}));
  CHECK_EQ(BytesNow(batch), Raw(Floats{1, 2, 3}));
}

PYTORCH_TEST(pytorch_answers_are_no_memory_of_requests_or_weights) {
  for (const char* name : {"same", "weights"}) {
    PyTorchReady ready(name, PyTorchIo(8, {-1, 2}));
    for (int i = 0; i < 3; i++) {
      RecordingBatch batch;
      batch.Add().Floats({1, 2}, {1, 2});
      ready.instance().Execute(batch);
      CHECK_EQ(batch.status.message(), "");
      CHECK_EQ(Values<float>(batch.outputs[0].bytes), (Floats{1, 2}));
      CHECK(batch.outputs[0].data != PlaceNow(batch));
      // A caller may overwrite what it got.
      std::memset(batch.outputs[0].block->data(), 0x7f, 2 * sizeof(float));
      CHECK_EQ(BytesNow(batch), Raw(Floats{1, 2}));
    }
  }
}

PYTORCH_TEST(pytorch_models_keep_copies_of_what_they_keep) {
  PyTorchReady ready("keep", PyTorchIo(8, {-1, 2}));
  Floats before{0, 0};
  for (float i = 1; i < 6; i++) {
    RecordingBatch batch;
    batch.Add().Floats({1, 2}, {i, -i});
    ready.instance().Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    CHECK_EQ(Values<float>(batch.outputs[0].bytes), before);
    before = {i, -i};
    // The memory of the request is used again.
    std::memset(const_cast<void*>(PlaceNow(batch)), 0x7f, 2 * sizeof(float));
    // So are idle blocks of the pool.
    const BlockRef other = batch.pool().Acquire(2 * sizeof(float));
    std::memset(other->data(), 0x7f, 2 * sizeof(float));
  }
  // What is put together of several requests is in a block that the model may keep.
  for (float i = 1; i < 6; i++) {
    RecordingBatch batch;
    batch.Add().Floats({1, 2}, {i, i}).Add().Floats({1, 2}, {i, -i});
    ready.instance().Execute(batch);
    const BlockRef other = batch.pool().Acquire(4 * sizeof(float));
    std::memset(other->data(), 0x7f, 4 * sizeof(float));
    if (i == 1) continue;
    CHECK_EQ(Values<float>(batch.outputs[0].bytes), (Floats{i - 1, i - 1, i - 1, 1 - i}));
  }
}

PYTORCH_TEST(pytorch_bools_of_other_bytes_count_once) {
  PyTorchReady ready("chosen", {0,
                                {{"x", DataType::kFp32, {-1}}, {"mask", DataType::kBool, {-1}}},
                                {{"y", DataType::kFp32, {-1}}}});
  CHECK_EQ(ready.status.message(), "");
  const std::string mask = std::string("\xff\x00\x02", 3);
  RecordingBatch batch;
  batch.Add().Floats({3}, {1, 2, 3}).Input(1, DataType::kBool, {3}, mask);
  ready.instance().Execute(batch);
  CHECK_EQ(batch.status.message(), "");
  CHECK_EQ(Values<float>(batch.outputs[0].bytes), (Floats{1, 3}));
  CHECK_EQ(BytesNow(batch, 0, 1), mask);
}

PYTORCH_TEST(pytorch_memory_that_is_not_aligned_is_copied) {
  PyTorchReady ready("twice", PyTorchIo(0, {-1}));
  std::string bytes = "?" + Raw(Floats{1, 2, 3});
  RecordingBatch batch;
  batch.Add().Floats({3}, {0, 0, 0});
  // The first chunk is behind a byte.
  auto& chunks = const_cast<InputTensor*>(batch.input(0, 0))->first_chunks;
  chunks[0].data = bytes.data() + 1;
  ready.instance().Execute(batch);
  CHECK_EQ(Values<float>(batch.outputs[0].bytes), (Floats{2, 4, 6}));
}

PYTORCH_TEST(pytorch_instances_share_a_module_only_if_they_should) {
  const auto counts = [](const std::string& share) {
    PyTorchReady ready("count", PyTorchIo(8, {-1, 1}), {{"share", share}}, 2);
    CHECK_EQ(ready.status.message(), "");
    Floats seen;
    for (size_t i = 0; i < 4; i++) {
      RecordingBatch batch;
      batch.Add().Floats({1, 1}, {0});
      ready.instance(i % 2).Execute(batch);
      seen.push_back(Values<float>(batch.outputs[0].bytes)[0]);
    }
    return seen;
  };
  CHECK_EQ(counts("false"), (Floats{1, 1, 2, 2}));
  CHECK_EQ(counts("true"), (Floats{1, 2, 3, 4}));
}

PYTORCH_TEST(pytorch_errors_have_the_stack_of_torchscript_behind_a_mark) {
  PyTorchReady ready("fails", PyTorchIo(8, {-1, 1}));
  CHECK(ready.model->time_depends_on_data());
  RecordingBatch batch;
  batch.Add().Floats({1, 1}, {-1});
  ready.instance().Execute(batch);
  CHECK(batch.status.code() == Code::kInternal);
  const std::string text = batch.status.message();
  const std::string own = "RuntimeError: AssertionError: negative: ä";
  const std::string mark = std::string("\0\1", 2) + "41" + std::string("\1\0", 2);
  const std::string begin = "model 'm': PyTorch execute failure: " + own + mark;
  CHECK_EQ(text.substr(0, begin.size()), begin);
  CHECK(Contains(text, "in forward"));
  CHECK(Contains(text, "assert bool(x.sum() >= 0)"));
}

PYTORCH_TEST(pytorch_files_in_memory_are_read) {
  PyTorchReady file("twice", PyTorchIo(0, {-1}));
  ModelSpec spec = PyTorchSpec("twice");
  std::ifstream stream(spec.path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  spec.path = "model.pt";
  spec.files["model.pt"] = std::make_shared<const std::string>(bytes);
  auto loaded = pytorch::TorchScriptModel::Load(spec);
  CHECK_EQ(loaded.status().message(), "");
  // A file that is cut off anywhere is an error.
  for (size_t size = 0; size < bytes.size(); size += 97) {
    spec.files["model.pt"] = std::make_shared<const std::string>(bytes.substr(0, size));
    CHECK(!pytorch::TorchScriptModel::Load(spec).ok());
  }
}

PYTORCH_TEST(pytorch_instances_run_side_by_side) {
  for (const char* share : {"false", "true"}) {
    PyTorchReady ready("perceptron", PyTorchIo(8, {-1, 4}), {{"share", share}}, 4);
    CHECK_EQ(ready.status.message(), "");
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (size_t i = 0; i < ready.instances.size(); i++) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < 50; round++) {
          RecordingBatch batch;
          batch.Add().Floats({1, 4}, {0, 0, 0, static_cast<float>(i)});
          ready.instance(i).Execute(batch);
          // The last row of the weights is 1, 1.25, 1.5.
          const auto column = static_cast<float>(i);
          if (batch.status.ok() && Values<float>(batch.outputs[0].bytes) ==
                                       Floats{column + 0.5f, 1.25f * column + 0.25f, 1.5f * column})
            right++;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_EQ(right.load(), 200);
  }
}

}  // namespace tritonts::test
