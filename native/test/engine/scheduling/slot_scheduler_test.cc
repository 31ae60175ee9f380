// A scheduler that uses all that a scheduler may do (slot_scheduler.h), in a version.
#include "counting_gate.h"
#include "slot_fixture.h"

namespace tritonts::test {

namespace {

constexpr uint64_t kLongNs = 3600ull * 1'000'000'000;

using Readies = std::vector<std::vector<float>>;

}  // namespace

TEST(slot_scheduler_waits_for_other_slots_until_its_wake_time) {
  SlotOptions options;
  options.delay_ns = 20'000'000;
  SumBench bench(SlotAnswer::kTogether, {}, options);
  bench.bench->Submit({bench.Make(0, 1), bench.Make(2, 2)});
  CHECK(bench.bench->sink.Wait(2));
  CHECK(Eventually([&] { return bench.closed_by().size() == 1; }));
  CHECK(bench.closed_by()[0] == ClosedBy::kDelay);
  CHECK(bench.bench->version().batches().records[0].waited_ns >= options.delay_ns);
  CHECK(bench.readies() == (Readies{{1, 0, 1}}));
}

TEST(slot_scheduler_does_not_wait_when_all_slots_or_enough_have_requests) {
  SlotOptions options;
  options.delay_ns = kLongNs;
  options.preferred = 2;
  SumBench bench(SlotAnswer::kTogether, {}, options);
  bench.bench->Submit({bench.Make(0, 1)});
  bench.bench->Submit({bench.Make(3, 1)});
  CHECK(bench.bench->sink.Wait(2));
  CHECK(Eventually([&] { return bench.closed_by().size() == 1; }));
  bench.bench->Submit({bench.Make(0, 1), bench.Make(1, 1), bench.Make(2, 1), bench.Make(3, 1)});
  CHECK(bench.bench->sink.Wait(6));
  CHECK(Eventually([&] { return bench.closed_by().size() == 2; }));
  CHECK(bench.closed_by() == (std::vector<ClosedBy>{ClosedBy::kPreferred, ClosedBy::kFull}));
  CHECK_EQ(bench.states->Of(3), 2.0f);
}

// A request of another shape leaves its slot empty, and leads the next batch.
TEST(slot_scheduler_keeps_other_shapes_out_of_a_batch) {
  std::vector<std::vector<int64_t>> shapes;
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    Gathered x;
    CHECK(Gather(run, 0, true, &x).ok());
    shapes.push_back(x.shape);
    const std::vector<float> states(run.total_batch_size());
    const int64_t tail[] = {1};
    run.SetOutput(SlotStates::kNextState, DataType::kFp32, tail, states.data(), 4 * states.size(),
                  nullptr);
    run.RespondAll(Status::Ok());
  };
  SlotOptions options;
  options.delay_ns = kLongNs;
  SumBench sums(SlotAnswer::kTogether, script, options);
  VersionConfig config = ConfigOf(SlotIo());
  config.io.inputs[0].dims = {-1, -1};
  config.scheduler = [&] { return std::make_unique<SlotScheduler>(kSlots, sums.states, options); };
  VersionBench bench(std::move(script), std::move(config));
  std::vector<Request*> requests;
  for (const uint32_t width : {1u, 2u, 1u, 1u}) {
    Request* const request = bench.requests.Add(1);
    request->header->priority = requests.size();
    bench.requests.Input(request, 0, DataType::kFp32, {1, width},
                         BytesOf(std::vector<float>(width)));
    requests.push_back(request);
  }
  bench.Submit(requests);
  CHECK(bench.sink.Wait(3));
  CHECK(Eventually([&] { return bench.version().batches().records.size() == 1; }));
  CHECK(bench.version().batches().records[0].closed_by == ClosedBy::kShape);
  CHECK(shapes == (std::vector<std::vector<int64_t>>{{4, 1}}));
  bench.Cancel(requests[1]);
  CHECK(bench.sink.Wait(4));
  CHECK(bench.sink.Of(1).status.code() == Code::kCancelled);
}

TEST(slot_scheduler_binds_each_sequence_to_an_instance) {
  std::mutex mutex;
  std::map<uint64_t, std::vector<uint32_t>> instances;  // by sequence
  SumBench* sums = nullptr;
  Script script;
  script.execute = [&](uint32_t instance, Run& run) {
    {
      const std::lock_guard lock(mutex);
      for (const Request* request : run.requests()) {
        if (!request->header->null_row) instances[request->priority()].push_back(instance);
      }
    }
    sums->Sum(run, SlotAnswer::kOneByOne);
  };
  SlotOptions options;
  options.instances = 3;
  SumBench bench(SlotAnswer::kTogether, std::move(script), options);
  sums = &bench;
  constexpr uint32_t kEach = 20;
  for (uint32_t i = 0; i < kEach; i++) {
    for (uint64_t sequence = 0; sequence < uint64_t{kSlots} * options.instances; sequence++) {
      bench.bench->Submit({bench.Make(sequence, 1)});
    }
  }
  CHECK(bench.bench->sink.Wait(size_t{kEach} * kSlots * options.instances));
  for (const auto& [sequence, used] : instances) {
    CHECK_EQ(used.size(), kEach);
    for (const uint32_t instance : used) CHECK_EQ(instance, sequence / kSlots);
    CHECK_EQ(bench.states->Of(sequence), static_cast<float>(kEach));
  }
  CHECK_EQ(instances.size(), size_t{kSlots} * options.instances);
  CHECK_EQ(bench.states->misplaced(), 0u);
}

TEST(slot_scheduler_refuses_and_expires_requests) {
  SlotOptions options;
  options.delay_ns = kLongNs;
  SumBench bench(SlotAnswer::kTogether, {}, options);
  Request* const late = bench.Make(1, 1);
  late->header->timeout_ns = 5'000'000;
  bench.bench->Submit({late});
  bench.bench->Submit({bench.Make(9, 1)});
  CHECK(bench.bench->sink.Wait(2));
  CHECK(bench.bench->sink.Of(1).status.code() == Code::kInvalidArg);
  CHECK(bench.bench->sink.Of(0).status.code() == Code::kUnavailable);
  CHECK(!bench.bench->sink.Of(0).ran);
}

TEST(slot_scheduler_has_ragged_inputs_and_where_they_end) {
  SlotOptions options;
  options.ragged = true;
  options.delay_ns = kLongNs;
  options.preferred = 2;
  SumBench bench(SlotAnswer::kTogether, {}, options);
  bench.bench->Submit({bench.Make(1, {1, 2, 3}), bench.Make(3, std::vector<float>{4})});
  CHECK(bench.bench->sink.Wait(2));
  CHECK_EQ(bench.Of(0), 6.0f);
  CHECK_EQ(bench.Of(1), 4.0f);
  bench.bench->Submit({bench.Make(1, std::vector<float>{}), bench.Make(0, {5, 6})});
  CHECK(bench.bench->sink.Wait(4));
  CHECK_EQ(bench.Of(2), 6.0f);
  CHECK_EQ(bench.Of(3), 11.0f);
  CHECK(bench.readies() == (Readies{{0, 1, 0, 1}, {1, 1}}));
}

TEST(slot_scheduler_waits_at_a_gate_with_its_overlays) {
  const auto gate = std::make_shared<CountingGate>(1);
  VersionConfig config = ConfigOf(FloatIo());
  config.gate = gate;
  BusyVersion busy(std::move(config));
  SumBench bench(SlotAnswer::kTogether, {}, {}, gate);
  bench.bench->Submit({bench.Make(2, 5), bench.Make(2, 6)});
  CHECK_EQ(gate->waiting(), 1u);
  CHECK(bench.readies().empty());
  busy.runs->Open();
  CHECK(bench.bench->sink.Wait(2));
  CHECK_EQ(bench.Of(1), 11.0f);
  CHECK(bench.readies() == (Readies{{0, 0, 1}, {0, 0, 1}}));
  CHECK(Eventually([&] { return gate->inside() == 0; }));
  CHECK_EQ(gate->broken(), 0u);
}

TEST(slot_scheduler_withdraws_batches_from_a_gate_when_its_version_is_aborted) {
  const auto gate = std::make_shared<CountingGate>(0);
  SumBench bench(SlotAnswer::kTogether, {}, {}, gate);
  bench.bench->Submit({bench.Make(1, 5), bench.Make(1, 6), bench.Make(3, 7)});
  CHECK_EQ(gate->waiting(), 1u);
  bench.bench->version().Close();
  bench.bench->version().Abort(Status::Unavailable(Reason::kClosed, "over"));
  CHECK(bench.bench->sink.Wait(3));
  for (const SeenResponse& seen : bench.bench->sink.responses()) {
    CHECK_EQ(seen.status.message(), "over");
  }
  CHECK_EQ(gate->waiting(), 0u);
  CHECK_EQ(bench.states->kept(), 0u);
}

TEST(slot_scheduler_without_memory_is_asked_again) {
  SlotOptions options;
  options.lacks_memory = true;
  SumBench bench(SlotAnswer::kTogether, {}, options);
  bench.bench->Submit({bench.Make(1, 5)});
  CHECK(bench.bench->sink.Wait(1));
  CHECK_EQ(bench.Of(0), 5.0f);
  CHECK(bench.bench->version().batches().records.back().waited_ns >= SlotScheduler::kRetryNs);
}

}  // namespace tritonts::test
