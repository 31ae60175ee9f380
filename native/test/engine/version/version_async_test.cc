// Asynchronous instances of a version, which get their batches on the thread that found the batch.
#include "handed_runs.h"

namespace tritonts::test {

TEST(version_hands_a_batch_to_an_asynchronous_instance_on_the_thread_that_found_it) {
  Handed handed;
  VersionBench bench(handed.Of(false), ConfigOf(FloatIo(), 1, {8, {}, 0}));
  bench.Send({1});
  CHECK_EQ(handed.count(), 1u);
  CHECK(handed.thread(0) == std::this_thread::get_id());
  bench.Send({2});
  bench.Send({3});
  CHECK_EQ(handed.count(), 1u);
  // The thread that frees the instance of the first batch hands the next one over.
  std::thread other([&] { handed.run(0).InstanceFree(); });
  const std::thread::id id = other.get_id();
  other.join();
  CHECK_EQ(handed.count(), 2u);
  CHECK(handed.thread(1) == id);
  CHECK_EQ(handed.run(1).total_batch_size(), 2u);
  CHECK(bench.sink.responses().empty());
  handed.run(1).RespondAll(Status::Ok());
  handed.run(0).RespondAll(Status::Ok());
  handed.run(1).InstanceFree();
  CHECK_EQ(bench.sink.responses().size(), 3u);
  CHECK(bench.version().drained());
  CHECK_EQ(bench.version().statistics().success.count, 3u);
}

TEST(version_has_several_runs_of_an_asynchronous_instance_under_way) {
  Handed handed;
  VersionBench bench(handed.Of(true), ConfigOf(FloatIo()));
  for (int i = 0; i < 100; i++) bench.Send({static_cast<float>(i)});
  CHECK_EQ(handed.count(), 100u);
  CHECK(!bench.version().drained());
  for (size_t i = 100; i > 0; i--) handed.run(i - 1).RespondAll(Status::Ok());
  for (uint32_t i = 0; i < 100; i++) CHECK(bench.sink.Of(i).status.ok());
  CHECK(bench.version().drained());
}

TEST(version_hands_over_one_batch_after_the_other_however_many_there_are) {
  // Calls of Execute are not nested, because the stack would not suffice.
  size_t depth = 0;
  size_t deepest = 0;
  Script script;
  script.asynchronous = true;
  script.execute = [&](uint32_t, Run& run) {
    deepest = std::max(deepest, ++depth);
    run.InstanceFree();
    run.RespondAll(Status::Ok());
    depth--;
  };
  VersionBench bench(std::move(script), ConfigOf(FloatIo()));
  std::vector<Request*> chosen;
  for (int i = 0; i < 20'000; i++) chosen.push_back(bench.requests.Floats({1}));
  bench.Submit(chosen);
  CHECK_EQ(bench.sink.responses().size(), chosen.size());
  CHECK_EQ(deepest, 1u);
}

TEST(version_hands_over_from_its_timer_when_a_delay_is_over) {
  Handed handed;
  VersionBench bench(handed.Of(true), ConfigOf(FloatIo(), 1, {8, {}, 2'000'000}));
  bench.Send({1});
  CHECK_EQ(handed.count(), 0u);
  CHECK(Eventually([&] { return handed.count() == 1; }));
  CHECK(handed.thread(0) != std::this_thread::get_id());
  handed.run(0).RespondAll(Status::Ok());
}

TEST(version_fails_a_batch_whose_hand_over_throws_and_goes_on) {
  std::atomic<int> calls{0};
  Script script;
  script.asynchronous = true;
  script.execute = [&](uint32_t, Run& run) {
    if (calls++ == 0) throw std::runtime_error("thrown");
    run.RespondAll(Status::Ok());
    run.InstanceFree();
  };
  VersionBench bench(std::move(script), ConfigOf(FloatIo()));
  bench.Send({1});
  bench.Send({2});
  CHECK(bench.sink.Of(0).status.code() == Code::kInternal);
  CHECK(bench.sink.Of(1).status.ok());
}

TEST(version_abandons_asynchronous_runs_that_nobody_ends) {
  auto handed = std::make_shared<Handed>();
  {
    VersionBench bench(handed->Of(true), ConfigOf(FloatIo()));
    bench.Send({1});
    bench.Send({2});
    handed->run(1).RespondAll(Status::Ok());
    bench.version().Close();
    bench.version().Abort(Status::Cancelled("closed"));
    CHECK(!bench.version().drained());
    bench.Abandon();
    CHECK(bench.sink.Of(0).abandoned);
    CHECK(bench.sink.Of(0).status.code() == Code::kInternal);
    CHECK_EQ(bench.version().statistics().fail.count, 1u);
    // The run responds later, but the response is dropped.
    handed->run(0).RespondAll(Status::Ok());
    CHECK_EQ(bench.sink.responses().size(), 2u);
  }
}

}  // namespace tritonts::test
