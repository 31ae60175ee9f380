// Groups: requests written as one record are ordinary requests afterwards.
#include "port_fixture.h"

namespace tritonts::test {

namespace {

// A client that writes similar requests as one group.
struct GroupBench : PortBench {
  explicit GroupBench(uint64_t limit = uint64_t{1} << 30) : PortBench(false, limit) {
    client.WriteGroups();
  }
  std::vector<uint32_t> WriteEach(size_t count) {
    std::vector<uint32_t> slots;
    for (size_t i = 0; i < count; i++) slots.push_back(Write({static_cast<float>(i)}));
    return slots;
  }
  // Checks that each response has its request's value, in the order of writing.
  void CheckEach(const std::vector<uint32_t>& slots, const std::vector<PortResponse>& responses) {
    for (size_t i = 0; i < slots.size(); i++) {
      const PortResponse& response = ResponseOf(slots[i], responses);
      CHECK(response.code == Code::kOk);
      CHECK_EQ(response.outputs[0].bytes, BytesOf<float>({static_cast<float>(i)}));
      CHECK_EQ(response.outputs[0].shape, (Dims{1, 1}));
    }
  }
};

}  // namespace

// --- In batches.

TEST(requests_of_a_group_that_do_not_fit_a_batch_run_in_the_next_ones) {
  GroupBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo(4), 1, {4, {}, 0}));
  for (int round = 0; round < 3; round++) {
    const auto slots = bench.WriteEach(10);
    bench.CheckEach(slots, bench.client.Take(10));
  }
  const Statistics statistics = bench.statistics();
  CHECK_EQ(statistics.success.count, 30u);
  CHECK_EQ(statistics.inference_count, 30u);
  CHECK_EQ(statistics.execution_count, 9u);
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
}

TEST(requests_of_several_groups_run_together) {
  GroupBench bench;
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(4), 1, {4, {}, 0}));
  const uint32_t first = bench.Write({100});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  // Three and three wait: four and then two of them run together.
  std::vector<uint32_t> slots = bench.WriteEach(3);
  CHECK(bench.client.Flush().ok());
  for (size_t i = 3; i < 6; i++) slots.push_back(bench.Write({static_cast<float>(i)}));
  CHECK(bench.client.Flush().ok());
  bench.runs->Open();
  const auto responses = bench.client.Take(7);
  bench.CheckEach(slots, responses);
  CHECK_EQ(ResponseOf(first, responses).outputs[0].bytes, BytesOf<float>({100}));
  CHECK(Eventually([&] { return bench.statistics().execution_count == 3; }));
  CHECK_EQ(bench.statistics().batches.at(4).compute_infer.count, 1u);
  CHECK_EQ(bench.statistics().batches.at(2).compute_infer.count, 1u);
}

TEST(requests_of_a_group_run_alone_where_requests_do) {
  GroupBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo(4), 1, {0, {}, 0}));
  const auto slots = bench.WriteEach(5);
  bench.CheckEach(slots, bench.client.Take(5));
  CHECK(Eventually([&] { return bench.statistics().execution_count == 5; }));
}

TEST(requests_of_a_group_run_on_several_instances) {
  GroupBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo(4), 2, {4, {}, 0}));
  for (int round = 0; round < 50; round++) {
    const auto slots = bench.WriteEach(50);
    bench.CheckEach(slots, bench.client.Take(50));
  }
  CHECK_EQ(bench.statistics().success.count, 2500u);
}

// --- Responses.

TEST(requests_of_a_group_fail_each_for_themselves) {
  GroupBench bench;
  Script script;
  script.execute = [](uint32_t, Run& run) { run.RespondAll(Status::Internal("broken")); };
  bench.ServeScript(std::move(script), ConfigOf(FloatIo(), 1, {8, {}, 0}));
  const auto slots = bench.WriteEach(5);
  const auto responses = bench.client.Take(5);
  for (const uint32_t slot : slots) {
    CHECK(ResponseOf(slot, responses).code == Code::kInternal);
    CHECK_EQ(ResponseOf(slot, responses).message, "broken");
  }
  CHECK(Eventually([&] { return bench.statistics().fail.count == 5; }));
}

TEST(requests_of_a_group_are_cancelled_where_they_wait_and_where_they_run) {
  GroupBench bench;
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(4), 1, {4, {}, 0}));
  const auto slots = bench.WriteEach(10);
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  bench.client.CancelGroup(slots[0]);
  bench.runs->Open();
  const auto responses = bench.client.Take(10);
  for (size_t i = 0; i < 10; i++) {
    CHECK(ResponseOf(slots[i], responses).code == Code::kCancelled);
  }
  CHECK(Eventually([&] { return bench.statistics().cancelled == 10; }));
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
  // One request of a group is cancelled.
  bench.runs->Shut();
  const auto others = bench.WriteEach(5);
  CHECK(bench.client.Flush().ok());
  bench.client.Cancel(others[4]);
  bench.runs->Open();
  const auto left = bench.client.Take(5);
  for (size_t i = 0; i < 5; i++) {
    CHECK(ResponseOf(others[i], left).code == (i == 4 ? Code::kCancelled : Code::kOk));
  }
  // The slot is free again.
  const auto again = bench.WriteEach(10);
  bench.CheckEach(again, bench.client.Take(10));
}

TEST(requests_of_a_group_get_more_outputs_than_a_page_takes_of_two_of_them) {
  GroupBench bench;
  constexpr uint32_t kOutputs = 4000;
  ModelIo io = FloatIo(4);
  io.outputs.assign(kOutputs, {"y", DataType::kFp32, {-1, 8}, false});
  Script script;
  script.execute = [](uint32_t, Run& run) {
    // Each row of each output is its request's value, eight times.
    std::vector<float> rows;
    for (const Request* request : run.requests()) {
      const auto* value = static_cast<const float*>(request->chunk(*request->input(0)).data);
      rows.insert(rows.end(), 8, *value);
    }
    const int64_t tail[] = {8};
    for (uint32_t i = 0; i < kOutputs; i++) {
      run.SetOutput(i, DataType::kFp32, tail, rows.data(), rows.size() * sizeof(float), nullptr);
    }
    run.RespondAll(Status::Ok());
  };
  bench.ServeScript(std::move(script), ConfigOf(io, 1, {4, {}, 0}));
  const auto slots = bench.WriteEach(3);
  const auto responses = bench.client.Take(3);
  for (size_t i = 0; i < slots.size(); i++) {
    const PortResponse& response = ResponseOf(slots[i], responses);
    CHECK_EQ(response.message, "");
    CHECK_EQ(response.outputs.size(), kOutputs);
    if (response.outputs.size() != kOutputs) continue;
    const std::string bytes = BytesOf(std::vector<float>(8, static_cast<float>(i)));
    CHECK_EQ(response.outputs.front().bytes, bytes);
    CHECK_EQ(response.outputs.back().bytes, bytes);
  }
}

// --- Bytes in flight.

TEST(requests_of_a_group_beyond_the_limit_are_refused_and_those_within_it_are_not) {
  // Each request has a tenth of a range of 64 bytes, and an output of 4 bytes.
  GroupBench bench(96);
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(), 1, {8, {}, 0}));
  std::vector<uint32_t> slots = bench.WriteEach(10);
  auto responses = bench.client.Take(2);
  for (size_t i = 8; i < 10; i++) {
    CHECK(ResponseOf(slots[i], responses).code == Code::kUnavailable);
    CHECK(ResponseOf(slots[i], responses).limited);
  }
  CHECK_EQ(bench.server.server().in_flight_bytes(), 88u);
  bench.runs->Open();
  responses = bench.client.Take(8);
  slots.resize(8);
  bench.CheckEach(slots, responses);
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
  const auto again = bench.WriteEach(6);
  bench.CheckEach(again, bench.client.Take(6));
}

TEST(requests_of_a_group_that_are_too_big_for_the_limit_alone_are_refused_for_good) {
  GroupBench bench(7);
  bench.ServeIdentity(ConfigOf(FloatIo(), 1, {8, {}, 0}));
  const auto slots = bench.WriteEach(3);
  const auto responses = bench.client.Take(3);
  for (const uint32_t slot : slots) {
    CHECK(ResponseOf(slot, responses).code == Code::kInvalidArg);
    CHECK(!ResponseOf(slot, responses).limited);
  }
}

TEST(requests_of_groups_that_are_together_beyond_all_numbers_are_refused_for_good) {
  GroupBench bench(1000);
  bench.runs->Shut();
  ModelIo io = FloatIo(0);
  // A request has 2^46 bytes of outputs, and four groups have 2^64.
  io.outputs[0].dims = {int64_t{1} << 44};
  bench.ServeRuns(ConfigOf(io));
  std::vector<int32_t> words;
  for (int32_t slot = 0; slot < 4; slot++) {
    words.insert(words.end(), {static_cast<int32_t>(bench.uid), slot, 1, 65536, 0, 0, 0});
  }
  CHECK(bench.client.Submit(words).ok());
  size_t refused = 0;
  for (CompletionPage* page : TakePages(bench.client.port())) {
    std::vector<PortResponse> responses;
    ReadPage(*page, &responses);
    for (const PortResponse& response : responses)
      refused += response.code == Code::kInvalidArg ? 1 : 0;
    bench.client.port().Recycle(page);
  }
  CHECK_EQ(refused, size_t{4} * 65536);
  CHECK(bench.runs->batches().empty());
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
  bench.runs->Open();
}

}  // namespace tritonts::test
