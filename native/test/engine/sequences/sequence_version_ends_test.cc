// Sequences in a version that ends, whose runs fail, or that lacks threads; and at a gate.
#include "counting_gate.h"
#include "no_threads.h"
#include "sequence_fixture.h"

namespace tritonts::test {

TEST(version_that_closes_runs_the_backlog_of_its_sequences) {
  for (const auto strategy : {kDirect, kOldest}) {
    ShutRuns shut;
    SequenceVersion bench(ScriptOf(shut.runs), SequencesOf(PolicyOf(strategy, 1)));
    bench.Send(1, "S");
    CHECK(shut.runs->Started(1));
    // None of these sequences gets its last request.
    bench.Submit({bench.Make(2, "S"), bench.Make(3, "S"), bench.Make(2, ""), bench.Make(1, "")});
    bench.version().Close();
    bench.Send(1, "E");
    CHECK_EQ(bench.CodeOf(5), Code::kUnavailable);
    CHECK(!bench.version().drained());
    shut.runs->Open();
    CHECK(bench.sink.Wait(6));
    bench.CheckCodes({0, 1, 2, 3, 4}, Code::kOk);
    CHECK(Eventually([&] { return bench.version().drained(); }));
    CHECK(Eventually([&] { return bench.drained > 0; }));
    CHECK(bench.Empty());
  }
}

TEST(version_that_closes_gives_the_slots_of_idle_sequences_to_the_backlog) {
  SequenceVersion bench(ScriptOf(std::make_shared<Runs>()), SequencesOf(PolicyOf(kOldest, 1)));
  bench.Send(1, "S");
  CHECK(bench.sink.Wait(1));
  bench.Send(2, "S");
  CHECK_EQ(bench.counts().backlog, 1u);
  bench.version().Close();
  CHECK(bench.sink.Wait(2));
  CHECK_EQ(bench.CodeOf(1), Code::kOk);
  CHECK(Eventually([&] { return bench.version().drained(); }));
}

TEST(version_that_aborts_ends_all_waiting_requests_of_sequences) {
  for (const auto strategy : {kDirect, kOldest}) {
    ShutRuns shut;
    SequenceVersion bench(ScriptOf(shut.runs), SequencesOf(PolicyOf(strategy, 1)));
    bench.Send(1, "S");
    CHECK(shut.runs->Started(1));
    bench.Submit({bench.Make(1, ""), bench.Make(2, "S"), bench.Make(2, "E")});
    bench.version().Close();
    bench.version().Abort(Status::Cancelled("cut off"));
    CHECK(bench.sink.Wait(3));
    bench.CheckCodes({1, 2, 3}, Code::kCancelled);
    shut.runs->Open();
    CHECK(bench.sink.Wait(4));
    CHECK_EQ(bench.CodeOf(0), Code::kOk);
    CHECK(Eventually([&] { return bench.version().drained(); }));
    CHECK(bench.Empty());
  }
}

TEST(version_goes_on_with_a_sequence_after_a_run_that_failed) {
  std::atomic<int> runs{0};
  Script script;
  script.may_run_again = true;
  script.execute = [&](uint32_t, Run& run) {
    if (runs++ == 1) throw std::runtime_error("thrown");
    run.RespondAll(runs == 1 ? Status::Internal("failed") : Status::Ok());
  };
  Event open;
  VersionConfig config = SequencesOf(PolicyOf(kOldest, 2));
  config.rerun_in_halves = true;
  SequenceVersion bench(std::move(script), std::move(config));
  bench.Submit({bench.Make(1, "S"), bench.Make(2, "S"), bench.Make(1, ""), bench.Make(2, ""),
                bench.Make(1, "E"), bench.Make(2, "E")});
  CHECK(bench.sink.Wait(6));
  bench.CheckCodes({0, 1, 2, 3}, Code::kInternal);
  bench.CheckCodes({4, 5}, Code::kOk);
  // The model may have noted the first requests, so they do not run again.
  CHECK_EQ(bench.version().statistics().reruns, 0u);
  CHECK_EQ(runs.load(), 3);
  CHECK(Eventually([&] { return bench.Empty(); }));
}

TEST(version_without_a_thread_fails_the_requests_of_its_sequences) {
  if (kWatched) SKIP("sanitizers need memory at any time");
  for (const auto strategy : {kDirect, kOldest}) {
    const auto runs = std::make_shared<Runs>();
    SequenceVersion bench(ScriptOf(runs), SequencesOf(PolicyOf(strategy, 1)));
    std::vector<Request*> all = {bench.Make(1, "S"), bench.Make(1, ""), bench.Make(2, "S"),
                                 bench.Make(2, "E")};
    {
      const NoThreads none;
      bench.Submit(all);
      CHECK(bench.sink.Wait(4));
    }
    bench.CheckCodes({0, 1, 2, 3}, Code::kUnavailable);
    CHECK(bench.Empty());
    bench.Submit({bench.Make(1, "S"), bench.Make(1, "E")});
    CHECK(bench.sink.Wait(6));
    bench.CheckCodes({4, 5}, Code::kOk);
  }
}

TEST(version_holds_batches_of_sequences_at_a_gate) {
  const auto gate = std::make_shared<CountingGate>(1);
  ShutRuns shut;
  VersionConfig config = SequencesOf(PolicyOf(kDirect, 1), 2);
  config.gate = gate;
  SequenceVersion bench(ScriptOf(shut.runs), std::move(config));
  bench.Send(1, "S");
  CHECK(shut.runs->Started(1));
  // The batch of the other instance waits at the gate. A request behind it is cancelled.
  bench.Send(2, "S");
  CHECK_EQ(gate->waiting(), 1u);
  Request* const behind = bench.Send(2, "E");
  bench.Submit({bench.Make(3, "S")});
  bench.Cancel(behind);
  CHECK_EQ(bench.CodeOf(2), Code::kCancelled);
  bench.version().Close();
  shut.runs->Open();
  CHECK(bench.sink.Wait(4));
  bench.CheckCodes({0, 1, 3}, Code::kOk);
  CHECK(Eventually([&] { return bench.version().drained(); }));
  CHECK(bench.Empty());
  CHECK_EQ(gate->inside(), 0u);
}

TEST(version_withdraws_batches_of_sequences_from_a_gate_when_it_aborts) {
  const auto gate = std::make_shared<CountingGate>(1);
  ShutRuns shut;
  VersionConfig config = ControlledSequencesOf(PolicyOf(kOldest, 2), 2);
  config.gate = gate;
  SequenceVersion bench(ScriptOf(shut.runs), std::move(config));
  bench.Send(1, "S");
  CHECK(shut.runs->Started(1));
  bench.Submit({bench.Make(2, "S"), bench.Make(2, "")});
  CHECK_EQ(gate->waiting(), 1u);
  bench.version().Close();
  bench.version().Abort(Status::Cancelled("cut off"));
  CHECK(bench.sink.Wait(2));
  bench.CheckCodes({1, 2}, Code::kCancelled);
  CHECK_EQ(gate->waiting(), 0u);
  shut.runs->Open();
  CHECK(bench.sink.Wait(3));
  CHECK(Eventually([&] { return bench.version().drained(); }));
  CHECK(bench.Empty());
}

}  // namespace tritonts::test
