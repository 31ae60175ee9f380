// Everything that the contract allows a backend, combined, with blocking and asynchronous
// instances.
#include "contract_backend.h"
#include "slot_fixture.h"

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

// Batches with slots, injected inputs, kept outputs, ragged inputs and strings.
void AskSlots(const char* asynchronous, uint32_t instances, bool ordered) {
  VersionBench bench(std::make_unique<ContractBackend>(),
                     {"m", 1, "", {{"asynchronous", asynchronous}}});
  SlotOptions options;
  options.instances = instances;
  options.ragged = true;
  const auto states = std::make_shared<SlotStates>(kSlots);
  VersionConfig config = ConfigOf(SlotIo(true), instances);
  const auto way_input = static_cast<uint32_t>(config.io.inputs.size());
  config.io.inputs.push_back({"way", DataType::kInt32, {-1, 1}, false});
  config.io.outputs.push_back({"text", DataType::kBytes, {-1, 1}, false});
  config.decoupled = true;
  config.preserve_ordering = ordered;
  config.scheduler = [&] { return std::make_unique<SlotScheduler>(kSlots, states, options); };
  CHECK(bench.version().Start(std::move(config)).ok());
  constexpr uint32_t kEach = 90;
  const uint32_t sequences = kSlots * instances - 1;
  size_t expected = 0;
  size_t failures = 0;
  for (uint32_t i = 0; i < kEach * sequences; i++) {
    const auto way = static_cast<Way>(i % static_cast<uint32_t>(Way::kCount));
    expected += 1 + ResponsesBefore(way);
    if (way == Way::kStreamsAndFails) failures++;
    auto number = static_cast<int32_t>(way);
    if (way == Way::kGoesRound) number += 16;
    Request* const request = bench.requests.Add(1);
    const std::vector<float> x(1 + i % 5, static_cast<float>(i));
    bench.requests.Input(request, 0, DataType::kFp32, {1, static_cast<int64_t>(x.size())},
                         BytesOf(x));
    bench.requests.Input(request, way_input, DataType::kInt32, {1, 1}, BytesOf<int32_t>({number}));
    request->header->priority = i % sequences;
    bench.Submit({request});
  }
  CHECK(bench.sink.Wait(expected));
  CHECK(Eventually([&] {
    return bench.version().statistics().success.count + failures == uint64_t{kEach} * sequences;
  }));
  size_t ok = 0;
  for (const SeenResponse& seen : bench.sink.responses()) {
    if (!seen.status.ok()) continue;
    ok++;
    CHECK_EQ(seen.outputs.at(0).bytes,
             BytesOf(std::vector<float>(1 + seen.slot % 5, static_cast<float>(seen.slot))));
    const std::string& text = seen.outputs.at(2).bytes;
    CHECK_EQ(text, TextOfRow(static_cast<size_t>(text[0])));
    CHECK_EQ(seen.outputs.size(), 2u);
  }
  CHECK_EQ(ok, expected - failures);
  CHECK_EQ(states->kept(), ok);
  CHECK_EQ(states->misplaced(), 0u);
}

}  // namespace

TEST(contract_holds_for_batches_with_more_than_requests) {
  for (const bool ordered : {false, true}) {
    AskSlots("0", 1, ordered);
    AskSlots("0", 2, ordered);
    AskSlots("1", 2, ordered);
  }
}

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
