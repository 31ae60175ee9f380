// Triton's batch inputs: tensors about a whole batch, which a scheduler injects as overlays.
#include "batch_inputs.h"

#include "engine/batch/collector.h"
#include "engine/scheduling/dynamic_scheduler.h"
#include "slot_fixture.h"

namespace tritonts::test {

namespace {

constexpr BatchInput kAll[] = {
    BatchInput::kElementCount,
    BatchInput::kAccumulatedElementCount,
    BatchInput::kAccumulatedElementCountWithZero,
    BatchInput::kMaxElementCountAsShape,
    BatchInput::kItemShape,
    BatchInput::kItemShapeFlatten,
};

// Adds all batch inputs to the batches of a dynamic batcher, and an empty slot to each. Input 0 is
// their source. Input i + 1 is of kind kAll[i].
class BatchInputScheduler final : public Scheduler {
 public:
  explicit BatchInputScheduler(DynamicPolicy policy) : inner_(std::move(policy)) {}

  Status Enqueue(Request* request, uint64_t now_ns) override {
    return inner_.Enqueue(request, now_ns);
  }
  void Expire(uint64_t now_ns, Expired* expired) override { inner_.Expire(now_ns, expired); }
  void Next(uint32_t instance, uint64_t now_ns, Batch* batch) override {
    inner_.Next(instance, now_ns, batch);
    if (batch->members.empty()) return;
    Shapes sources;
    size_t elements = 0;
    for (const Request* request : batch->members) {
      const auto& shape = request->input(0)->shape;
      sources.emplace_back(shape.begin(), shape.end());
      elements += 2 * request->header->batch_size + request->input(0)->byte_size();
    }
    // A null row has the shapes of the first request.
    sources.push_back(sources.front());
    batch->members.push_back(nullptr);
    batch->empty_slots = true;
    overlays_.clear();
    for (uint32_t i = 0; i < std::size(kAll); i++) {
      const BlockRef block = pool_.Acquire(4 * (2 * elements + sources.size() + 1));
      AddBatchInput(kAll[i], i + 1, sources, block->data(), block, &overlays_);
    }
    SortOverlays(&overlays_);
    batch->overlays = overlays_;
  }
  void Finished(uint32_t instance, uint64_t now_ns) override { inner_.Finished(instance, now_ns); }
  bool Cancel(Request* request) override { return inner_.Cancel(request); }
  void Drain(RequestChain* requests) override { inner_.Drain(requests); }
  size_t waiting() const override { return inner_.waiting(); }
  size_t slots() const override { return 1; }

 private:
  DynamicScheduler inner_;
  std::vector<Overlay> overlays_;
  BlockPool pool_{1 << 16};
};

}  // namespace

TEST(batch_inputs_of_all_kinds_are_parts_of_the_slots_that_are_gathered) {
  std::map<uint32_t, std::vector<int32_t>> values;
  std::map<uint32_t, std::vector<int64_t>> shapes;
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    for (uint32_t i = 1; i <= std::size(kAll); i++) {
      Gathered gathered;
      CHECK(Gather(run, i, true, &gathered).ok());
      CHECK(gathered.present && !gathered.copied);
      values[i] = ValuesOf<int32_t>(gathered.buffer);
      shapes[i] = gathered.shape;
    }
    run.RespondAll(Status::Ok());
  };
  VersionConfig config = ConfigOf(FloatIo());
  config.io.inputs[0].dims = {-1, -1, -1};
  config.io.inputs[0].ragged = true;
  for (uint32_t i = 0; i < std::size(kAll); i++) {
    TensorSpec input{"batch_" + std::to_string(i), DataType::kInt32, {-1}, false};
    if (kAll[i] == BatchInput::kItemShape) input.dims = {-1, 2};
    input.internal = true;
    config.io.inputs.push_back(input);
  }
  config.scheduler = [] {
    return std::make_unique<BatchInputScheduler>(Dynamic(8, {3}, 60'000'000'000));
  };
  VersionBench bench(std::move(script), std::move(config));
  std::vector<Request*> requests;
  for (const Shapes::value_type& shape : Shapes{{1, 2, 3}, {2, 1, 4}}) {
    Request* const request = bench.requests.Add(static_cast<uint32_t>(shape[0]));
    const auto count = static_cast<size_t>(ElementsOf(shape));
    bench.requests.Input(request, 0, DataType::kFp32, shape, BytesOf(std::vector<float>(count)));
    requests.push_back(request);
  }
  bench.Submit(requests);
  CHECK(bench.sink.Wait(2));
  CHECK(bench.sink.Of(0).status.ok() && bench.sink.Of(1).status.ok());
  // The third slot is empty, and has the shape of the first one.
  CHECK(values[1] == (std::vector<int32_t>{6, 8, 6}));
  CHECK(values[2] == (std::vector<int32_t>{6, 14, 20}));
  CHECK(values[3] == (std::vector<int32_t>{0, 6, 14, 20}));
  CHECK(shapes[3] == (std::vector<int64_t>{4}));
  CHECK(shapes[4] == (std::vector<int64_t>{8}));
  CHECK(values[5] == (std::vector<int32_t>{2, 3, 1, 4, 1, 4, 2, 3}));
  CHECK(shapes[5] == (std::vector<int64_t>{4, 2}));
  CHECK(values[6] == values[5]);
  CHECK(shapes[6] == (std::vector<int64_t>{8}));
  // Requests stay as they are.
  for (const Request* request : requests) CHECK_EQ(request->inputs().size(), 1u);
}

}  // namespace tritonts::test
