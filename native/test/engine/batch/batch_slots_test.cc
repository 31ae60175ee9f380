// What a batch carries besides requests: empty slots, injected inputs, kept outputs.
#include "engine/version/check_request.h"
#include "slot_fixture.h"

namespace tritonts::test {

TEST(batch_slots_have_injected_inputs_and_keep_outputs) {
  for (const SlotAnswer answer :
       {SlotAnswer::kTogether, SlotAnswer::kEach, SlotAnswer::kOneByOne}) {
    SumBench bench(answer);
    // Slot 2 has one request, slot 0 three; slots 1 and 3 are never used.
    bench.bench->Submit(
        {bench.Make(2, 5), bench.Make(0, 1), bench.Make(0, 10), bench.Make(0, 100)});
    CHECK(bench.bench->sink.Wait(4));
    CHECK_EQ(bench.Of(0), 5.0f);
    CHECK_EQ(bench.Of(1), 1.0f);
    CHECK_EQ(bench.Of(2), 11.0f);
    CHECK_EQ(bench.Of(3), 111.0f);
    CHECK_EQ(bench.states->Of(0), 111.0f);
    CHECK_EQ(bench.states->Of(1), 0.0f);
    CHECK_EQ(bench.states->Of(2), 5.0f);
    // A null row keeps no output.
    CHECK_EQ(bench.states->kept(), 4u);
    CHECK(bench.readies() == (std::vector<std::vector<float>>{{1, 0, 1}, {1}, {1}}));
  }
}

TEST(batch_slots_leave_requests_and_their_header_as_they_are) {
  SumBench bench(SlotAnswer::kTogether);
  Request* const request = bench.Make(3, 1);
  bench.bench->Submit({request});
  CHECK(bench.bench->sink.Wait(1));
  CHECK_EQ(request->inputs().size(), 1u);
  CHECK(!request->input(SlotStates::kState));
}

// A null row is in the batch, but has no request.
TEST(batch_slots_that_are_empty_count_as_rows_and_not_as_requests) {
  SumBench bench(SlotAnswer::kTogether);
  bench.bench->Submit({bench.Make(3, 1), bench.Make(1, 1)});
  CHECK(bench.bench->sink.Wait(2));
  CHECK(Eventually([&] { return bench.bench->version().statistics().execution_count == 1; }));
  const Statistics statistics = bench.bench->version().statistics();
  CHECK_EQ(statistics.inference_count, 2u);
  CHECK_EQ(statistics.success.count, 2u);
  CHECK_EQ(statistics.fail.count, 0u);
  CHECK_EQ(statistics.batches.size(), 1u);
  CHECK_EQ(statistics.batches.begin()->first, 4u);
  const BatchHistory history = bench.bench->version().batches();
  CHECK_EQ(history.records.back().rows, 4u);
  CHECK_EQ(history.records.back().requests, 2u);
}

TEST(batch_slots_end_with_the_error_of_their_batch) {
  Script script;
  script.execute = [](uint32_t, Run& run) { run.RespondAll(Status::Internal("no")); };
  SumBench bench(SlotAnswer::kTogether, std::move(script));
  bench.bench->Submit({bench.Make(2, 1)});
  CHECK(bench.bench->sink.Wait(1));
  CHECK(bench.bench->sink.Of(0).status.code() == Code::kInternal);
  CHECK_EQ(bench.states->kept(), 0u);
  CHECK(Eventually([&] { return bench.bench->version().statistics().fail.count == 1; }));
}

// A backend treats null rows like any other row.
TEST(batch_slots_that_are_empty_take_all_that_is_said_of_them) {
  std::atomic<int> runs = 0;
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    const bool first = runs++ == 0;
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      if (run.requests()[i]->header->null_row) CHECK(!run.UnreadOf(i));
      run.Release(i);
      if (first) run.Reschedule(i);
    }
    const std::vector<float> states(run.total_batch_size());
    const int64_t tail[] = {1};
    run.SetOutput(SlotStates::kNextState, DataType::kFp32, tail, states.data(), 4 * states.size(),
                  nullptr);
    run.RespondAll(Status::Ok());
  };
  SumBench bench(SlotAnswer::kTogether, std::move(script));
  bench.bench->Submit({bench.Make(2, 1)});
  CHECK(bench.bench->sink.Wait(1));
  CHECK(bench.bench->sink.Of(0).status.ok());
  CHECK_EQ(runs.load(), 2);
}

TEST(batch_slots_are_not_run_again_in_halves) {
  std::atomic<int> runs = 0;
  Script script;
  script.may_run_again = true;
  script.execute = [&](uint32_t, Run& run) {
    runs++;
    run.RespondAll(Status::InvalidArg("no"));
  };
  SumBench bench(SlotAnswer::kTogether, script);
  VersionConfig config = ConfigOf(SlotIo());
  config.rerun_in_halves = true;
  config.scheduler = [&] { return std::make_unique<SlotScheduler>(kSlots, bench.states); };
  VersionBench version(std::move(script), std::move(config));
  Request* const one = version.requests.Floats({1});
  Request* const other = version.requests.Floats({1});
  other->header->priority = 2;
  version.Submit({one, other});
  CHECK(version.sink.Wait(2));
  CHECK_EQ(runs.load(), 1);
}

// The model has run it, and the next request of the sequence continues from there.
TEST(batch_slots_that_are_cancelled_while_they_run_keep_their_state) {
  Event started;
  Event cancelled;
  SumBench* sums = nullptr;
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    started.Set();
    CHECK(cancelled.Wait());
    sums->Sum(run, SlotAnswer::kTogether);
  };
  SumBench bench(SlotAnswer::kTogether, std::move(script));
  sums = &bench;
  Request* const request = bench.Make(2, 1);
  bench.bench->Submit({request, bench.Make(1, 7)});
  CHECK(started.Wait());
  bench.bench->Cancel(request);
  cancelled.Set();
  CHECK(bench.bench->sink.Wait(2));
  CHECK(bench.bench->sink.Of(0).status.code() == Code::kCancelled);
  CHECK_EQ(bench.Of(1), 7.0f);
  CHECK_EQ(bench.states->kept(), 2u);
  CHECK_EQ(bench.states->Of(2), 1.0f);
}

TEST(batch_slots_in_device_memory_or_strings_have_null_rows_of_their_shapes) {
  Requests requests;
  Request* const request = requests.Add(1);
  requests.Input(request, 0, DataType::kBytes, {1, 2}, std::string("\1\0\0\0a\2\0\0\0bc", 11));
  requests.Input(request, 1, DataType::kInt64, {1, 0}, "");
  BlockPool pool(1 << 16);
  RowInputs rows;
  Request* members[] = {nullptr, request, nullptr};
  rows.Fill(members, {}, &pool);
  CHECK_EQ(rows.null_rows(), 2u);
  CHECK(members[0] && members[2] && members[0] != members[2]);
  const InputTensor& strings = *rows.Find(2, 0);
  CHECK_EQ(strings.byte_size(), 8u);
  CHECK_EQ(std::string(static_cast<char*>(members[2]->chunk(strings).data), 8),
           std::string(8, '\0'));
  CHECK_EQ(rows.Find(0, 1)->byte_size(), 0u);
  CHECK_EQ(rows.Find(1, 0)->byte_size(), 11u);
  CHECK(!rows.Find(1, 7));
}

TEST(batch_inputs_of_the_engine_are_not_the_caller_s) {
  Requests requests;
  const ModelIo io = SlotIo();
  Request* const without = requests.Floats({1});
  CHECK(CheckRequest("m", io, *without).ok());
  Request* const with = requests.Floats({1});
  requests.Input(with, SlotStates::kState, DataType::kFp32, {1, 1}, std::string(4, '\0'));
  CHECK_EQ(CheckRequest("m", io, *with).message(),
           "model 'm', input 'state': the server sets it: leave it out of the request");
  without->header->wanted = {SlotStates::kNextState};
  CHECK(CheckRequest("m", io, *without).code() == Code::kInvalidArg);
}

TEST(collector_concatenates_ragged_inputs_and_tells_their_elements) {
  Script script;
  std::vector<int64_t> counts;
  Gathered all;
  script.execute = [&](uint32_t, Run& run) {
    CHECK(GatherRagged(run, 0, &all, &counts).ok());
    run.RespondAll(Status::Ok());
  };
  ModelIo io = FloatIo();
  io.inputs[0].dims = {-1, -1};
  io.inputs[0].ragged = true;
  Event started;
  VersionBench bench(std::move(script), ConfigOf(io, 1, Dynamic(8, {3}, 60'000'000'000)));
  std::vector<Request*> three;
  for (const std::vector<float>& row : std::vector<std::vector<float>>{{1, 2, 3}, {}, {4}}) {
    Request* const request = bench.requests.Add(1);
    bench.requests.Input(request, 0, DataType::kFp32, {1, static_cast<int64_t>(row.size())},
                         BytesOf(row));
    three.push_back(request);
  }
  bench.Submit(three);
  CHECK(bench.sink.Wait(3));
  CHECK(counts == (std::vector<int64_t>{3, 0, 1}));
  CHECK(all.shape == (std::vector<int64_t>{4}));
  CHECK(ValuesOf(all.buffer) == (std::vector<float>{1, 2, 3, 4}));
}

}  // namespace tritonts::test
