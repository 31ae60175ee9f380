// Everything that the contract allows a backend, combined, with blocking and asynchronous
// instances.
#include "contract_backend.h"
#include "version_fixture.h"

namespace tritonts::test {

namespace {

ModelIo WayIo() {
  ModelIo io = FloatIo(8);
  io.inputs.push_back({"way", DataType::kInt32, {-1, 1}, false});
  return io;
}

void AskAll(const char* asynchronous, uint32_t instances, uint64_t inline_budget_ns) {
  VersionBench bench(std::make_unique<ContractBackend>(),
                     {"m", 1, "", {{"asynchronous", asynchronous}}});
  VersionConfig config = ConfigOf(WayIo(), instances, {8, {}, 0});
  config.inline_budget_ns = inline_budget_ns;
  // Decoupled models do not run on the submitting thread; others give one response.
  config.decoupled = inline_budget_ns == 0;
  CHECK(bench.version().Start(std::move(config)).ok());
  constexpr uint32_t kThreads = 3;
  constexpr uint32_t kEach = 300;
  std::vector<std::unique_ptr<Requests>> requests;
  std::vector<std::thread> threads;
  size_t expected = 0;
  const auto way_of = [&](uint32_t i) {
    const auto way = static_cast<Way>(i % static_cast<uint32_t>(Way::kCount));
    return inline_budget_ns > 0 && ResponsesBefore(way) > 0 ? Way::kPlain : way;
  };
  for (uint32_t i = 0; i < kEach; i++) expected += 1 + ResponsesBefore(way_of(i));
  for (uint32_t thread = 0; thread < kThreads; thread++) {
    requests.push_back(std::make_unique<Requests>(&bench.sink));
    threads.emplace_back([&, thread, own = requests.back().get()] {
      for (uint32_t i = 0; i < kEach; i++) {
        const uint32_t slot = thread * kEach + i;
        Request* request = own->Floats({static_cast<float>(slot)});
        request->header->slot = slot;
        auto number = static_cast<int32_t>(way_of(i));
        if (way_of(i) == Way::kGoesRound) number += 3 * 16;
        own->Input(request, 1, DataType::kInt32, {1, 1}, BytesOf<int32_t>({number}));
        InlineTime inline_time;
        bench.Submit({request}, i % 2 == 0 ? &inline_time : nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(bench.sink.Wait(kThreads * expected));
  CHECK(Eventually([&] { return bench.version().drained(); }));
  std::map<uint32_t, std::vector<SeenResponse>> responses;
  for (SeenResponse& response : bench.sink.responses())
    responses[response.slot].push_back(std::move(response));
  for (uint32_t slot = 0; slot < kThreads * kEach; slot++) {
    const Way way = way_of(slot % kEach);
    const std::vector<SeenResponse>& own = responses[slot];
    CHECK_EQ(own.size(), 1 + ResponsesBefore(way));
    for (size_t i = 0; i < own.size(); i++) {
      CHECK_EQ(own[i].final, i + 1 == own.size());
      CHECK_EQ(own[i].status.ok(), !own[i].final || way != Way::kStreamsAndFails);
      if (!own[i].status.ok()) continue;
      CHECK_EQ(own[i].outputs.at(0).bytes, BytesOf<float>({static_cast<float>(slot)}));
    }
  }
  const Statistics statistics = bench.version().statistics();
  CHECK_EQ(statistics.success.count + statistics.fail.count, uint64_t{kThreads} * kEach);
}

}  // namespace

TEST(contract_holds_for_blocking_instances) {
  AskAll("0", 1, 0);
  AskAll("0", 3, 0);
}

TEST(contract_holds_for_blocking_instances_on_the_submitting_thread) {
  AskAll("0", 2, 1'000'000'000);
}

TEST(contract_holds_for_asynchronous_instances) {
  AskAll("1", 1, 0);
  AskAll("1", 3, 0);
}

}  // namespace tritonts::test
