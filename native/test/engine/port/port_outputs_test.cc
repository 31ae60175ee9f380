// The outputs of a port's responses, and the pages that contain them.
#include "port_fixture.h"

namespace tritonts::test {

namespace {

// A model with `count` outputs of `size` bytes. Byte i of output k is k + i. Each output has a
// block, or memory that is valid only during the run.
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
    for (const PortResponse& response : bench.client.Take(5)) {
      CHECK(response.code == Code::kOk);
      CHECK_EQ(response.outputs.size(), 12u);
      for (const PortResponse::Output& output : response.outputs) {
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
  // Pages end at different positions.
  std::vector<uint32_t> wanted;
  for (uint32_t i = 0; i < 6'000; i++) {
    if (wanted.size() == kOutputs) wanted.clear();
    wanted.push_back(static_cast<uint32_t>(wanted.size()));
    bench.client.Write(bench.uid, 1, {FloatsInput({1})}, wanted);
  }
  for (const PortResponse& response : bench.client.Take(6'000)) {
    CHECK_EQ(response.outputs.size(), response.slot % kOutputs + 1);
    for (const PortResponse::Output& output : response.outputs) {
      CHECK_EQ(output.bytes, std::string(1, static_cast<char>(output.index)));
      CHECK_EQ(output.offset % 8, 0);
    }
  }
}

TEST(port_refuses_a_response_with_more_outputs_than_a_page_has_words_for) {
  PortBench bench;
  bench.ServeScript(WideScript(8'000, 1, false), ConfigOf(WideIo(8'000)));
  bench.Write({1});
  const auto responses = bench.client.Take(1);
  CHECK(responses[0].code == Code::kInternal);
  CHECK_EQ(responses[0].message, "too many outputs for one response");
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
  // The request has ended, and its range is reused before the response is read.
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
  // Each burst takes about 25 pages, more than the port keeps.
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
  for (const PortResponse& response : bench.client.Take(40)) {
    CHECK(response.code == Code::kInternal);
    CHECK(response.ran);
    CHECK_EQ(response.message, std::string(16384, 'x'));
  }
}

TEST(port_wakes_its_thread_once_until_the_responses_are_taken) {
  ServerBench server;
  IdentityBackend identity;
  const uint32_t uid = server.Serve(&identity, ConfigOf(FloatIo()));
  std::atomic<int> wakes{0};
  const auto port = server.server().Attach([&] { wakes++; });
  CHECK_EQ(wakes.load(), 0);  // no wake-up for the epoch was requested
  for (int32_t slot = 0; slot < 3; slot++) {
    const std::vector<int32_t> words = {static_cast<int32_t>(uid), slot, 1, 1, 0, 0, 1};
    CHECK(port->Submit(words.data(), words.size(), nullptr).ok());
  }
  CHECK(Eventually([&] { return server.server().FindVersion(uid)->drained(); }));
  CHECK_EQ(wakes.load(), 1);
  CHECK(!TakePages(*port).empty());
  port->Detach();
}

}  // namespace tritonts::test
