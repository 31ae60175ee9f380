// Ensembles: how requests go from step to step.
#include "engine/batch/collector.h"
#include "ensemble_fixture.h"

namespace tritonts::test {

TEST(ensemble_passes_a_request_through_its_steps) {
  EnsembleBench bench(ChainOf(3), {{Adding(1), ConfigOf(FloatIo())},
                                   {Adding(10), ConfigOf(FloatIo())},
                                   {Adding(100), ConfigOf(FloatIo())}});
  bench.Send({1, 2});
  CHECK(bench.sink.Wait(1));
  const SeenResponse seen = bench.sink.Of(0);
  CHECK(seen.status.ok());
  CHECK_EQ(FloatsOf(seen), (Floats{112, 113}));
  CHECK_EQ(seen.outputs.at(0).shape, (std::vector<int64_t>{2, 1}));
  CHECK_EQ(bench.ensemble().statistics().success.count, 1u);
  CHECK_EQ(bench.ensemble().statistics().inference_count, 2u);
}

TEST(ensemble_keeps_the_latencies_of_its_requests) {
  EnsemblePlan plan = ChainOf(2);
  plan.latencies = {true, 7, true, {1000}};
  Script failing;
  failing.execute = [](uint32_t, Run& run) {
    const InputTensor* const input = run.requests()[0]->input(0);
    const Buffer chunk = run.requests()[0]->chunk(*input);
    if (*static_cast<const float*>(chunk.data) < 0) {
      return run.RespondAll(Status::InvalidArg("it is negative"));
    }
    AddTo(run, 1);
  };
  EnsembleBench bench(std::move(plan),
                      {{Adding(1), ConfigOf(FloatIo())}, {failing, ConfigOf(FloatIo())}});
  for (const float value : {1.f, 2.f, -5.f}) bench.Send({value});
  CHECK(bench.sink.Wait(3));
  const double median = 0.5;
  const VersionMetrics metrics = bench.ensemble().metrics({&median, 1});
  CHECK(metrics.histograms);
  const Statistics& statistics = metrics.statistics;
  CHECK_EQ(statistics.success.count, 2u);
  CHECK_EQ(statistics.backend_failed, 1u);
  for (const LatencyHistogram& histogram : metrics.latencies.phases) {
    uint64_t all = 0;
    for (const uint64_t count : histogram.counts()) all += count;
    CHECK_EQ(all, 2u);
  }
  // Of all requests, including the failed one.
  CHECK_EQ(metrics.latencies.first_responses, (std::vector<uint64_t>{3, 0}));
  CHECK_EQ(metrics.quantiles.size(), kLatencyPhases);
  const double request = metrics.quantiles[static_cast<size_t>(LatencyPhase::kRequest)];
  CHECK(request > 0 && request <= static_cast<double>(statistics.success.ns) * 1.01);
}

TEST(ensemble_sends_what_one_delivery_made_ready_together) {
  EnsembleBench bench(ChainOf(3, 64), {{Adding(1), ConfigOf(FloatIo(64), 1, Dynamic(64))},
                                       {Adding(1), ConfigOf(FloatIo(64), 1, Dynamic(64))},
                                       {Adding(1), ConfigOf(FloatIo(64), 1, Dynamic(64))}});
  std::vector<Request*> all;
  for (int i = 0; i < 64; i++) all.push_back(bench.requests.Floats({static_cast<float>(i)}));
  bench.Submit(all);
  CHECK(bench.sink.Wait(64));
  for (uint32_t i = 0; i < 64; i++) {
    CHECK_EQ(FloatsOf(bench.sink.Of(i)), (Floats{static_cast<float>(i + 3)}));
  }
  for (size_t i = 0; i < 3; i++) CHECK_EQ(bench.step(i).statistics().execution_count, 1u);
}

TEST(ensemble_lets_a_group_travel_in_one_piece) {
  EnsembleBench bench(ChainOf(2, 64), {{Adding(1), ConfigOf(FloatIo(64), 1, Dynamic(64))},
                                       {Adding(1), ConfigOf(FloatIo(64), 1, Dynamic(64))}});
  Floats values;
  for (int i = 0; i < 64; i++) values.push_back(static_cast<float>(i));
  Group group(&bench.sink, values);
  bench.Submit(group.all());
  CHECK(bench.sink.Wait(64));
  const auto seen = bench.sink.responses();
  for (uint32_t i = 0; i < 64; i++)
    CHECK_EQ(FloatsOf(seen[i]), (Floats{static_cast<float>(i + 2)}));
  CHECK_EQ(bench.step(1).statistics().execution_count, 1u);
}

TEST(ensemble_passes_tensors_by_reference) {
  // The addresses that the first step writes and the second step reads.
  std::vector<const void*> written;
  std::vector<const void*> read;
  bool copied = false;
  Script first;
  first.execute = [&](uint32_t, Run& run) {
    const size_t bytes = run.total_batch_size() * sizeof(float);
    BlockRef block = run.pool().Acquire(bytes);
    std::memset(block->data(), 0, bytes);
    written.push_back(block->data());
    const int64_t tail[] = {1};
    run.SetOutput(0, DataType::kFp32, tail, block->data(), bytes, block.get());
    run.RespondAll(Status::Ok());
  };
  Script second;
  second.execute = [&](uint32_t, Run& run) {
    for (const Request* request : run.requests()) {
      read.push_back(request->chunk(*request->input(0)).data);
    }
    Gathered gathered;
    CHECK(Gather(run, 0, true, &gathered).ok());
    copied = copied || gathered.copied;
    AddTo(run, 1);
  };
  EnsembleBench bench(ChainOf(2, 64), {{std::move(first), ConfigOf(FloatIo(64), 1, Dynamic(64))},
                                       {std::move(second), ConfigOf(FloatIo(64), 1, Dynamic(64))}});
  Group group(&bench.sink, Floats(64, 1));
  bench.Submit(group.all());
  CHECK(bench.sink.Wait(64));
  CHECK_EQ(written.size(), 1u);
  CHECK_EQ(read.size(), 64u);
  for (size_t i = 0; i < read.size(); i++) {
    CHECK_EQ(read[i], static_cast<const void*>(static_cast<const float*>(written[0]) + i));
  }
  // Not even gathered: the rows of a group are contiguous.
  CHECK(!copied);
}

TEST(ensemble_goes_on_with_a_group_that_was_answered_apart) {
  // The second step runs each row alone, and fails the row 3.
  Script apart;
  apart.execute = [](uint32_t, Run& run) {
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      const Request& request = *run.requests()[i];
      const Buffer chunk = request.chunk(*request.input(0));
      const float value = *static_cast<const float*>(chunk.data) * 2;
      if (value == 6) {
        run.Respond(i, Status::InvalidArg("model 'm': three"));
        continue;
      }
      run.SetRequestOutput(i, 0, DataType::kFp32, request.input(0)->shape, &value, sizeof(value),
                           nullptr);
      run.Respond(i, Status::Ok());
    }
  };
  EnsembleBench bench(ChainOf(3), {{Adding(0), ConfigOf(FloatIo())},
                                   {std::move(apart), ConfigOf(FloatIo())},
                                   {Adding(1), ConfigOf(FloatIo())}});
  for (int round = 0; round < 3; round++) {
    Group group(&bench.sink, {0, 1, 2, 3, 4});
    bench.Submit(group.all());
    CHECK(bench.sink.Wait(static_cast<size_t>(5 * (round + 1))));
    const auto seen = bench.sink.responses();
    for (size_t i = 0; i < 5; i++) {
      const SeenResponse& one = seen[static_cast<size_t>(round) * 5 + i];
      if (i == 3) {
        CHECK_EQ(one.status.message(), "in ensemble 'e', model 'm': three");
        CHECK(one.status.code() == Code::kInvalidArg);
      } else {
        CHECK_EQ(FloatsOf(one), (Floats{static_cast<float>(2 * i + 1)}));
      }
    }
    CHECK(
        Eventually([&] { return bench.ensemble().statistics().fail.count == size_t(round + 1); }));
  }
  CHECK_EQ(bench.ensemble().statistics().backend_failed, 3u);
}

TEST(ensemble_joins_branches_and_prunes_what_nobody_wants) {
  // x -> a -> t1;  x -> b -> t2;  (t1, t2) -> sum -> t3
  EnsemblePlan plan;
  plan.io = FloatIo();
  plan.io.outputs.push_back({"z", DataType::kFp32, {-1, 1}, false});
  plan.tensors = 4;
  plan.outputs = {3, 2};
  plan.steps = {StepOf("a", 0, 1), StepOf("b", 0, 2), {"sum", {{"x", 1}, {"w", 2}}, {{"y", 3}}}};
  ModelIo two = FloatIo();
  two.inputs.push_back({"w", DataType::kFp32, {-1, 1}, false});
  Script sum;
  sum.execute = [](uint32_t, Run& run) {
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      const Request& request = *run.requests()[i];
      const auto at = [&](uint32_t k) {
        return *static_cast<const float*>(request.chunk(*request.input(k)).data);
      };
      const float value = at(0) * 100 + at(1);
      run.SetRequestOutput(i, 0, DataType::kFp32, request.input(0)->shape, &value, sizeof(value),
                           nullptr);
      run.Respond(i, Status::Ok());
    }
  };
  EnsembleBench bench(std::move(plan), {{Adding(1), ConfigOf(FloatIo())},
                                        {Adding(2), ConfigOf(FloatIo())},
                                        {std::move(sum), ConfigOf(two)}});
  bench.Send({1});
  CHECK(bench.sink.Wait(1));
  CHECK_EQ(FloatsOf(bench.sink.Of(0)), (Floats{203}));
  CHECK_EQ(FloatsOf(bench.sink.Of(0), 1), (Floats{3}));
  // Only z is wanted: a and sum do not run.
  Request* request = bench.requests.Floats({5});
  request->header->wanted = {1};
  bench.Submit({request});
  CHECK(bench.sink.Wait(2));
  CHECK_EQ(bench.sink.Of(1).outputs.size(), 1u);
  CHECK_EQ(FloatsOf(bench.sink.Of(1), 1), (Floats{7}));
  CHECK_EQ(bench.step(0).statistics().success.count, 1u);
  CHECK_EQ(bench.step(1).statistics().success.count, 2u);
  CHECK_EQ(bench.step(2).statistics().success.count, 1u);
}

TEST(ensemble_cancels_what_waits_in_a_step) {
  ShutRuns first;
  EnsembleBench bench(ChainOf(2), {{ScriptOf(first.runs), ConfigOf(FloatIo(), 1)},
                                   {Adding(1), ConfigOf(FloatIo())}});
  bench.Send({1});
  CHECK(first.runs->Started(1));
  Request* waits = bench.Send({2});
  bench.Cancel(waits);
  CHECK(bench.sink.Wait(1));
  CHECK(bench.sink.Of(1).status.code() == Code::kCancelled);
  first.runs->Open();
  CHECK(bench.sink.Wait(2));
  CHECK_EQ(FloatsOf(bench.sink.Of(0)), (Floats{2}));
  CHECK_EQ(bench.ensemble().statistics().cancelled, 1u);
  CHECK_EQ(bench.step(1).statistics().success.count, 1u);
}

TEST(ensemble_limits_the_requests_in_a_step) {
  EnsemblePlan plan = ChainOf(2);
  plan.max_inflight = 2;
  Handed handed;
  EnsembleBench bench(std::move(plan),
                      {{handed.Of(true), ConfigOf(FloatIo(1))}, {Adding(1), ConfigOf(FloatIo())}});
  for (int i = 0; i < 6; i++) bench.Send({static_cast<float>(i)});
  for (size_t ended = 0; ended < 6; ended++) {
    CHECK_EQ(handed.count(), std::min<size_t>(6, ended + 2));
    AddTo(handed.run(ended), 0);
    CHECK(bench.sink.Wait(ended + 1));
    // The response may come before the next request was sent.
    CHECK(Eventually([&] { return handed.count() == std::min<size_t>(6, ended + 3); }));
  }
  for (uint32_t i = 0; i < 6; i++) {
    CHECK_EQ(FloatsOf(bench.sink.Of(i)), (Floats{static_cast<float>(i + 1)}));
  }
}

TEST(ensemble_adds_and_removes_a_batch_dimension_of_one) {
  ModelIo flat{0, {{"x", DataType::kFp32, {1}, false}}, {{"y", DataType::kFp32, {1}, false}}};
  Script same;
  same.execute = [](uint32_t, Run& run) {
    const Request& request = *run.requests()[0];
    CHECK_EQ(request.input(0)->shape.size(), 1u);
    const Buffer chunk = request.chunk(*request.input(0));
    run.SetRequestOutput(0, 0, DataType::kFp32, request.input(0)->shape, chunk.data, chunk.size,
                         nullptr);
    run.RespondAll(Status::Ok());
  };
  EnsembleBench bench(ChainOf(2),
                      {{std::move(same), ConfigOf(flat)}, {Adding(1), ConfigOf(FloatIo())}});
  bench.Send({4});
  bench.Send({5, 6});
  CHECK(bench.sink.Wait(2));
  CHECK_EQ(FloatsOf(bench.sink.Of(0)), (Floats{5}));
  CHECK_EQ(bench.sink.Of(0).outputs.at(0).shape, (std::vector<int64_t>{1, 1}));
  CHECK(bench.sink.Of(1).status.code() == Code::kInvalidArg);
}

TEST(ensemble_skips_branches_whose_tensors_never_come) {
  // route -> left or right; each of them makes the result.
  EnsemblePlan plan;
  plan.io = FloatIo();
  plan.conditional = true;
  plan.tensors = 4;
  plan.outputs = {3};
  plan.steps = {
      {"route", {{"x", 0}}, {{"l", 1}, {"r", 2}}}, StepOf("left", 1, 3), StepOf("right", 2, 3)};
  ModelIo fork = FloatIo();
  fork.outputs = {{"l", DataType::kFp32, {-1, 1}, false}, {"r", DataType::kFp32, {-1, 1}, false}};
  Script route;
  route.execute = [](uint32_t, Run& run) {
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      const Request& request = *run.requests()[i];
      const Buffer chunk = request.chunk(*request.input(0));
      const float value = *static_cast<const float*>(chunk.data);
      if (value != 0) {
        run.SetRequestOutput(i, value < 0 ? 0 : 1, DataType::kFp32, request.input(0)->shape,
                             chunk.data, chunk.size, nullptr);
      }
      run.Respond(i, Status::Ok());
    }
  };
  EnsembleBench bench(std::move(plan), {{std::move(route), ConfigOf(fork)},
                                        {Adding(-100), ConfigOf(FloatIo())},
                                        {Adding(100), ConfigOf(FloatIo())}});
  bench.Send({-1});
  bench.Send({1});
  bench.Send({0});
  CHECK(bench.sink.Wait(3));
  CHECK_EQ(FloatsOf(bench.sink.Of(0)), (Floats{-101}));
  CHECK_EQ(FloatsOf(bench.sink.Of(1)), (Floats{101}));
  CHECK(bench.sink.Of(2).status.ok());
  CHECK_EQ(bench.sink.Of(2).outputs.size(), 0u);
  CHECK_EQ(bench.step(1).statistics().success.count, 1u);
  CHECK_EQ(bench.step(2).statistics().success.count, 1u);
}

TEST(ensemble_whose_next_step_is_about_to_be_aborted_ends_as_cancelled) {
  Handed handed;
  EnsembleBench bench(ChainOf(2),
                      {{handed.Of(true), ConfigOf(FloatIo())}, {Adding(1), ConfigOf(FloatIo())}});
  bench.Send({1});
  bench.step(1).Close(Status::Cancelled("cut off"));
  AddTo(handed.run(0), 0);
  CHECK(bench.sink.Wait(1));
  CHECK_EQ(bench.sink.Of(0).status.message(), "in ensemble 'e', cut off");
  CHECK(bench.sink.Of(0).status.code() == Code::kCancelled);
}

TEST(ensemble_that_is_closed_to_be_aborted_ends_what_comes_before_that_no_differently) {
  EnsembleBench bench(ChainOf(1), {{Adding(1), ConfigOf(FloatIo())}});
  bench.ensemble().Close(Status::Cancelled("cut off"));
  bench.Send({1});
  CHECK(bench.sink.Of(0).unserved);
  CHECK_EQ(bench.sink.Of(0).status.message(), "cut off");
}

TEST(ensemble_ends_its_requests_when_it_is_aborted) {
  Handed handed;
  EnsembleBench bench(ChainOf(2),
                      {{handed.Of(true), ConfigOf(FloatIo())}, {Adding(1), ConfigOf(FloatIo())}});
  bench.Send({1});
  CHECK_EQ(handed.count(), 1u);
  bench.ensemble().Close();
  bench.ensemble().Abort(Status::Cancelled("closed"));
  CHECK(!bench.ensemble().drained());
  AddTo(handed.run(0), 0);
  CHECK(bench.sink.Wait(1));
  CHECK_EQ(bench.sink.Of(0).status.message(), "closed");
  CHECK_EQ(bench.step(1).statistics().success.count, 0u);
}

}  // namespace tritonts::test
