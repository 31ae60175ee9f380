// A port as JavaScript uses it: requests are words, and responses are pages.
#include "engine/port/port.h"

#include "port_fixture.h"

namespace tritonts::test {

// --- In and out.

TEST(port_responds_to_requests_of_a_tick_with_their_own_rows) {
  for (const int variant : {0, 1, 2, 3}) {
    const bool copies = (variant & 1) != 0;
    PortBench bench(copies);
    if ((variant & 2) != 0) bench.client.WriteGroups();
    bench.ServeIdentity(ConfigOf(FloatIo(), 1, {8, {}, 0}));
    std::vector<uint32_t> slots;
    for (int i = 0; i < 10; i++) {
      slots.push_back(bench.Write({static_cast<float>(i), static_cast<float>(-i)}));
    }
    const auto responses = bench.client.Take(10);
    for (int i = 0; i < 10; i++) {
      const PortResponse& response = ResponseOf(slots[static_cast<size_t>(i)], responses);
      CHECK(response.code == Code::kOk);
      CHECK(response.final);
      CHECK_EQ(response.generation, 1u);
      CHECK_EQ(response.outputs.size(), 1u);
      CHECK(response.outputs[0].datatype == DataType::kFp32);
      CHECK_EQ(response.outputs[0].shape, (Dims{2, 1}));
      CHECK_EQ(response.outputs[0].bytes,
               BytesOf<float>({static_cast<float>(i), static_cast<float>(-i)}));
    }
  }
}

TEST(port_gives_alike_responses_of_a_group_with_one_record) {
  for (const bool more : {false, true}) {
    PortBench bench;
    if (more) bench.client.WriteGroups();
    bench.ServeIdentity(ConfigOf(FloatIo(), 1, {8, {}, 0}));
    const auto responses = [&](const std::vector<std::vector<float>>& requests) {
      std::vector<uint32_t> slots;
      for (const auto& values : requests) slots.push_back(bench.Write(values));
      const auto all = bench.client.Take(requests.size());
      size_t alike = 0;
      for (size_t i = 0; i < requests.size(); i++) {
        const PortResponse& response = ResponseOf(slots[i], all);
        CHECK_EQ(response.outputs[0].bytes, BytesOf(requests[i]));
        CHECK_EQ(response.outputs[0].shape, (Dims{static_cast<int64_t>(requests[i].size()), 1}));
        CHECK(response.ran);
        if (response.alike) alike++;
      }
      return alike;
    };
    CHECK_EQ(responses({{1}, {2}, {3}}), more ? 3u : 0u);
    CHECK_EQ(responses({{1, 2}, {3, 4}, {5, 6}}), more ? 3u : 0u);
    // A batch has requests with different rows.
    CHECK_EQ(responses({{1}, {2, 3}, {4}}), 0u);
    // A batch of 8 rows, and one with the rest.
    CHECK_EQ(responses({{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9, 10}, {11}}), more ? 8u : 0u);
    const Statistics statistics = bench.statistics();
    CHECK_EQ(statistics.success.count, 19u);
    CHECK_EQ(statistics.inference_count, 24u);
    CHECK_EQ(statistics.execution_count, 5u);
  }
}

TEST(port_gives_alike_responses_over_several_pages) {
  PortBench bench;
  bench.client.WriteGroups();
  ModelIo io = FloatIo(1000);
  io.inputs[0].dims = io.outputs[0].dims = {-1, 256};
  bench.ServeIdentity(ConfigOf(io, 1, {1000, {}, 0}));
  std::vector<uint32_t> slots;
  for (int i = 0; i < 1000; i++) {
    const std::vector<float> values(256, static_cast<float>(i));
    slots.push_back(bench.client.Write(bench.uid, 1, {{0, {1, 256}, BytesOf(values)}}));
  }
  const auto responses = bench.client.Take(1000);
  size_t alone = 0;
  for (size_t i = 0; i < slots.size(); i++) {
    const PortResponse& response = ResponseOf(slots[i], responses);
    // A record ends with its page or its group.
    if (!response.alike) alone++;
    CHECK_EQ(response.outputs[0].bytes, BytesOf(std::vector<float>(256, static_cast<float>(i))));
  }
  CHECK(alone < 100);
  CHECK(bench.client.most_pages() >= 4);
}

TEST(port_responds_to_a_cancelled_request_of_a_batch_alone) {
  PortBench bench;
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(), 1, {8, {}, 0}));
  const uint32_t first = bench.Write({1});
  const uint32_t second = bench.Write({2});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  bench.client.Cancel(second);
  bench.runs->Open();
  const auto responses = bench.client.Take(2);
  CHECK(ResponseOf(first, responses).code == Code::kOk);
  CHECK(ResponseOf(second, responses).code == Code::kCancelled);
}

TEST(port_takes_large_inputs_from_blocks_and_gives_large_outputs_alone) {
  PortBench bench;
  ModelIo io = FloatIo(0);
  io.inputs[0].dims = io.outputs[0].dims = {-1};
  bench.ServeIdentity(ConfigOf(io));
  for (const size_t count : {5'000, 16'383, 16'384, 100'000}) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; i++) values[i] = static_cast<float>(i);
    bench.client.Write(bench.uid, 0, {{0, {static_cast<int32_t>(count)}, BytesOf(values)}});
    const auto responses = bench.client.Take(1);
    CHECK_EQ(responses[0].outputs[0].bytes, BytesOf(values));
    CHECK_EQ(responses[0].outputs[0].large, count * 4 >= layout::kLargeOutput);
    CHECK_EQ(responses[0].outputs[0].shape, (Dims{static_cast<int64_t>(count)}));
  }
}

TEST(port_gives_wanted_outputs_only) {
  PortBench bench;
  ModelIo io = FloatIo();
  io.inputs.push_back({"z", DataType::kInt32, {-1, 2}, false});
  io.outputs.push_back({"w", DataType::kInt32, {-1, 2}, false});
  bench.ServeIdentity(ConfigOf(io));
  const PortInput x = FloatsInput({1});
  const PortInput z = {1, {1, 2}, BytesOf<int32_t>({7, 8})};
  const uint32_t all = bench.client.Write(bench.uid, 1, {x, z});
  const uint32_t second = bench.client.Write(bench.uid, 1, {x, z}, {1});
  const auto responses = bench.client.Take(2);
  CHECK_EQ(ResponseOf(all, responses).outputs.size(), 2u);
  CHECK_EQ(ResponseOf(second, responses).outputs.size(), 1u);
  CHECK_EQ(ResponseOf(second, responses).outputs[0].index, 1u);
  CHECK_EQ(ResponseOf(second, responses).outputs[0].bytes, z.bytes);
}

TEST(port_takes_inputs_without_bytes) {
  PortBench bench;
  ModelIo io = FloatIo();
  io.inputs[0].dims = io.outputs[0].dims = {-1, -1};
  bench.ServeIdentity(ConfigOf(io));
  bench.client.AddSlab();
  bench.client.Write(bench.uid, 1, {{0, {1, 0}, ""}});
  const auto responses = bench.client.Take(1);
  CHECK(responses[0].code == Code::kOk);
  CHECK_EQ(responses[0].outputs[0].shape, (Dims{1, 0}));
  CHECK_EQ(responses[0].outputs[0].bytes, "");
}

TEST(port_with_copies_takes_the_bytes_when_they_are_submitted) {
  PortBench bench(true);
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo()));
  const uint32_t slot = bench.Write({1});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  // JavaScript writes to the range again. The first request keeps its own bytes.
  bench.Write({2});
  bench.client.words().clear();
  bench.runs->Open();
  CHECK_EQ(ResponseOf(slot, bench.client.Take(1)).outputs[0].bytes, BytesOf<float>({1}));
}

TEST(port_gives_the_times_of_a_batch_once_for_the_requests_of_a_tick) {
  PortBench bench;
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(), 1, {8, {}, 0}));
  const uint32_t first = bench.Write({1});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  const uint32_t second = bench.Write({1, 2});
  const uint32_t third = bench.Write({3});
  CHECK(bench.client.Flush().ok());
  bench.runs->Open();
  const auto responses = bench.client.Take(3);
  CHECK_EQ(ResponseOf(first, responses).timings[0], 1.0);
  CHECK_EQ(ResponseOf(second, responses).timings[0], 3.0);
  const PortResponse& two = ResponseOf(second, responses);
  const PortResponse& three = ResponseOf(third, responses);
  CHECK(std::equal(std::begin(two.timings), std::end(two.timings), std::begin(three.timings)));
  for (const double duration : two.timings) CHECK(duration >= 0 && duration < 60e9);
}

// --- Versions that do not serve.

TEST(port_responds_to_requests_to_a_version_that_is_gone) {
  PortBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo()));
  PortClient knows_it(bench.server.shared());
  knows_it.Write(bench.uid, 1, {FloatsInput({1})});
  knows_it.Take(1);
  // The client writes a request for the version, and submits it when the version is gone.
  bench.Write({1});
  Event gone;
  bench.server.server().Retire(bench.uid, [&](bool) { gone.Set(); });
  CHECK(gone.Wait());
  for (PortClient* client : {&bench.client, &knows_it}) {
    if (client == &knows_it) knows_it.Write(bench.uid, 1, {FloatsInput({1})});
    const auto responses = client->Take(1);
    CHECK(responses[0].code == Code::kUnavailable);
    CHECK(responses[0].final);
    CHECK(!responses[0].ran);
  }
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
}

TEST(port_responds_to_requests_to_a_version_that_did_not_start) {
  PortBench bench;
  bench.uid = bench.server.Open(&bench.identity).value();
  bench.Write({1});
  CHECK(bench.client.Take(1)[0].code == Code::kUnavailable);
}

// --- Cancelling and detaching.

TEST(port_cancels_the_request_of_the_generation_only) {
  PortBench bench;
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(), 1, {8, {}, 0}));
  bench.Write({1});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  const uint32_t slot = bench.Write({2});
  CHECK(bench.client.Flush().ok());
  Port& port = bench.client.port();
  port.Cancel(slot, bench.client.generation(slot) + 1, 0, 1);
  port.Cancel(slot + 1, 1, 0, 1);
  port.Cancel(1u << 30, 1, 0, 1);
  port.Cancel(slot, bench.client.generation(slot), 1, 1);
  CHECK_EQ(bench.statistics().cancelled, 0u);
  bench.client.Cancel(slot);
  const PortResponse response = ResponseOf(slot, bench.client.Take(1));
  CHECK(response.code == Code::kCancelled);
  CHECK(response.message.find("'m'") != std::string::npos);
  bench.runs->Open();
  bench.client.Take(1);
}

TEST(port_that_leaves_cancels_its_requests_and_lives_until_the_last_has_ended) {
  PortBench bench;
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(), 1, {8, {}, 0}));
  bench.Write({1});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  bench.Write({2});
  bench.Write({3});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.server.server().in_flight_bytes() > 0);
  const std::weak_ptr<Port> port = bench.client.Release();
  CHECK_EQ(bench.statistics().cancelled, 2u);
  CHECK(!port.expired());
  bench.runs->Open();
  CHECK(Eventually([&] { return port.expired(); }));
  CHECK(Eventually([&] { return bench.statistics().cancelled == 3; }));
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
}

TEST(port_that_left_is_not_woken) {
  PortBench bench;
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo()));
  bench.client.Take();
  bench.Write({1});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  bench.client.Detach();
  bench.client.Detach();
  bench.server.server().Publish({"", "m"}, "{}");
  bench.runs->Open();
  CHECK(Eventually([&] { return bench.server.server().in_flight_bytes() == 0; }));
  CHECK(!bench.client.WaitForWake(std::chrono::nanoseconds(0)));
}

}  // namespace tritonts::test
