// Outputs that are split by requests (backends/common/split_outputs.h).
#include "backends/common/split_outputs.h"

#include "engine/batch/collector.h"
#include "slot_fixture.h"

namespace tritonts::test {

namespace {

// Runs one batch of requests with input 0 of these shapes. The model returns output 0 of `shape`,
// with the values 0, 1, 2, …
struct SplitBench {
  SplitBench(const ModelIo& io, const std::vector<std::vector<int64_t>>& requests,
             std::vector<int64_t> shape) {
    size_t count = 1;
    for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
    Script script;
    script.execute = [=](uint32_t, Run& run) {
      SplitOutputs split(io);
      const BlockRef block = run.pool().Acquire(4 * count + 1);
      for (size_t i = 0; i < count; i++) {
        static_cast<float*>(block->data())[i] = static_cast<float>(i);
      }
      CHECK(split.Splits(0, shape, run.total_batch_size()));
      split.Declare(run, 0, shape, block->data(), 4 * count, block.get());
      split.Respond(run, "m", Status::Ok());
    };
    uint32_t rows = 0;
    for (const auto& one : requests) rows += static_cast<uint32_t>(one[0]);
    bench.emplace(std::move(script), ConfigOf(io, 1, Dynamic(8, {rows}, 60'000'000'000)));
    std::vector<Request*> made;
    for (const auto& one : requests) {
      Request* const request = bench->requests.Add(static_cast<uint32_t>(one[0]));
      bench->requests.Input(request, 0, DataType::kFp32, one, "");
      made.push_back(request);
    }
    bench->Submit(made);
    CHECK(bench->sink.Wait(requests.size()));
  }

  std::vector<int64_t> ShapeOf(uint32_t number) { return bench->sink.Of(number).outputs[0].shape; }
  std::vector<float> Of(uint32_t number) {
    const std::string bytes = bench->sink.Of(number).outputs[0].bytes;
    std::vector<float> values(bytes.size() / 4);
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::optional<VersionBench> bench;
};

ModelIo ScatterIo() {
  ModelIo io = FloatIo();
  io.inputs[0].dims = {-1, -1};
  io.inputs[0].ragged = true;
  io.outputs[0].dims = {-1, -1};
  io.outputs[0].shaped_like = 0;
  return io;
}

}  // namespace

TEST(split_outputs_get_the_shapes_of_the_requests_inputs) {
  SplitBench bench(ScatterIo(), {{1, 3}, {2, 1}, {1, 0}}, {5});
  CHECK(bench.ShapeOf(0) == (std::vector<int64_t>{1, 3}));
  CHECK(bench.Of(0) == (std::vector<float>{0, 1, 2}));
  CHECK(bench.ShapeOf(1) == (std::vector<int64_t>{2, 1}));
  CHECK(bench.Of(1) == (std::vector<float>{3, 4}));
  CHECK(bench.ShapeOf(2) == (std::vector<int64_t>{1, 0}));
  CHECK(bench.Of(2).empty());
}

TEST(split_outputs_keep_the_fixed_dims_of_their_own) {
  ModelIo io = ScatterIo();
  io.outputs[0].dims = {-1, 2, -1};
  io.inputs[0].dims = {-1, -1, -1};
  // The last dim comes from the same place of the input.
  SplitBench bench(io, {{1, 9, 1}, {1, 9, 2}}, {6});
  CHECK(bench.ShapeOf(0) == (std::vector<int64_t>{1, 2, 1}));
  CHECK(bench.ShapeOf(1) == (std::vector<int64_t>{1, 2, 2}));
  CHECK(bench.Of(1) == (std::vector<float>{2, 3, 4, 5}));
}

TEST(split_outputs_that_end_too_early_fail_the_requests_without_a_part) {
  SplitBench bench(ScatterIo(), {{1, 3}, {1, 4}, {1, 1}}, {5});
  CHECK(bench.Of(0) == (std::vector<float>{0, 1, 2}));
  const Status status = bench.bench->sink.Of(1).status;
  CHECK(status.code() == Code::kUnsupported);
  CHECK_EQ(status.message(),
           "model 'm': output 'y': failed to split the output tensor: request 1 of the batch gets "
           "[1,4], 16 bytes, but only 8 of the 20 bytes of shape [5] are left");
  CHECK(bench.bench->sink.Of(2).status.code() == Code::kUnsupported);
}

TEST(split_outputs_may_have_more_than_the_requests_get) {
  SplitBench bench(ScatterIo(), {{1, 1}, {1, 2}}, {9});
  CHECK(bench.Of(0) == (std::vector<float>{0}));
  CHECK(bench.Of(1) == (std::vector<float>{1, 2}));
}

TEST(split_outputs_with_a_row_for_each_request_serve_the_first_requests) {
  ModelIo io = ScatterIo();
  io.outputs[0].shaped_like.reset();
  SplitBench bench(io, {{1, 3}, {2, 1}}, {2, 2});
  CHECK(bench.ShapeOf(0) == (std::vector<int64_t>{1, 2}));
  CHECK(bench.Of(0) == (std::vector<float>{0, 1}));
  CHECK(bench.bench->sink.Of(1).status.code() == Code::kUnsupported);
}

TEST(split_outputs_are_only_those_that_rows_do_not_cut) {
  const int64_t all[] = {3, 2};
  const int64_t more[] = {4, 2};
  ModelIo io = ScatterIo();
  CHECK(SplitOutputs(io).Splits(0, all, 3));
  io.outputs[0].shaped_like.reset();
  CHECK(!SplitOutputs(io).Splits(0, all, 3));
  CHECK(SplitOutputs(io).Splits(0, all, 4));
  CHECK(!SplitOutputs(io).Splits(0, more, 3));
  io.inputs[0].ragged = false;
  CHECK(!SplitOutputs(io).Splits(0, all, 4));
}

}  // namespace tritonts::test
