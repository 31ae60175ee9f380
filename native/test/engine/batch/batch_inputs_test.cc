// Triton's batch inputs: tensors about a whole batch, which the dispatcher adds as overlays.
#include <numeric>

#include "engine/batch/batch_input_maker.h"
#include "engine/batch/collector.h"
#include "slot_fixture.h"

namespace tritonts::test {

namespace {

using Kind = BatchInputSpec::Kind;
using Shapes = std::vector<std::vector<int64_t>>;

constexpr Kind kKinds[] = {
    Kind::kElementCount,
    Kind::kAccumulatedElementCount,
    Kind::kAccumulatedElementCountWithZero,
    Kind::kMaxElementCountAsShape,
    Kind::kItemShape,
    Kind::kItemShapeFlatten,
};

// A model with these inputs about its input 0, which is ragged: input 0 itself, and then each kind.
ModelIo RaggedIo(std::vector<Kind> kinds, DataType datatype, size_t rank) {
  ModelIo io = FloatIo();
  io.inputs[0].dims.assign(rank, -1);
  io.inputs[0].ragged = true;
  for (const Kind kind : kinds) {
    TensorSpec input{"batch_input", datatype, {-1}, false};
    if (kind == Kind::kItemShape) input.dims = {-1, -1};
    input.internal = input.of_batch = true;
    io.batch_inputs.push_back({kind, 0, static_cast<uint32_t>(io.inputs.size())});
    io.inputs.push_back(input);
  }
  return io;
}

struct SeenInput {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

SeenInput SeeInput(Run& run, const ModelIo& io, uint32_t index) {
  Gathered gathered;
  CHECK(GatherConfigured(run, index, io.inputs[index], io.max_batch_size > 0, &gathered).ok());
  CHECK(gathered.present);
  // The parts of a batch input are adjacent.
  CHECK(index == 0 || !gathered.copied);
  SeenInput seen{gathered.shape, {}};
  if (io.inputs[index].datatype == DataType::kFp32) {
    seen.values = ValuesOf(gathered.buffer);
  } else {
    for (const int32_t value : ValuesOf<int32_t>(gathered.buffer)) {
      seen.values.push_back(static_cast<float>(value));
    }
  }
  return seen;
}

// Adds a request with input 0 of this shape.
Request* Shaped(VersionBench* bench, const std::vector<int64_t>& shape) {
  Request* const request = bench->requests.Add(static_cast<uint32_t>(shape[0]));
  const auto count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  bench->requests.Input(request, 0, DataType::kFp32, shape,
                        BytesOf(std::vector<float>(static_cast<size_t>(count))));
  return request;
}

// What the only batch of requests with these shapes sees as its batch input.
SeenInput InputOf(Kind kind, DataType datatype, const Shapes& shapes, uint32_t max_batch_size = 8) {
  SeenInput seen;
  ModelIo io = RaggedIo({kind}, datatype, shapes[0].size());
  io.max_batch_size = max_batch_size;
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    seen = SeeInput(run, io, 1);
    run.RespondAll(Status::Ok());
  };
  uint32_t rows = 0;
  for (const auto& shape : shapes) rows += static_cast<uint32_t>(shape[0]);
  const DynamicPolicy policy =
      max_batch_size == 0 ? DynamicPolicy() : Dynamic(8, {rows}, 60'000'000'000);
  VersionBench bench(std::move(script), ConfigOf(io, 1, policy));
  std::vector<Request*> requests;
  for (const auto& shape : shapes) requests.push_back(Shaped(&bench, shape));
  bench.Submit(requests);
  CHECK(bench.sink.Wait(shapes.size()));
  for (uint32_t i = 0; i < shapes.size(); i++) CHECK(bench.sink.Of(i).status.ok());
  // Requests stay as they are.
  for (const Request* request : requests) CHECK_EQ(request->inputs().size(), 1u);
  return seen;
}

}  // namespace

TEST(batch_inputs_of_each_kind_have_triton_s_shapes_and_values) {
  struct Row {
    Kind kind;
    Shapes requests;
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  const Row rows[] = {
      {Kind::kElementCount, {{1, 3}}, {1}, {3}},
      {Kind::kElementCount, {{1, 3}, {1, 0}, {1, 5}}, {3}, {3, 0, 5}},
      // One value a request, with the elements of all its rows.
      {Kind::kElementCount, {{2, 3}, {1, 4}}, {2}, {6, 4}},
      {Kind::kAccumulatedElementCount, {{1, 3}}, {1}, {3}},
      {Kind::kAccumulatedElementCount, {{1, 3}, {1, 0}, {2, 5}}, {3}, {3, 3, 13}},
      {Kind::kAccumulatedElementCountWithZero, {{1, 3}}, {2}, {0, 3}},
      {Kind::kAccumulatedElementCountWithZero, {{1, 3}, {2, 5}}, {3}, {0, 3, 13}},
      {Kind::kMaxElementCountAsShape, {{1, 0}}, {0}, {}},
      {Kind::kMaxElementCountAsShape, {{1, 2}, {2, 2}, {1, 3}}, {4}, {0, 0, 0, 0}},
      // One row for each row of the requests.
      {Kind::kItemShape, {{1, 3}}, {1, 1}, {3}},
      {Kind::kItemShape, {{2, 3}, {1, 4}}, {3, 1}, {3, 3, 4}},
      {Kind::kItemShape, {{1, 2, 3}, {2, 1, 4}}, {3, 2}, {2, 3, 1, 4, 1, 4}},
      {Kind::kItemShape, {{2}, {1}}, {3, 0}, {}},
      {Kind::kItemShapeFlatten, {{1, 3}}, {1}, {3}},
      {Kind::kItemShapeFlatten, {{1, 2, 3}, {2, 1, 4}}, {6}, {2, 3, 1, 4, 1, 4}},
  };
  for (const Row& row : rows) {
    for (const DataType datatype : {DataType::kInt32, DataType::kFp32}) {
      const SeenInput seen = InputOf(row.kind, datatype, row.requests);
      CHECK(seen.shape == row.shape);
      CHECK(seen.values == row.values);
    }
  }
}

TEST(batch_inputs_of_a_model_without_batches_are_about_its_request) {
  CHECK(InputOf(Kind::kElementCount, DataType::kInt32, {{4, 3}}, 0).values ==
        (std::vector<float>{12}));
  CHECK(InputOf(Kind::kAccumulatedElementCountWithZero, DataType::kInt32, {{4, 3}}, 0).values ==
        (std::vector<float>{0, 12}));
  CHECK(InputOf(Kind::kMaxElementCountAsShape, DataType::kInt32, {{4, 3}}, 0).shape ==
        (std::vector<int64_t>{12}));
  CHECK(InputOf(Kind::kItemShape, DataType::kInt32, {{2, 3}}, 0).shape ==
        (std::vector<int64_t>{2, 1}));
}

TEST(batch_inputs_beyond_int32_are_its_largest_number) {
  // The maker reads shapes only, so the bytes need not be there.
  const ModelIo io = RaggedIo({Kind::kAccumulatedElementCount}, DataType::kInt32, 2);
  const auto maker = BatchInputMaker::Make(io);
  Requests requests;
  Request* const request = requests.Add(1);
  requests.Input(request, 0, DataType::kFp32, {1, int64_t{1} << 40}, "");
  BlockPool pool(1 << 16);
  Request* const members[] = {request};
  Batch* const batch = maker->BatchOf(members);
  maker->AddTo(batch, &pool);
  CHECK_EQ(batch->overlays.size(), 1u);
  CHECK(ValuesOf<int32_t>(batch->overlays[0].tensor.first_chunks[0]) ==
        (std::vector<int32_t>{INT32_MAX}));
}

TEST(batch_inputs_of_several_kinds_and_null_rows_follow_the_scheduler_s_overlays) {
  const ModelIo io =
      RaggedIo(std::vector<Kind>(std::begin(kKinds), std::end(kKinds)), DataType::kInt32, 2);
  const auto maker = BatchInputMaker::Make(io);
  Requests requests;
  Request* const one = requests.Add(1);
  requests.Input(one, 0, DataType::kFp32, {1, 2}, std::string(8, 'x'));
  Request* const other = requests.Add(1);
  requests.Input(other, 0, DataType::kFp32, {1, 3}, std::string(12, 'x'));
  // Slot 0 is empty and has the shape of the first request. Slot 2 is empty, and the scheduler says
  // that it has no elements.
  Overlay given;
  given.slot = 2;
  given.tensor.index = 0;
  given.tensor.datatype = DataType::kFp32;
  given.tensor.of_one = true;
  given.tensor.shape = std::vector<int64_t>{1, 0};
  const Overlay overlays[] = {given};
  Batch batch;
  batch.members = {nullptr, one, nullptr, other};
  batch.empty_slots = true;
  batch.overlays = overlays;
  BlockPool pool(1 << 16);
  maker->AddTo(&batch, &pool);
  CHECK(!batch.remade);
  RowInputs rows;
  rows.Fill(batch.members, batch.overlays, &pool);
  maker->Drop();
  std::vector<std::vector<int32_t>> values(io.inputs.size());
  for (uint32_t slot = 0; slot < 4; slot++) {
    CHECK_EQ(rows.Of(slot).size(), io.inputs.size());
    for (uint32_t i = 1; i < io.inputs.size(); i++) {
      const auto part = ValuesOf<int32_t>(rows.Find(slot, i)->first_chunks[0]);
      values[i].insert(values[i].end(), part.begin(), part.end());
    }
  }
  CHECK(values[1] == (std::vector<int32_t>{2, 2, 0, 3}));
  CHECK(values[2] == (std::vector<int32_t>{2, 4, 4, 7}));
  CHECK(values[3] == (std::vector<int32_t>{0, 2, 4, 4, 7}));
  CHECK(values[4] == (std::vector<int32_t>{0, 0, 0}));
  CHECK(values[5] == (std::vector<int32_t>{2, 2, 0, 3}));
  CHECK(values[6] == values[5]);
}

TEST(batch_inputs_are_made_again_for_the_halves_of_a_batch) {
  const ModelIo io = RaggedIo({Kind::kAccumulatedElementCountWithZero}, DataType::kInt32, 2);
  std::mutex mutex;
  std::vector<std::vector<float>> ends;
  Script script;
  script.may_run_again = true;
  script.execute = [&](uint32_t, Run& run) {
    SeenInput seen = SeeInput(run, io, 1);
    // A model that fails for texts of three elements.
    bool bad = false;
    for (size_t i = 1; i < seen.values.size(); i++) {
      bad = bad || seen.values[i] - seen.values[i - 1] == 3;
    }
    {
      const std::lock_guard lock(mutex);
      ends.push_back(std::move(seen.values));
    }
    run.RespondAll(bad ? Status::InvalidArg("three") : Status::Ok());
  };
  VersionConfig config = ConfigOf(io, 1, Dynamic(8, {4}, 60'000'000'000));
  config.rerun_in_halves = true;
  VersionBench bench(std::move(script), std::move(config));
  bench.Submit({Shaped(&bench, {1, 1}), Shaped(&bench, {1, 3}), Shaped(&bench, {1, 2}),
                Shaped(&bench, {1, 5})});
  CHECK(bench.sink.Wait(4));
  CHECK(bench.sink.Of(0).status.ok() && bench.sink.Of(2).status.ok() &&
        bench.sink.Of(3).status.ok());
  CHECK_EQ(bench.sink.Of(1).status.message(), "three");
  CHECK(ends ==
        (std::vector<std::vector<float>>{{0, 1, 4, 6, 11}, {0, 1, 4}, {0, 1}, {0, 3}, {0, 2, 7}}));
}

TEST(batch_inputs_are_there_in_a_warmup) {
  const ModelIo io = RaggedIo({Kind::kElementCount}, DataType::kFp32, 2);
  std::vector<float> counts;
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    counts = SeeInput(run, io, 1).values;
    run.RespondAll(Status::Ok());
  };
  VersionConfig config = ConfigOf(io, 1, Dynamic(8));
  WarmupSample sample{"s", 2, 1, {}};
  WarmupInput input;
  input.index = 0;
  input.datatype = DataType::kFp32;
  input.shape = {1, 3};
  input.size = 12;
  sample.inputs.push_back(std::move(input));
  config.warmup.push_back(std::move(sample));
  VersionBench bench(std::move(script), std::move(config));
  CHECK(counts == (std::vector<float>{3, 3}));
}

}  // namespace tritonts::test
