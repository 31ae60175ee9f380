// A port as JavaScript uses it: requests in by words, answers out by pages.
#include "engine/port/port.h"

#include "port_fixture.h"

namespace tritonts::test {

namespace {

using Dims = std::vector<int64_t>;

}  // namespace

// --- In and out.

TEST(port_answers_requests_of_a_tick_with_their_own_rows) {
  for (const int variant : {0, 1, 2, 3}) {
    const bool copies = (variant & 1) != 0;
    PortBench bench(copies);
    if ((variant & 2) != 0) bench.client.WriteGroups();
    bench.ServeIdentity(ConfigOf(FloatIo(), 1, {8, {}, 0}));
    std::vector<uint32_t> slots;
    for (int i = 0; i < 10; i++) {
      slots.push_back(bench.Write({static_cast<float>(i), static_cast<float>(-i)}));
    }
    const auto answers = bench.client.Take(10);
    for (int i = 0; i < 10; i++) {
      const PortAnswer& answer = AnswerOf(slots[static_cast<size_t>(i)], answers);
      CHECK(answer.code == Code::kOk);
      CHECK(answer.final);
      CHECK_EQ(answer.generation, 1u);
      CHECK_EQ(answer.outputs.size(), 1u);
      CHECK(answer.outputs[0].datatype == DataType::kFp32);
      CHECK_EQ(answer.outputs[0].shape, (Dims{2, 1}));
      CHECK_EQ(answer.outputs[0].bytes,
               BytesOf<float>({static_cast<float>(i), static_cast<float>(-i)}));
    }
  }
}

TEST(port_answers_those_alike_of_a_group_with_one_record) {
  for (const bool more : {false, true}) {
    PortBench bench;
    if (more) bench.client.WriteGroups();
    bench.ServeIdentity(ConfigOf(FloatIo(), 1, {8, {}, 0}));
    const auto answers = [&](const std::vector<std::vector<float>>& requests) {
      std::vector<uint32_t> slots;
      for (const auto& values : requests) slots.push_back(bench.Write(values));
      const auto all = bench.client.Take(requests.size());
      size_t alike = 0;
      for (size_t i = 0; i < requests.size(); i++) {
        const PortAnswer& answer = AnswerOf(slots[i], all);
        CHECK_EQ(answer.outputs[0].bytes, BytesOf(requests[i]));
        CHECK_EQ(answer.outputs[0].shape, (Dims{static_cast<int64_t>(requests[i].size()), 1}));
        CHECK(answer.ran);
        if (answer.alike) alike++;
      }
      return alike;
    };
    CHECK_EQ(answers({{1}, {2}, {3}}), more ? 3u : 0u);
    CHECK_EQ(answers({{1, 2}, {3, 4}, {5, 6}}), more ? 3u : 0u);
    // One batch of requests of several lengths.
    CHECK_EQ(answers({{1}, {2, 3}, {4}}), 0u);
    // A batch of 8, and one of those that are left.
    CHECK_EQ(answers({{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9, 10}, {11}}), more ? 8u : 0u);
    const Statistics statistics = bench.statistics();
    CHECK_EQ(statistics.success.count, 19u);
    CHECK_EQ(statistics.inference_count, 24u);
    CHECK_EQ(statistics.execution_count, 5u);
  }
}

TEST(port_answers_those_alike_over_several_pages) {
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
  const auto answers = bench.client.Take(1000);
  size_t alone = 0;
  for (size_t i = 0; i < slots.size(); i++) {
    const PortAnswer& answer = AnswerOf(slots[i], answers);
    // At the end of a page, or of a group.
    if (!answer.alike) alone++;
    CHECK_EQ(answer.outputs[0].bytes, BytesOf(std::vector<float>(256, static_cast<float>(i))));
  }
  CHECK(alone < 100);
  CHECK(bench.client.most_pages() >= 4);
}

TEST(port_answers_a_cancelled_request_of_a_batch_alone) {
  PortBench bench;
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(), 1, {8, {}, 0}));
  const uint32_t first = bench.Write({1});
  const uint32_t second = bench.Write({2});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  bench.client.Cancel(second);
  bench.runs->Open();
  const auto answers = bench.client.Take(2);
  CHECK(AnswerOf(first, answers).code == Code::kOk);
  CHECK(AnswerOf(second, answers).code == Code::kCancelled);
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
    const auto answers = bench.client.Take(1);
    CHECK_EQ(answers[0].outputs[0].bytes, BytesOf(values));
    CHECK_EQ(answers[0].outputs[0].large, count * 4 >= layout::kLargeOutput);
    CHECK_EQ(answers[0].outputs[0].shape, (Dims{static_cast<int64_t>(count)}));
  }
}

TEST(port_gives_wanted_outputs_only) {
  PortBench bench;
  ModelIo io = FloatIo();
  io.inputs.push_back({"z", DataType::kInt32, {-1, 2}, false});
  io.outputs.push_back({"w", DataType::kInt32, {-1, 2}, false});
  bench.ServeIdentity(ConfigOf(io));
  const PortInput x = Floats({1});
  const PortInput z = {1, {1, 2}, BytesOf<int32_t>({7, 8})};
  const uint32_t all = bench.client.Write(bench.uid, 1, {x, z});
  const uint32_t second = bench.client.Write(bench.uid, 1, {x, z}, {1});
  const auto answers = bench.client.Take(2);
  CHECK_EQ(AnswerOf(all, answers).outputs.size(), 2u);
  CHECK_EQ(AnswerOf(second, answers).outputs.size(), 1u);
  CHECK_EQ(AnswerOf(second, answers).outputs[0].index, 1u);
  CHECK_EQ(AnswerOf(second, answers).outputs[0].bytes, z.bytes);
}

TEST(port_takes_inputs_without_bytes) {
  PortBench bench;
  ModelIo io = FloatIo();
  io.inputs[0].dims = io.outputs[0].dims = {-1, -1};
  bench.ServeIdentity(ConfigOf(io));
  bench.client.AddSlab();
  bench.client.Write(bench.uid, 1, {{0, {1, 0}, ""}});
  const auto answers = bench.client.Take(1);
  CHECK(answers[0].code == Code::kOk);
  CHECK_EQ(answers[0].outputs[0].shape, (Dims{1, 0}));
  CHECK_EQ(answers[0].outputs[0].bytes, "");
}

TEST(port_with_copies_takes_the_bytes_when_they_are_submitted) {
  PortBench bench(true);
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo()));
  const uint32_t slot = bench.Write({1});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  // The same range again, as if the slot had another request: the first one keeps its own bytes.
  bench.Write({2});
  bench.client.words().clear();
  bench.runs->Open();
  CHECK_EQ(AnswerOf(slot, bench.client.Take(1)).outputs[0].bytes, BytesOf<float>({1}));
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
  const auto answers = bench.client.Take(3);
  CHECK_EQ(AnswerOf(first, answers).timings[0], 1.0);
  CHECK_EQ(AnswerOf(second, answers).timings[0], 3.0);
  const PortAnswer& two = AnswerOf(second, answers);
  const PortAnswer& three = AnswerOf(third, answers);
  CHECK(std::equal(std::begin(two.timings), std::end(two.timings), std::begin(three.timings)));
  for (const double duration : two.timings) CHECK(duration >= 0 && duration < 60e9);
}

// --- Outputs and pages.

namespace {

// A model of `count` outputs of `size` bytes; byte i of output k of a request is k + i. With a
// block of its own for each, or in memory that only lasts as long as the run.
Script WideScript(size_t count, size_t size, bool blocks) {
  Script script;
  script.execute = [=](uint32_t, Run& run) {
    const std::vector<int64_t> shape = {1, static_cast<int64_t>(size)};
    std::vector<std::string> memory(count);
    std::vector<BlockRef> kept(count);
    for (size_t k = 0; k < count; k++) {
      memory[k].resize(size);
      for (size_t i = 0; i < size; i++) memory[k][i] = static_cast<char>(k + i);
      const void* data = memory[k].data();
      if (blocks) {
        kept[k] = run.pool().Acquire(size);
        std::memcpy(kept[k]->data(), data, size);
        data = kept[k]->data();
      }
      for (uint32_t i = 0; i < run.requests().size(); i++) {
        run.SetRequestOutput(i, static_cast<uint32_t>(k), DataType::kUint8, shape, data, size,
                             kept[k].get());
      }
    }
    run.RespondAll(Status::Ok());
  };
  return script;
}

ModelIo WideIo(size_t count) {
  ModelIo io = FloatIo();
  io.outputs.clear();
  for (size_t k = 0; k < count; k++) {
    io.outputs.push_back({"y" + std::to_string(k), DataType::kUint8, {-1, -1}, false});
  }
  return io;
}

}  // namespace

TEST(port_gives_outputs_that_do_not_fit_a_page_together) {
  constexpr size_t kSize = 60'000;
  for (const bool blocks : {false, true}) {
    PortBench bench;
    bench.ServeScript(WideScript(12, kSize, blocks), ConfigOf(WideIo(12), 1, {8, {}, 0}));
    for (int i = 0; i < 5; i++) bench.Write({1});
    for (const PortAnswer& answer : bench.client.Take(5)) {
      CHECK(answer.code == Code::kOk);
      CHECK_EQ(answer.outputs.size(), 12u);
      for (const PortAnswer::Output& output : answer.outputs) {
        CHECK_EQ(output.bytes.size(), kSize);
        CHECK(output.bytes[17] == static_cast<char>(output.index + 17));
        CHECK(output.bytes[kSize - 1] == static_cast<char>(output.index + kSize - 1));
      }
    }
  }
}

TEST(port_puts_outputs_of_odd_sizes_at_multiples_of_eight_and_fills_no_page_too_much) {
  constexpr uint32_t kOutputs = 60;
  PortBench bench;
  bench.ServeScript(WideScript(kOutputs, 1, true), ConfigOf(WideIo(kOutputs), 1, {8, {}, 0}));
  // Pages end at all kinds of places.
  std::vector<uint32_t> wanted;
  for (uint32_t i = 0; i < 6'000; i++) {
    if (wanted.size() == kOutputs) wanted.clear();
    wanted.push_back(static_cast<uint32_t>(wanted.size()));
    bench.client.Write(bench.uid, 1, {Floats({1})}, wanted);
  }
  for (const PortAnswer& answer : bench.client.Take(6'000)) {
    CHECK_EQ(answer.outputs.size(), answer.slot % kOutputs + 1);
    for (const PortAnswer::Output& output : answer.outputs) {
      CHECK_EQ(output.bytes, std::string(1, static_cast<char>(output.index)));
      CHECK_EQ(output.offset % 8, 0);
    }
  }
}

TEST(port_refuses_an_answer_with_more_outputs_than_a_page_has_words_for) {
  PortBench bench;
  bench.ServeScript(WideScript(8'000, 1, false), ConfigOf(WideIo(8'000)));
  bench.Write({1});
  const auto answers = bench.client.Take(1);
  CHECK(answers[0].code == Code::kInternal);
  CHECK_EQ(answers[0].message, "too many outputs for one response");
}

TEST(port_keeps_large_outputs_that_lie_in_its_own_slab) {
  PortBench bench;
  ModelIo io = FloatIo(0);
  io.inputs[0].dims = io.outputs[0].dims = {-1};
  bench.ServeIdentity(ConfigOf(io));
  bench.client.AddSlab();
  constexpr size_t kSize = 128 << 10;
  auto* slab = static_cast<char*>(bench.client.port().inputs().slab(0)->data());
  std::memset(slab, 1, kSize);
  CHECK(bench.client
            .Submit({static_cast<int32_t>(bench.uid), 0, 1, 1, 1, 0, 0, 0, layout::kSlab, 0, 0,
                     kSize, 1, kSize / 4})
            .ok());
  std::vector<CompletionPage*> pages;
  CHECK(Eventually([&] {
    pages = TakePages(bench.client.port());
    return !pages.empty();
  }));
  // The request has ended; its range is used again before the answer is read.
  std::memset(slab, 2, kSize);
  CHECK_EQ(pages[0]->large.size(), 1u);
  const CompletionPage::Large& large = pages[0]->large[0];
  CHECK(std::string(static_cast<const char*>(large.data), large.size) == std::string(kSize, 1));
  bench.client.port().Recycle(pages[0]);
}

TEST(port_uses_its_pages_again) {
  PortBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo()));
  for (int i = 0; i < 300; i++) {
    bench.Write({1});
    bench.client.Take(1);
  }
  CHECK(bench.client.most_pages() <= 2);
}

TEST(port_uses_the_numbers_of_pages_again_after_bursts) {
  constexpr size_t kSize = 60'000;
  PortBench bench;
  bench.ServeScript(WideScript(1, kSize, false), ConfigOf(WideIo(1), 1, {8, {}, 0}));
  // About 25 pages each time, more than are kept.
  for (int burst = 0; burst < 4; burst++) {
    for (int i = 0; i < 100; i++) bench.Write({1});
    CHECK(bench.client.Flush().ok());
    CHECK(Eventually([&] { return bench.server.server().FindVersion(bench.uid)->drained(); }));
    bench.client.Take(100);
    CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
  }
  CHECK(bench.client.most_pages() > 20);
  CHECK(bench.client.most_pages() < 40);
}

TEST(port_cuts_an_endless_message) {
  Script script;
  script.execute = [](uint32_t, Run& run) {
    run.RespondAll(Status::Internal(std::string(1'000'000, 'x')));
  };
  PortBench bench;
  bench.ServeScript(std::move(script), ConfigOf(FloatIo()));
  for (int i = 0; i < 40; i++) bench.Write({1});
  for (const PortAnswer& answer : bench.client.Take(40)) {
    CHECK(answer.code == Code::kInternal);
    CHECK(answer.ran);
    CHECK_EQ(answer.message, std::string(16384, 'x'));
  }
}

TEST(port_wakes_its_thread_once_until_the_answers_are_taken) {
  ServerBench server;
  IdentityBackend identity;
  const uint32_t uid = server.Serve(&identity, ConfigOf(FloatIo()));
  std::atomic<int> wakes{0};
  const auto port = server.server().Attach([&] { wakes++; });
  CHECK_EQ(wakes.load(), 0);  // nobody waits for it to see the epoch
  for (int32_t slot = 0; slot < 3; slot++) {
    const std::vector<int32_t> words = {static_cast<int32_t>(uid), slot, 1, 1, 0, 0, 1};
    CHECK(port->Submit(words.data(), words.size(), nullptr).ok());
  }
  CHECK(Eventually([&] { return server.server().FindVersion(uid)->drained(); }));
  CHECK_EQ(wakes.load(), 1);
  CHECK(!TakePages(*port).empty());
  port->Detach();
}

// --- Versions that do not serve.

TEST(port_answers_requests_to_a_version_that_is_gone) {
  PortBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo()));
  PortClient knows_it(bench.server.shared());
  knows_it.Write(bench.uid, 1, {Floats({1})});
  knows_it.Take(1);
  // It writes to the version, and sends when that is gone.
  bench.Write({1});
  Event gone;
  bench.server.server().Retire(bench.uid, [&](bool) { gone.Set(); });
  CHECK(gone.Wait());
  for (PortClient* client : {&bench.client, &knows_it}) {
    if (client == &knows_it) knows_it.Write(bench.uid, 1, {Floats({1})});
    const auto answers = client->Take(1);
    CHECK(answers[0].code == Code::kUnavailable);
    CHECK(answers[0].final);
    CHECK(!answers[0].ran);
  }
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
}

TEST(port_answers_requests_to_a_version_that_did_not_start) {
  PortBench bench;
  bench.uid = bench.server.Open(&bench.identity).value();
  bench.Write({1});
  CHECK(bench.client.Take(1)[0].code == Code::kUnavailable);
}

// --- Cancelling and leaving.

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
  const PortAnswer answer = AnswerOf(slot, bench.client.Take(1));
  CHECK(answer.code == Code::kCancelled);
  CHECK(answer.message.find("'m'") != std::string::npos);
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
  bench.server.server().Publish("m", "{}");
  bench.runs->Open();
  CHECK(Eventually([&] { return bench.server.server().in_flight_bytes() == 0; }));
  CHECK(!bench.client.WaitForWake(std::chrono::nanoseconds(0)));
}

}  // namespace tritonts::test
