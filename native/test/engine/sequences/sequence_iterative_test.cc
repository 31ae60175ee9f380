// Requests of sequences that are queued again by the model.
#include "counting_gate.h"
#include "engine/batch/collector.h"
#include "sequence_fixture.h"

namespace tritonts::test {

namespace {

// A model that queues each request again as often as its x says.
class Rounds {
 public:
  Script Of(bool is_asynchronous, bool streams = false) {
    Script script;
    script.asynchronous = is_asynchronous;
    script.execute = [this, is_asynchronous, streams](uint32_t, Run& run) {
      const RunRef self(run);
      Gathered start;
      const bool controlled = run.input(0, kStartInput) != nullptr;
      if (controlled) CHECK(Gather(run, kStartInput, true, &start).ok());
      const auto count = static_cast<uint32_t>(run.requests().size());
      for (uint32_t i = 0; i < count; i++) {
        Request* const request = run.requests()[i];
        auto* const left = static_cast<float*>(request->chunk(*request->input(0)).data);
        if (controlled) Note(request, static_cast<const float*>(start.buffer.data)[i]);
        if (*left > 0 && !request->header->null_row) {
          *left -= 1;
          if (streams) run.Respond(i, Status::Ok(), false);
          run.Reschedule(i);
        } else {
          run.Respond(i, Status::Ok());
        }
      }
      if (is_asynchronous) run.InstanceFree();
    };
    return script;
  }
  // The values of START in a request's rounds.
  std::vector<float> StartsOf(uint32_t slot) {
    const std::lock_guard lock(mutex_);
    return starts_[slot];
  }

 private:
  void Note(const Request* request, float start) {
    if (request->header->null_row) return;
    const std::lock_guard lock(mutex_);
    starts_[request->header->slot].push_back(start);
  }

  std::mutex mutex_;  // guards starts_
  std::map<uint32_t, std::vector<float>> starts_;
};

Request* MakeRounds(SequenceVersion* bench, uint64_t number, const std::string& flags,
                    float rounds) {
  Request* const request = bench->Make(number, flags);
  *static_cast<float*>(request->chunk(*request->input(0)).data) = rounds;
  return request;
}

}  // namespace

TEST(version_runs_iterative_requests_until_they_are_not_rescheduled) {
  for (const bool asynchronous : {false, true}) {
    for (const auto strategy : {kDirect, kOldest}) {
      Rounds rounds;
      SequencePolicy policy = PolicyOf(strategy, 2);
      policy.iterative = true;
      SequenceVersion bench(rounds.Of(asynchronous), ControlledSequencesOf(policy));
      std::vector<Request*> all;
      for (uint32_t i = 0; i < 5; i++) {
        all.push_back(MakeRounds(&bench, 0, "", static_cast<float>(i)));
      }
      bench.Submit(all);
      CHECK(bench.sink.Wait(5));
      CHECK(Eventually([&] { return bench.Empty(); }));
      for (uint32_t i = 0; i < 5; i++) {
        CHECK_EQ(bench.CodeOf(i), Code::kOk);
        std::vector<float> expected(i + 1);
        expected[0] = 1;
        CHECK(rounds.StartsOf(i) == expected);
      }
    }
  }
}

TEST(version_streams_the_rounds_of_iterative_requests) {
  Rounds rounds;
  SequencePolicy policy = PolicyOf(kOldest, 2);
  policy.iterative = true;
  VersionConfig config = SequencesOf(policy);
  config.decoupled = true;
  SequenceVersion bench(rounds.Of(true, true), std::move(config));
  bench.Submit({MakeRounds(&bench, 0, "", 3), MakeRounds(&bench, 0, "", 1)});
  CHECK(bench.sink.Wait(6));
  CHECK_EQ(bench.sink.AllOf(0).size(), 4u);
  CHECK_EQ(bench.sink.AllOf(1).size(), 2u);
  CHECK(Eventually([&] { return bench.Empty(); }));
}

TEST(version_runs_a_rescheduled_request_before_the_others_of_its_sequence_and_after_its_end) {
  Handed handed;
  SequenceVersion bench(handed.Of(true), SequencesOf(PolicyOf(kOldest, 2)));
  bench.Submit({bench.Make(1, "S"), bench.Make(1, "E")});
  handed.run(0).Reschedule(0);
  CHECK_EQ(handed.run(1).requests()[0]->header->slot, 0u);
  handed.run(1).RespondAll(Status::Ok());
  // The last request is queued again, while another sequence has its id.
  CHECK_EQ(handed.run(2).requests()[0]->header->slot, 1u);
  bench.Send(1, "S");
  CHECK_EQ(handed.count(), 4u);
  handed.run(2).Reschedule(0);
  CHECK_EQ(handed.count(), 5u);
  CHECK_EQ(handed.run(4).requests()[0]->header->slot, 1u);
  handed.run(4).RespondAll(Status::Ok());
  CHECK_EQ(bench.counts().live, 1u);
  handed.run(3).RespondAll(Status::Ok());
  CHECK_EQ(bench.counts().idle, 1u);
  bench.CheckCodes({0, 1, 2}, Code::kOk);
}

TEST(version_ends_a_sequence_whose_rescheduled_request_is_cancelled_or_refused) {
  for (const bool aborts : {false, true}) {
    Handed handed;
    SequenceVersion bench(handed.Of(true), SequencesOf(PolicyOf(kDirect, 2)));
    Request* const first = bench.Send(1, "S");
    bench.Send(1, "");
    if (aborts) {
      bench.version().Close();
      bench.version().Abort(Status::Cancelled("cut off"));
      handed.run(0).Reschedule(0);
    } else {
      // It waits, while its run still counts as under way.
      const RunRef reference(handed.run(0));
      bench.Send(2, "S");
      handed.run(0).Reschedule(0);
      CHECK_EQ(handed.count(), 2u);
      handed.run(1).Reschedule(0);
      bench.Cancel(first);
      CHECK_EQ(bench.CodeOf(0), Code::kCancelled);
      CHECK_EQ(bench.CodeOf(1), Code::kCancelled);
      handed.run(1).Respond(1, Status::Ok());
    }
    CHECK_EQ(bench.CodeOf(0), Code::kCancelled);
    CHECK_EQ(bench.CodeOf(1), Code::kCancelled);
    if (aborts) {
      CHECK(bench.version().drained());
      CHECK(bench.Empty());
    } else {
      CHECK_EQ(bench.counts().live, 1u);
    }
  }
}

TEST(version_hands_over_long_sequences_one_batch_after_the_other) {
  // The end of one run begins the next one. If these calls were nested, the stack would not
  // suffice.
  const char* highest = nullptr;
  ptrdiff_t deepest = 0;
  Script script;
  script.asynchronous = true;
  script.execute = [&](uint32_t, Run& run) {
    const char here = 0;
    if (!highest) highest = &here;
    deepest = std::max(deepest, std::abs(highest - &here));
    run.InstanceFree();
    run.RespondAll(Status::Ok());
  };
  for (const bool gated : {false, true}) {
    for (const auto strategy : {kDirect, kOldest}) {
      VersionConfig config = SequencesOf(PolicyOf(strategy, 1));
      if (gated) config.gate = std::make_shared<CountingGate>(1);
      SequenceVersion bench(script, std::move(config));
      std::vector<Request*> all;
      for (int i = 0; i < 2'000; i++) all.push_back(bench.Make(1, i == 0 ? "S" : ""));
      highest = nullptr;
      bench.Submit(all);
      CHECK_EQ(bench.sink.responses().size(), all.size());
    }
  }
  CHECK(deepest < 20'000);
}

TEST(version_does_not_mix_a_generated_id_with_the_same_one_of_a_caller) {
  SequencePolicy policy = PolicyOf(kOldest, 2);
  policy.iterative = true;
  Handed handed;
  SequenceVersion bench(handed.Of(true), SequencesOf(policy));
  Request* const generated = bench.Send(0, "");
  const uint64_t number = generated->sequence().id.number;
  bench.Send(number, "S");
  CHECK_EQ(handed.count(), 2u);
  handed.run(0).RespondAll(Status::Ok());
  // Only the generated sequence has ended.
  CHECK_EQ(bench.counts().live, 1u);
  bench.Send(number, "E");
  handed.run(1).RespondAll(Status::Ok());
  handed.run(2).RespondAll(Status::Ok());
  bench.CheckCodes({0, 1, 2}, Code::kOk);
  CHECK(bench.Empty());
}

}  // namespace tritonts::test
