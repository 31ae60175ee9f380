// The part of a run's outputs that belongs to each request.
#include "engine/batch/run_outputs.h"

#include "engine/memory/pool.h"
#include "engine_fixture.h"
#include "fake_device.h"

namespace tritonts::test {

namespace {

// A version with an output of floats and one of strings, and a run of requests of 1, 2 and 1 rows.
struct OutputsBench {
  explicit OutputsBench(bool batching = true) : io(FloatIo()) {
    io.outputs.push_back({"text", DataType::kBytes, {-1, 1}, false});
    context = RunContext("m", batching, &io);
    for (const uint32_t rows : {1u, 2u, 1u}) batch.push_back(requests.Add(rows));
    outputs.Reserve(batch.size());
    outputs.Begin(&context, batch);
  }

  OutputTensor Floats(std::span<const float> values, Block* block = nullptr) const {
    return {0,    DataType::kFp32, -1, one, values.data(), values.size_bytes(), MemoryKind::kHost,
            block};
  }
  // The part of output `index` for request `position`; null: none.
  const OutputTensor* Take(uint32_t position, uint32_t index = 0) {
    tensors.clear();
    status = outputs.Take(position, *batch[position], &tensors, &blocks, &kept);
    for (const OutputTensor& tensor : tensors) {
      if (tensor.index == index) return &tensor;
    }
    return nullptr;
  }
  std::vector<float> FloatsOf(uint32_t position) {
    const OutputTensor* const tensor = Take(position);
    if (!tensor) return {};
    const auto* const first = static_cast<const float*>(tensor->data);
    return {first, first + tensor->size / sizeof(float)};
  }

  const std::vector<int64_t> one{1};
  ModelIo io;
  RunContext context;
  Requests requests;
  std::vector<Request*> batch;
  RunOutputs outputs;
  Status status;
  std::vector<OutputTensor> tensors;
  std::vector<BlockRef> blocks;
  KeptOutputs kept;
};

}  // namespace

TEST(outputs_of_a_run_are_cut_by_the_rows_of_its_requests) {
  OutputsBench bench;
  const std::vector<float> values{1, 2, 3, 4};
  CHECK_EQ(bench.outputs.rows(), 4u);
  CHECK(!bench.outputs.Declare(Run::kAll, bench.Floats(values)));
  CHECK_EQ(bench.FloatsOf(1), (std::vector<float>{2, 3}));
  CHECK_EQ(bench.Take(1)->batch, 2);
  CHECK_EQ(bench.FloatsOf(0), (std::vector<float>{1}));
  CHECK_EQ(bench.FloatsOf(2), (std::vector<float>{4}));
}

TEST(outputs_of_a_run_that_does_not_batch_are_whole) {
  OutputsBench bench(false);
  const std::vector<float> value{5};
  CHECK(!bench.outputs.Declare(Run::kAll, bench.Floats(value)));
  CHECK_EQ(bench.FloatsOf(0), value);
  CHECK_EQ(bench.Take(2)->batch, -1);
}

TEST(outputs_of_strings_are_cut_where_their_rows_begin) {
  OutputsBench bench;
  const std::string bytes("\1\0\0\0a\0\0\0\0\3\0\0\0xyz\0\0\0\0", 20);
  const std::vector<size_t> offsets{0, 5, 9, 16, 20};
  const OutputTensor text{
      1, DataType::kBytes, -1, bench.one, bytes.data(), bytes.size(), MemoryKind::kHost, nullptr};
  CHECK(!bench.outputs.Declare(Run::kAll, text, offsets));
  const OutputTensor* const middle = bench.Take(1, 1);
  CHECK(middle && middle->size == 11);
  CHECK(!bench.outputs.TakeAlike(bench.batch, &bench.tensors));
}

TEST(outputs_of_one_request_are_taken_once_and_in_place_of_what_they_replace) {
  OutputsBench bench;
  BlockPool pool(size_t{1} << 20);
  const BlockRef first = pool.Acquire(8);
  const std::vector<float> values{7, 8};
  const std::vector<int64_t> shape{2, 1};
  OutputTensor tensor = bench.Floats(values, first.get());
  tensor.tail = shape;
  CHECK(!bench.outputs.Declare(1, tensor));
  tensor.block = nullptr;
  CHECK(bench.outputs.Declare(1, tensor).get() == first.get());
  CHECK_EQ(bench.outputs.single(), 1u);
  CHECK(!bench.Take(0));
  CHECK_EQ(bench.FloatsOf(1), values);
  CHECK(!bench.Take(1));
  CHECK(bench.status.ok());
}

TEST(outputs_that_make_no_sense_are_errors_of_those_who_would_get_them) {
  OutputsBench bench;
  const std::vector<float> values{1, 2, 3};
  CHECK(!bench.outputs.Declare(Run::kAll, bench.Floats(values)));
  CHECK(!bench.Take(0));
  CHECK_EQ(bench.status.code(), Code::kInternal);
  CHECK(bench.status.message().find("output 'y': expected 4 rows") != std::string::npos);
  CHECK(!bench.outputs.TakeAlike(bench.batch, &bench.tensors));
  // A request that does not want the output is not affected.
  bench.batch[2]->header->wanted = {1};
  CHECK(!bench.Take(2));
  CHECK(bench.status.ok());
  bench.outputs.DropAll(&bench.blocks);
  CHECK(!bench.outputs.Declare(17, bench.Floats(values)));
  CHECK(!bench.outputs.SizeOf(Run::kAll, DataType::kFp32, std::vector<int64_t>{-1}));
  CHECK(!bench.outputs.SizeOf(Run::kAll, DataType::kBytes, bench.one));
  CHECK_EQ(bench.outputs.SizeOf(Run::kAll, DataType::kFp32, bench.one).value_or(0), 16u);
  CHECK_EQ(bench.outputs.SizeOf(1, DataType::kFp32, bench.one).value_or(0), 4u);
}

// A sink that accepts outputs on device 1.
TEST(outputs_on_a_device_are_alike_where_the_sink_takes_them_there) {
  class DeviceSink final : public ResponseSink {
   public:
    void Deliver(std::span<const Response>) override {}
    bool Takes(const Request&, uint32_t, MemoryKind kind, int device) const override {
      return kind == MemoryKind::kDevice && device == 1;
    }
  };
  DeviceSink sink;
  RecordingSink other;
  FakeDevice memory;
  OutputsBench bench;
  const std::vector<float> values{1, 2, 3, 4};
  for (const int device : {0, 1}) {
    const BlockRef block = memory.Allocate(MemoryKind::kDevice, device, 16);
    OutputTensor tensor = bench.Floats(values, block.get());
    tensor.kind = MemoryKind::kDevice;
    bench.outputs.DropAll(&bench.blocks);
    CHECK(!bench.outputs.Declare(Run::kAll, tensor));
    for (Request* request : bench.batch) request->header->sink = &sink;
    CHECK_EQ(bench.outputs.TakeAlike(bench.batch, &bench.tensors), device == 1);
    // Not all sinks accept it.
    bench.batch[2]->header->sink = &other;
    CHECK(!bench.outputs.TakeAlike(bench.batch, &bench.tensors));
  }
}

TEST(outputs_are_alike_where_all_were_declared_for_all) {
  OutputsBench bench;
  const std::vector<float> values{1, 2, 3, 4};
  CHECK(!bench.outputs.Declare(Run::kAll, bench.Floats(values)));
  CHECK(bench.outputs.TakeAlike(bench.batch, &bench.tensors));
  CHECK_EQ(bench.tensors.size(), 1u);
  CHECK_EQ(bench.tensors[0].size, 4u);
  const std::vector<int64_t> shape{1, 1};
  OutputTensor own = bench.Floats(std::span(values).first(1));
  own.tail = shape;
  CHECK(!bench.outputs.Declare(2, own));
  CHECK(!bench.outputs.TakeAlike(bench.batch, &bench.tensors));
}

// The memory is not read before the size is checked.
TEST(outputs_of_a_request_have_at_most_4_gib) {
  OutputsBench bench;
  const float value = 1;
  const auto floats = [&](std::span<const int64_t> tail, uint64_t rows) {
    OutputTensor tensor = bench.Floats({&value, 1});
    tensor.tail = tail;
    tensor.size = rows * static_cast<uint64_t>(tail.back()) * 4;
    return tensor;
  };
  // Together they exceed it: the second request gets two rows of four.
  const std::vector<int64_t> half{int64_t{1} << 29};
  const std::vector<int64_t> more{(int64_t{1} << 29) + 1};
  CHECK_EQ(*bench.outputs.SizeOf(Run::kAll, DataType::kFp32, half), size_t{1} << 33);
  CHECK(!bench.outputs.SizeOf(Run::kAll, DataType::kFp32, more));
  CHECK(!bench.outputs.Declare(Run::kAll, floats(half, 4)));
  CHECK(bench.Take(1) && bench.Take(1)->size == kMostTensorBytes);
  CHECK(!bench.outputs.Declare(Run::kAll, floats(more, 4)));
  CHECK(!bench.Take(1));
  const std::vector<int64_t> most{1, int64_t{1} << 30};
  const std::vector<int64_t> beyond{1, (int64_t{1} << 30) + 1};
  bench.outputs.Clear();
  CHECK_EQ(*bench.outputs.SizeOf(0, DataType::kFp32, most), kMostTensorBytes);
  CHECK(!bench.outputs.SizeOf(0, DataType::kFp32, beyond));
  CHECK(!bench.outputs.Declare(0, floats(most, 1)));
  CHECK(bench.Take(0));
  CHECK(!bench.outputs.Declare(2, floats(beyond, 1)));
  CHECK(!bench.Take(2));
  CHECK_EQ(
      bench.status.message(),
      "model 'm', output 'y': expected at most 4294967296 bytes (4 GiB) for a request, but its "
      "backend returned 4294967300");
}

TEST(outputs_keep_their_blocks_until_they_are_dropped_one_by_one) {
  OutputsBench bench;
  BlockPool pool(size_t{1} << 20);
  const std::vector<float> values{1, 2, 3, 4};
  const std::vector<int64_t> shape{1, 1};
  const BlockRef whole = pool.Acquire(16);
  const BlockRef own = pool.Acquire(4);
  CHECK(!bench.outputs.Declare(Run::kAll, bench.Floats(values, whole.get())));
  OutputTensor single = bench.Floats(std::span(values).first(1), own.get());
  single.tail = shape;
  CHECK(!bench.outputs.Declare(0, single));
  BlockRef dropped;
  CHECK(!bench.outputs.DropOne(1, &dropped));
  CHECK(bench.outputs.DropOne(0, &dropped));
  CHECK(dropped.get() == own.get());
  CHECK(!bench.outputs.DropOne(0, &dropped));
  CHECK(bench.outputs.DropOne(Run::kAll, &dropped));
  CHECK(dropped.get() == whole.get());
  CHECK(!bench.outputs.DropOne(Run::kAll, &dropped));
}

}  // namespace tritonts::test
