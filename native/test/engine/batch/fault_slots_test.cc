// Faults of a backend in batches with empty slots, injected inputs and kept outputs: what callers
// get, what the keeper gets, and that the next request works.
#include "backends/fault/fault.h"
#include "fake_device.h"
#include "slot_fixture.h"

namespace tritonts::test {

namespace {

constexpr uint32_t kFaultInput = 3;

// x, the injected inputs and the fault; y = x, and the kept output, which is also x.
class FaultBench {
 public:
  explicit FaultBench(bool ordered = false)
      : bench(std::make_unique<FaultBackend>(), {"m", 1, "", {}}) {
    VersionConfig config = ConfigOf(SlotIo());
    config.io.inputs.push_back({"fault", DataType::kInt32, {-1, 1}, false});
    config.preserve_ordering = ordered;
    config.scheduler = [this] { return std::make_unique<SlotScheduler>(kSlots, states); };
    CHECK(bench.version().Start(std::move(config)).ok());
  }
  Request* Make(uint64_t sequence, float x, Fault fault = Fault::kNone) {
    Request* const request = bench.requests.Floats({x});
    request->header->priority = sequence;
    bench.requests.Input(request, kFaultInput, DataType::kInt32, {1, 1},
                         BytesOf<int32_t>({static_cast<int32_t>(fault)}));
    return request;
  }

  const std::shared_ptr<SlotStates> states = std::make_shared<SlotStates>(kSlots);
  VersionBench bench;
};

}  // namespace

TEST(fault_slots_end_with_coded_errors_and_the_next_request_works) {
  struct Case {
    Fault fault;
    const char* message;  // part of it; null: no error
    bool others_fail = false;
  };
  const Case cases[] = {
      {Fault::kFails, "an injected failure"},
      {Fault::kWrongRows, "output 'y': expected 1 rows"},
      {Fault::kUnknownOutput, "output 7"},
      {Fault::kKeepsNothing, "output 'state': expected in each response"},
      {Fault::kKeptTooFewBytes,
       "output 'state': expected 1 rows, but its backend returned 0 bytes"},
      {Fault::kKeptWrongDatatype, "output 'state': expected FP32"},
      {Fault::kThrows, "an injected exception"},
      {Fault::kThrowsAtNullRow, "an injected exception"},
      {Fault::kNeverAnswers, "without responding"},
      {Fault::kWrongRaggedRows, "output 'y': expected 3 rows", true},
      {Fault::kAnswersNullRows, nullptr},
      {Fault::kAnswersTwice, nullptr},
      {Fault::kWrongRequest, nullptr},
  };
  for (const bool ordered : {false, true}) {
    for (const Case& one : cases) {
      FaultBench fault(ordered);
      VersionBench& bench = fault.bench;
      // Slot 1 is empty.
      bench.Submit({fault.Make(0, 3), fault.Make(2, 5, one.fault)});
      CHECK(bench.sink.Wait(2));
      const SeenResponse seen = bench.sink.Of(1);
      CHECK(seen.status.code() == (one.message ? Code::kInternal : Code::kOk));
      if (one.message && !Contains(seen.status.message(), one.message)) {
        CHECK_EQ(seen.status.message(), one.message);
      }
      CHECK_EQ(seen.outputs.size(), one.message ? 0u : 1u);
      CHECK_EQ(bench.sink.Of(0).status.ok(), !one.others_fail);
      const uint32_t ok = (one.others_fail ? 0 : 1) + (one.message ? 0 : 1);
      CHECK_EQ(fault.states->kept(), ok);
      CHECK_EQ(fault.states->Of(2), one.message ? 0.0f : 5.0f);
      bench.Submit({fault.Make(2, 7), fault.Make(3, 8)});
      CHECK(bench.sink.Wait(4));
      CHECK(bench.sink.Of(2).status.ok() && bench.sink.Of(3).status.ok());
      CHECK_EQ(fault.states->kept(), ok + 2u);
      CHECK_EQ(fault.states->Of(2), 7.0f);
      CHECK(Eventually([&] { return bench.version().statistics().execution_count == 2; }));
      const Statistics statistics = bench.version().statistics();
      CHECK_EQ(statistics.success.count, ok + 2u);
      CHECK_EQ(statistics.fail.count, 2u - ok);
    }
  }
}

// The state of a response that became an error is not kept: the caller may send the request again.
TEST(fault_slots_keep_nothing_if_another_output_cannot_be_fetched) {
  for (const bool ordered : {false, true}) {
    // Memory that nothing can copy.
    class Lost final : public Block {
     public:
      Lost() : Block(this, 4, MemoryKind::kDevice) {}
      void Dispose() override {}
    };
    static Lost lost;
    Script script;
    script.execute = [](uint32_t, Run& run) {
      const int64_t shape[] = {1, 1};
      const float next = 1;
      for (uint32_t i = 0; i < run.requests().size(); i++) {
        run.SetRequestOutput(i, SlotStates::kNextState, DataType::kFp32, shape, &next, 4, nullptr);
        if (i == 2) {
          run.SetRequestOutput(i, 0, DataType::kFp32, shape, lost.data(), 4, &lost);
        } else {
          run.SetRequestOutput(i, 0, DataType::kFp32, shape, &next, 4, nullptr);
        }
      }
      run.RespondAll(Status::Ok());
    };
    const auto states = std::make_shared<SlotStates>(kSlots);
    VersionConfig config = ConfigOf(SlotIo());
    config.preserve_ordering = ordered;
    config.scheduler = [&] { return std::make_unique<SlotScheduler>(kSlots, states); };
    VersionBench bench(std::move(script), std::move(config));
    std::vector<Request*> requests;
    for (const uint64_t sequence : {0, 2, 3}) {
      requests.push_back(bench.requests.Floats({1}));
      requests.back()->header->priority = sequence;
    }
    bench.Submit(requests);
    CHECK(bench.sink.Wait(3));
    CHECK(bench.sink.Of(0).status.ok() && bench.sink.Of(2).status.ok());
    CHECK(bench.sink.Of(1).status.code() == Code::kUnsupported);
    CHECK_EQ(states->kept(), 2u);
    CHECK_EQ(states->Of(2), 0.0f);
    CHECK_EQ(states->Of(3), 1.0f);
  }
}

}  // namespace tritonts::test
