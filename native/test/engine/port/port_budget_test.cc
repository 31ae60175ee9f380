// A port's charges: all memory that it holds, until JavaScript has it.
#include "port_fixture.h"

namespace tritonts::test {

namespace {

PortInput Vector(int32_t floats) {
  return {0, {floats}, std::string(static_cast<size_t>(floats) * 4, 'v')};
}

struct BudgetBench : PortBench {
  explicit BudgetBench(uint64_t limit = uint64_t{1} << 30) : PortBench(false, limit) {}
  uint64_t used() { return server.server().in_flight_bytes(); }
  void Drain() {
    CHECK(Eventually([&] { return server.server().FindVersion(uid)->drained(); }));
  }
};

}  // namespace

TEST(port_counts_responses_until_they_are_taken_and_refuses_meanwhile) {
  constexpr uint64_t kLimit = 300'000;
  BudgetBench bench(kLimit);
  bench.ServeIdentity(ConfigOf(Vectors()));
  // Outputs have 15,000 bytes each. They are copied into pages, and their size is not known
  // beforehand.
  size_t refused = 0;
  for (int i = 0; i < 100; i++) {
    bench.client.Write(bench.uid, 0, {Vector(3'750)});
    CHECK(bench.client.Flush().ok());
    bench.Drain();
    // At most one more request was accepted before its response was charged.
    CHECK(bench.used() < kLimit + 40'000);
  }
  const auto responses = bench.client.Take(100);
  for (const PortResponse& response : responses) refused += response.limited ? 1 : 0;
  CHECK(refused > 70);
  CHECK(refused < 90);
  CHECK_EQ(bench.used(), 0u);
  bench.client.Write(bench.uid, 0, {Vector(3'750)});
  CHECK(bench.client.Take(1)[0].code == Code::kOk);
  CHECK_EQ(bench.used(), 0u);
}

TEST(port_counts_large_outputs_until_javascript_has_them) {
  BudgetBench bench;
  bench.ServeIdentity(ConfigOf(Vectors()));
  bench.client.Write(bench.uid, 0, {Vector(100'000)});
  bench.client.Write(bench.uid, 0, {Vector(50'000)});
  CHECK(bench.client.Flush().ok());
  bench.Drain();
  CHECK(bench.used() >= 600'000);
  CHECK(bench.used() < 601'000);
  const auto pages = TakePages(bench.client.port());
  CHECK_EQ(pages.size(), 1u);
  CHECK(bench.used() >= 600'000);
  bench.client.port().ReleaseLarge(pages[0], 0);
  CHECK(bench.used() >= 200'000);
  CHECK(bench.used() < 201'000);
  bench.client.port().Recycle(pages[0]);
  CHECK_EQ(bench.used(), 0u);
}

TEST(port_counts_inputs_as_what_they_take) {
  BudgetBench bench;
  bench.runs->Shut();
  ModelIo io = FloatIo(0);
  io.inputs.clear();
  for (int i = 0; i < 64; i++) {
    io.inputs.push_back({"x" + std::to_string(i), DataType::kUint8, {-1}, false});
  }
  io.outputs = {{"y", DataType::kUint8, {-1}, false}};
  bench.ServeRuns(ConfigOf(io));
  std::vector<PortInput> inputs;
  for (uint32_t i = 0; i < 64; i++) inputs.push_back({i, {65}, std::string(65, 'x')});
  // 64 inputs of 65 bytes, each at a multiple of 64, exceed a range, so they are blocks.
  bench.client.Write(bench.uid, 0, inputs);
  CHECK(bench.client.Flush().ok());
  CHECK_EQ(bench.used(), 64u * 4096);
  // 20 of them fit into a range: 19 times 128, plus 65.
  inputs.resize(20);
  bench.client.Write(bench.uid, 0, inputs);
  CHECK(bench.client.Flush().ok());
  CHECK_EQ(bench.used(), 64u * 4096 + 4096);
  inputs.resize(1);
  bench.client.Write(bench.uid, 0, inputs);
  CHECK(bench.client.Flush().ok());
  CHECK_EQ(bench.used(), 64u * 4096 + 4096 + 128);
  bench.runs->Open();
  bench.client.Take(3);
  CHECK_EQ(bench.used(), 0u);
}

TEST(port_counts_nothing_of_what_was_cancelled_refused_or_makes_no_sense) {
  BudgetBench bench;
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(), 1, {1, {}, 0}));
  bench.Write({1});
  const uint32_t waiting = bench.Write({2});
  CHECK(bench.client.Flush().ok());
  const uint64_t used = bench.used();
  CHECK(!bench.client.Submit({static_cast<int32_t>(bench.uid), 9, 1, 1, 1, 0, 1}).ok());
  CHECK_EQ(bench.used(), used);
  bench.client.Cancel(waiting);
  CHECK(bench.client.Take(1)[0].code == Code::kCancelled);
  CHECK_EQ(bench.used(), used / 2);
  bench.runs->Open();
  bench.client.Take(1);
  CHECK_EQ(bench.used(), 0u);
}

TEST(port_counts_nothing_of_responses_that_it_left_behind) {
  for (const bool taken : {false, true}) {
    BudgetBench bench;
    bench.ServeIdentity(ConfigOf(Vectors()));
    PortClient stays(bench.server.shared());
    for (int i = 0; i < 5; i++) bench.client.Write(bench.uid, 0, {Vector(50'000)});
    CHECK(bench.client.Flush().ok());
    bench.Drain();
    std::vector<CompletionPage*> pages;
    if (taken) pages = TakePages(bench.client.port());
    CHECK(bench.used() >= 1'000'000);
    bench.client.Detach();
    CHECK_EQ(bench.used(), 0u);
    // JavaScript may still read the pages.
    for (CompletionPage* page : pages) {
      bench.client.port().ReleaseLarge(page, 0);
      bench.client.port().Recycle(page);
    }
    CHECK_EQ(bench.used(), 0u);
  }
}

}  // namespace tritonts::test
