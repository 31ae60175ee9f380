// Instances of a version that come and go while it serves.
#include "sequence_fixture.h"

namespace tritonts::test {

namespace {

InstanceSpec Named(const std::string& name) {
  return {name, 0, MemoryKind::kHost, 0};
}

Status Change(ModelVersion* version, const std::vector<uint32_t>& removed,
              std::vector<InstanceSpec> added, std::vector<uint32_t>* numbers) {
  return version->ChangeInstances(removed, std::move(added), nullptr, {}, numbers);
}

}  // namespace

TEST(version_runs_on_an_instance_that_was_added) {
  BusyVersion bench(ConfigOf(FloatIo(1)));
  bench.Send({1});
  std::vector<uint32_t> numbers;
  CHECK(Change(&bench.version(), {}, {Named("more")}, &numbers).ok());
  CHECK(numbers == (std::vector<uint32_t>{1}));
  // The second request runs beside the first.
  CHECK(bench.runs->Started(2));
  CHECK_EQ(bench.version().batches().instances, 2u);
  bench.runs->Open();
  CHECK(bench.sink.Wait(2));
}

TEST(version_removes_an_instance_behind_its_run_and_uses_its_number_again) {
  BusyVersion bench(ConfigOf(FloatIo(1), 2));
  std::atomic<int> told{0};
  bench.version().OnLeft([&] {
    told++;
    return true;
  });
  bench.Send({1});
  CHECK(bench.runs->Started(2));
  bench.Send({2});
  std::vector<uint32_t> numbers;
  CHECK(Change(&bench.version(), {1}, {}, &numbers).ok());
  CHECK_EQ(bench.version().batches().instances, 1u);
  // It runs, so it is still there.
  bench.version().RemoveLeft();
  CHECK_EQ(told, 0);
  bench.runs->Open();
  CHECK(bench.sink.Wait(3));
  CHECK(Eventually([&] { return told == 1; }));
  bench.version().RemoveLeft();
  for (const Runs::Batch& run : bench.runs->runs()) {
    if (run.slots.front() == 2) CHECK_EQ(run.instance, 0u);
  }
  CHECK(Change(&bench.version(), {}, {Named("more"), Named("most")}, &numbers).ok());
  CHECK(numbers == (std::vector<uint32_t>{1, 2}));
  CHECK_EQ(bench.version().batches().instances, 3u);
}

TEST(version_keeps_live_sequences_when_its_instances_change) {
  for (const auto strategy : {kDirect, kOldest}) {
    const auto runs = std::make_shared<Runs>();
    SequenceVersion bench(ScriptOf(runs), SequencesOf(PolicyOf(strategy, 1), 2));
    std::atomic<int> told{0};
    bench.version().OnLeft([&] {
      told++;
      return true;
    });
    bench.Send(1, "S");
    bench.Send(2, "S");
    bench.Send(3, "S");
    CHECK(bench.sink.Wait(2));
    std::vector<uint32_t> numbers;
    CHECK(Change(&bench.version(), {0, 1}, {Named("more")}, &numbers).ok());
    // The sequence in the backlog runs on the new instance.
    CHECK(bench.sink.Wait(3));
    for (const uint64_t number : {1, 2, 3}) bench.Send(number, "");
    for (const uint64_t number : {1, 2, 3}) bench.Send(number, "E");
    CHECK(bench.sink.Wait(9));
    for (uint32_t i = 0; i < 9; i++) CHECK_EQ(bench.CodeOf(i), Code::kOk);
    CHECK(Eventually([&] { return bench.Empty() && told > 0; }));
    for (const Runs::Batch& run : runs->runs()) {
      for (const uint32_t slot : run.slots) {
        if (slot % 3 == 2) CHECK_EQ(run.instance, 2u);
        if (slot % 3 != 2) CHECK(run.instance < 2);
      }
    }
    CHECK(Eventually([&] {
      bench.version().RemoveLeft();
      return bench.counts().slots == 1;
    }));
    bench.Send(4, "SE");
    CHECK(bench.sink.Wait(10));
    CHECK_EQ(bench.CodeOf(9), Code::kOk);
  }
}

TEST(version_tells_of_a_removed_instance_whose_last_sequence_idles_out) {
  SequencePolicy policy = PolicyOf(kOldest, 1);
  policy.max_idle_ns = 1'000'000;
  SequenceVersion bench(ScriptOf(std::make_shared<Runs>()), SequencesOf(policy, 2));
  std::atomic<int> told{0};
  bench.version().OnLeft([&] {
    told++;
    return true;
  });
  bench.Send(1, "S");
  CHECK(bench.sink.Wait(1));
  std::vector<uint32_t> numbers;
  CHECK(Change(&bench.version(), {0}, {}, &numbers).ok());
  CHECK(Eventually([&] { return told > 0; }));
  bench.version().RemoveLeft();
  CHECK_EQ(bench.counts().slots, 1u);
}

TEST(version_tells_of_a_removed_instance_whose_last_request_is_cancelled) {
  SequencePolicy policy = PolicyOf(kOldest, 2);
  // The request waits for another one.
  policy.dynamic.preferred_batch_sizes = {2};
  policy.dynamic.max_queue_delay_ns = uint64_t{3600} * 1'000'000'000;
  SequenceVersion bench(ScriptOf(std::make_shared<Runs>()), SequencesOf(policy, 2));
  std::atomic<int> told{0};
  bench.version().OnLeft([&] {
    told++;
    return true;
  });
  Request* const waits = bench.Send(1, "S");
  std::vector<uint32_t> numbers;
  CHECK(Change(&bench.version(), {0}, {}, &numbers).ok());
  CHECK_EQ(told, 0);
  Request* const one[] = {waits};
  bench.version().Cancel(one);
  CHECK(bench.sink.Wait(1));
  CHECK_EQ(bench.CodeOf(0), Code::kCancelled);
  CHECK_EQ(told, 1);
  bench.version().RemoveLeft();
  CHECK_EQ(bench.counts().slots, 2u);
}

TEST(version_keeps_its_instances_if_they_cannot_change) {
  BusyVersion bench(ConfigOf(FloatIo(1), 2));
  std::vector<uint32_t> numbers;
  CHECK_EQ(Change(&bench.version(), {0, 1}, {}, &numbers).code(), Code::kUnsupported);
  InstanceSpec device = Named("gpu");
  device.memory = MemoryKind::kDevice;
  CHECK_EQ(Change(&bench.version(), {}, {device}, &numbers).code(), Code::kUnsupported);
  CHECK_EQ(bench.version().batches().instances, 2u);
  bench.runs->Open();
  CHECK(bench.sink.Wait(1));
  bench.version().Close();
  CHECK_EQ(Change(&bench.version(), {}, {Named("more")}, &numbers).code(), Code::kCancelled);
}

}  // namespace tritonts::test
