// Sequences in a whole version: order, rows, idle time and time-outs.
#include "engine/batch/collector.h"
#include "sequence_fixture.h"

namespace tritonts::test {

namespace {

constexpr uint64_t kMsOfTest = 1'000'000;

}  // namespace

TEST(version_runs_requests_of_a_sequence_one_after_the_other) {
  for (const auto strategy : {kDirect, kOldest}) {
    ShutRuns shut;
    SequenceVersion bench(ScriptOf(shut.runs), SequencesOf(PolicyOf(strategy, 4), 2));
    std::vector<Request*> all;
    for (uint32_t i = 0; i < 20; i++) {
      for (uint64_t number = 1; number <= 3; number++) {
        all.push_back(bench.Make(number, i == 0 ? "S" : i == 19 ? "E" : ""));
      }
    }
    bench.Submit(all);
    shut.runs->Open();
    CHECK(bench.sink.Wait(all.size()));
    CHECK(Eventually([&] { return bench.Empty(); }));
    std::vector<uint32_t> last(3);
    std::vector<uint32_t> on(3, ~0u);
    for (const Runs::Batch& run : shut.runs->runs()) {
      std::vector<bool> seen(3);
      for (const uint32_t slot : run.slots) {
        if (slot == Runs::kNullRow) continue;
        // Once in a batch, behind its earlier requests, and on one instance.
        CHECK(!seen[slot % 3]);
        CHECK(slot == slot % 3 || slot == last[slot % 3] + 3);
        CHECK(on[slot % 3] == ~0u || on[slot % 3] == run.instance);
        seen[slot % 3] = true;
        last[slot % 3] = slot;
        on[slot % 3] = run.instance;
      }
    }
    CHECK_EQ(bench.version().statistics().success.count, all.size());
  }
}

TEST(version_runs_direct_rows_in_their_slots_and_null_rows_between_them) {
  std::mutex mutex;
  std::vector<std::vector<float>> readies;
  Event open;
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    Gathered ready;
    CHECK(Gather(run, kReadyInput, true, &ready).ok());
    {
      const std::lock_guard lock(mutex);
      std::vector<float>& values = readies.emplace_back(ready.buffer.size / sizeof(float));
      std::memcpy(values.data(), ready.buffer.data, ready.buffer.size);
    }
    CHECK(open.Wait());
    const std::vector<float> y(run.total_batch_size(), 1);
    const int64_t tail[] = {1};
    run.SetOutput(0, DataType::kFp32, tail, y.data(), y.size() * sizeof(float), nullptr);
    run.RespondAll(Status::Ok());
  };
  SequenceVersion bench(std::move(script), ControlledSequencesOf(PolicyOf(kDirect, 4)));
  bench.Submit({bench.Make(1, "S"), bench.Make(2, "S"), bench.Make(3, "S")});
  bench.Submit({bench.Make(1, "E"), bench.Make(3, "E")});
  open.Set();
  CHECK(bench.sink.Wait(5));
  CHECK(Eventually([&] { return bench.counts().live == 1; }));
  CHECK_EQ(readies.size(), 2u);
  CHECK(readies[0] == (std::vector<float>{1, 1, 1}));
  CHECK(readies[1] == (std::vector<float>{1, 0, 1}));
  for (uint32_t i = 0; i < 5; i++) CHECK_EQ(bench.sink.Of(i).outputs[0].bytes.size(), 4u);
  const Statistics statistics = bench.version().statistics();
  CHECK_EQ(statistics.inference_count, 5u);
  CHECK_EQ(statistics.execution_count, 2u);
  // The batch had three rows, although one of them has no caller.
  CHECK_EQ(statistics.batches.at(3).compute_infer.count, 2u);
}

TEST(version_has_one_request_of_a_sequence_in_runs_of_an_asynchronous_instance) {
  Handed handed;
  SequenceVersion bench(handed.Of(true), SequencesOf(PolicyOf(kOldest, 4)));
  bench.Submit({bench.Make(1, "S"), bench.Make(1, ""), bench.Make(2, "S"), bench.Make(2, "E")});
  CHECK_EQ(handed.count(), 1u);
  CHECK_EQ(handed.run(0).requests().size(), 2u);
  // The instance is free for other sequences.
  bench.Send(3, "SE");
  CHECK_EQ(handed.count(), 2u);
  CHECK_EQ(handed.run(1).requests().size(), 1u);
  handed.run(0).Respond(0, Status::Ok());
  CHECK_EQ(handed.count(), 2u);
  handed.run(0).Respond(1, Status::Ok());
  CHECK_EQ(handed.count(), 3u);
  CHECK_EQ(handed.run(2).requests().size(), 2u);
  CHECK_EQ(handed.run(2).requests()[0]->header->slot, 1u);
  CHECK_EQ(handed.run(2).requests()[1]->header->slot, 3u);
  handed.run(2).RespondAll(Status::Ok());
  handed.run(1).RespondAll(Status::Ok());
  CHECK_EQ(bench.counts().live, 1u);
  CHECK_EQ(bench.counts().idle, 1u);
}

TEST(version_keeps_the_order_of_sequences_that_respond_in_another_one) {
  Handed handed;
  VersionConfig config = SequencesOf(PolicyOf(kOldest, 1), 2);
  config.preserve_ordering = true;
  SequenceVersion bench(handed.Of(true), std::move(config));
  bench.Submit({bench.Make(1, "S"), bench.Make(2, "S"), bench.Make(1, "E"), bench.Make(2, "E")});
  CHECK_EQ(handed.count(), 2u);
  handed.run(1).RespondAll(Status::Ok());
  // The response of the second sequence waits, and so does its next request.
  CHECK_EQ(bench.sink.responses().size(), 0u);
  CHECK_EQ(handed.count(), 2u);
  handed.run(0).RespondAll(Status::Ok());
  CHECK_EQ(handed.count(), 4u);
  handed.run(3).RespondAll(Status::Ok());
  handed.run(2).RespondAll(Status::Ok());
  std::vector<uint32_t> order;
  for (const SeenResponse& seen : bench.sink.responses()) order.push_back(seen.slot);
  CHECK_EQ(order.size(), 4u);
  CHECK(order[0] == 0 && order[1] == 1);
  CHECK(bench.Empty());
}

TEST(version_gives_the_slot_of_an_idle_sequence_to_one_that_waits) {
  for (const auto strategy : {kDirect, kOldest}) {
    SequencePolicy policy = PolicyOf(strategy, 1);
    policy.max_idle_ns = 5 * kMsOfTest;
    SequenceVersion bench(ScriptOf(std::make_shared<Runs>()), SequencesOf(policy));
    bench.Send(1, "S");
    CHECK(bench.sink.Wait(1));
    const uint64_t before = NowNs();
    bench.Send(2, "SE");
    // Nothing but the timer wakes the version.
    CHECK(bench.sink.Wait(2));
    CHECK(NowNs() - before < 1'000 * kMsOfTest);
    bench.CheckCodes({0, 1}, Code::kOk);
    CHECK_EQ(bench.counts().idled, 1u);
    bench.Send(1, "");
    CHECK_EQ(bench.CodeOf(2), Code::kInvalidArg);
    CHECK(Contains(bench.sink.Of(2).status.message(), "max_sequence_idle_microseconds"));
    CHECK(Eventually([&] { return bench.Empty(); }));
  }
}

TEST(version_ends_a_sequence_in_the_backlog_when_a_timeout_of_its_requests_is_over) {
  ShutRuns shut;
  SequenceVersion bench(ScriptOf(shut.runs), SequencesOf(PolicyOf(kDirect, 1)));
  bench.Send(1, "S");
  CHECK(shut.runs->Started(1));
  const uint64_t before = NowNs();
  // No time-out, one of 10 s, and one of 5 ms: the shortest counts for all.
  bench.Submit({bench.Make(2, "S"), bench.Make(2, "", 10'000 * kMsOfTest),
                bench.Make(2, "", 5 * kMsOfTest), bench.Make(3, "SE", ~0ull)});
  CHECK(bench.sink.Wait(3));
  CHECK(NowNs() - before >= 5 * kMsOfTest);
  CHECK(NowNs() - before < 2'000 * kMsOfTest);
  bench.CheckCodes({1, 2, 3}, Code::kUnavailable);
  CHECK_EQ(bench.version().statistics().rejected, 3u);
  CHECK_EQ(bench.counts().expired, 1u);
  // The longest time-out there is does not overflow.
  bench.Send(1, "E");
  shut.runs->Open();
  CHECK(bench.sink.Wait(6));
  bench.CheckCodes({0, 4, 5}, Code::kOk);
  CHECK(Eventually([&] { return bench.Empty(); }));
}

TEST(version_cancels_what_is_behind_a_cancelled_request_of_a_sequence) {
  for (const auto strategy : {kDirect, kOldest}) {
    ShutRuns shut;
    SequenceVersion bench(ScriptOf(shut.runs), SequencesOf(PolicyOf(strategy, 1)));
    bench.Submit({bench.Make(1, "S"), bench.Make(1, "")});
    Request* const third = bench.Send(1, "");
    bench.Submit({bench.Make(1, ""), bench.Make(2, "S"), bench.Make(2, "")});
    Request* const last = bench.Send(2, "E");
    CHECK(shut.runs->Started(1));
    bench.Cancel(third);
    // In the backlog nothing of the sequence runs.
    bench.Cancel(last);
    CHECK(bench.sink.Wait(5));
    bench.CheckCodes({2, 3, 4, 5, 6}, Code::kCancelled);
    bench.Send(1, "");
    CHECK_EQ(bench.CodeOf(7), Code::kInvalidArg);
    shut.runs->Open();
    CHECK(bench.sink.Wait(8));
    bench.CheckCodes({0, 1}, Code::kOk);
    CHECK(Eventually([&] { return bench.Empty(); }));
    CHECK_EQ(bench.version().statistics().cancelled, 5u);
  }
}

TEST(version_goes_on_with_a_sequence_of_which_a_running_request_was_cancelled) {
  ShutRuns shut;
  SequenceVersion bench(ScriptOf(shut.runs), SequencesOf(PolicyOf(kDirect, 2)));
  Request* const first = bench.Send(1, "S");
  CHECK(shut.runs->Started(1));
  bench.Send(1, "E");
  bench.Cancel(first);
  shut.runs->Open();
  CHECK(bench.sink.Wait(2));
  CHECK_EQ(bench.CodeOf(0), Code::kCancelled);
  CHECK_EQ(bench.CodeOf(1), Code::kOk);
  CHECK(Eventually([&] { return bench.Empty(); }));
}

}  // namespace tritonts::test
