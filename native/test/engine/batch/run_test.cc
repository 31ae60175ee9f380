// How a run's responses reach the requests, and its contribution to the statistics.
#include "engine/batch/run.h"

#include <thread>

#include "run_fixture.h"

namespace tritonts::test {

namespace {}  // namespace

TEST(run_gives_every_request_its_own_rows) {
  RunBench bench;
  bench.Begin({bench.requests.Add(2), bench.requests.Add(1), bench.requests.Add(3)});
  CHECK_EQ(bench.run.total_batch_size(), 6u);
  const float rows[] = {1, 2, 3, 4, 5, 6};
  bench.run.SetOutput(0, DataType::kFp32, kOne, rows, sizeof(rows), nullptr);
  bench.run.RespondAll(Status::Ok());
  bench.End();
  CHECK_EQ(bench.sink.responses().size(), 3u);
  CHECK_EQ(bench.sink.Of(0).outputs[0].bytes, BytesOf<float>({1, 2}));
  CHECK_EQ(bench.sink.Of(0).outputs[0].shape, (Dims{2, 1}));
  CHECK_EQ(bench.sink.Of(1).outputs[0].bytes, BytesOf<float>({3}));
  CHECK_EQ(bench.sink.Of(2).outputs[0].bytes, BytesOf<float>({4, 5, 6}));
  CHECK_EQ(bench.sink.Of(2).outputs[0].shape, (Dims{3, 1}));
}

TEST(run_splits_rows_that_vary_in_bytes) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1), bench.requests.Add(2), bench.requests.Add(1)});
  // The strings "a", "bb", "" and "cccc", each after its length.
  const std::string bytes("\1\0\0\0a\2\0\0\0bb\0\0\0\0\4\0\0\0cccc", 23);
  const std::vector<size_t> offsets = {0, 5, 11, 15, 23};
  bench.run.SetRaggedOutput(0, DataType::kBytes, {}, bytes.data(), offsets, nullptr);
  bench.run.RespondAll(Status::Ok());
  bench.End();
  CHECK_EQ(bench.sink.Of(0).outputs[0].bytes, bytes.substr(0, 5));
  CHECK_EQ(bench.sink.Of(1).outputs[0].bytes, bytes.substr(5, 10));
  CHECK_EQ(bench.sink.Of(1).outputs[0].shape, (Dims{2}));
  CHECK_EQ(bench.sink.Of(2).outputs[0].bytes, bytes.substr(15));
}

TEST(run_gives_numbers_and_strings_of_the_same_requests) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1), bench.requests.Add(1)});
  const float rows[] = {1, 2};
  bench.run.SetOutput(0, DataType::kFp32, kOne, rows, sizeof(rows), nullptr);
  const std::string bytes("\1\0\0\0a\1\0\0\0b", 10);
  const std::vector<size_t> offsets = {0, 5, 10};
  bench.run.SetRaggedOutput(1, DataType::kBytes, kOne, bytes.data(), offsets, nullptr);
  bench.run.RespondAll(Status::Ok());
  bench.End();
  for (uint32_t slot = 0; slot < 2; slot++) {
    const SeenResponse response = bench.sink.Of(slot);
    CHECK(response.status.ok());
    CHECK_EQ(response.outputs.size(), 2u);
    CHECK_EQ(response.outputs.at(0).bytes, BytesOf<float>({static_cast<float>(slot + 1)}));
    CHECK_EQ(response.outputs.at(1).bytes, bytes.substr(slot * 5, 5));
  }
}

TEST(run_gives_the_whole_tensor_where_the_model_does_not_batch) {
  RunBench bench(false);
  bench.Begin({bench.requests.Add(1)});
  const float values[] = {1, 2, 3, 4};
  const Dims shape = {2, 2};
  bench.run.SetOutput(0, DataType::kFp32, shape, values, sizeof(values), nullptr);
  bench.run.RespondAll(Status::Ok());
  bench.End();
  CHECK_EQ(bench.sink.Of(0).outputs[0].shape, shape);
  CHECK_EQ(bench.sink.Of(0).outputs[0].bytes.size(), sizeof(values));
}

TEST(run_gives_an_output_of_one_request_to_that_request_only) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1), bench.requests.Add(1)});
  const Dims shape = {1, 1};
  const float value = 5;
  bench.run.SetRequestOutput(1, 0, DataType::kFp32, shape, &value, sizeof(value), nullptr);
  bench.run.RespondAll(Status::Ok());
  bench.End();
  CHECK(bench.sink.Of(0).outputs.empty());
  CHECK_EQ(bench.sink.Of(1).outputs[0].bytes, BytesOf<float>({5}));
  CHECK_EQ(bench.sink.Of(1).outputs[0].shape, shape);
}

TEST(run_leaves_out_outputs_that_a_request_does_not_want) {
  RunBench bench;
  Request* all = bench.requests.Add(1);
  Request* second = bench.requests.Add(1);
  second->header->wanted = {1};
  bench.Begin({all, second});
  const float rows[] = {1, 2};
  bench.run.SetOutput(0, DataType::kFp32, kOne, rows, sizeof(rows), nullptr);
  bench.run.SetOutput(1, DataType::kFp32, kOne, rows, sizeof(rows), nullptr);
  bench.run.RespondAll(Status::Ok());
  bench.End();
  CHECK_EQ(bench.sink.Of(all->header->slot).outputs.size(), 2u);
  const SeenResponse response = bench.sink.Of(second->header->slot);
  CHECK_EQ(response.outputs.size(), 1u);
  CHECK_EQ(response.outputs.at(1).bytes, BytesOf<float>({2}));
}

TEST(run_gives_requests_that_want_the_same_outputs_these_alone) {
  RunBench bench;
  Request* first = bench.requests.Add(1);
  Request* second = bench.requests.Add(1);
  first->header->wanted = second->header->wanted = {1};
  bench.Begin({first, second});
  const float rows[] = {1, 2};
  const float others[] = {3, 4};
  // No request wants it, so its error does not matter.
  bench.run.SetOutput(0, DataType::kFp32, kOne, rows, sizeof(float), nullptr);
  bench.run.SetOutput(1, DataType::kFp32, kOne, others, sizeof(others), nullptr);
  bench.run.RespondAll(Status::Ok());
  bench.End();
  for (const auto& [request, value] : {std::pair(first, 3.0f), std::pair(second, 4.0f)}) {
    const SeenResponse response = bench.sink.Of(request->header->slot);
    CHECK(response.status.ok());
    CHECK_EQ(response.outputs.size(), 1u);
    CHECK_EQ(response.outputs.at(1).bytes, BytesOf<float>({value}));
  }
}

TEST(run_drops_the_rows_of_a_cancelled_request) {
  RunBench bench;
  Request* kept = bench.requests.Add(1);
  Request* cancelled = bench.requests.Add(2);
  bench.Begin({kept, cancelled});
  cancelled->cancelled = true;
  const float rows[] = {1, 2, 3};
  bench.run.SetOutput(0, DataType::kFp32, kOne, rows, sizeof(rows), nullptr);
  bench.run.RespondAll(Status::Ok());
  const Statistics& statistics = bench.End();
  CHECK(bench.sink.Of(kept->header->slot).status.ok());
  CHECK(bench.sink.Of(cancelled->header->slot).status.code() == Code::kCancelled);
  CHECK(bench.sink.Of(cancelled->header->slot).outputs.empty());
  CHECK_EQ(statistics.success.count, 1u);
  CHECK_EQ(statistics.fail.count, 1u);
  CHECK_EQ(statistics.cancelled, 1u);
  CHECK_EQ(statistics.inference_count, 1u);
}

TEST(run_fails_what_the_backend_leaves_open) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1), bench.requests.Add(1)});
  bench.run.Respond(1, Status::Ok());
  const Statistics& statistics = bench.End();
  CHECK_EQ(bench.sink.responses().size(), 2u);
  CHECK(bench.sink.Of(0).status.code() == Code::kInternal);
  CHECK(bench.sink.Of(0).status.message().find("'m'") != std::string::npos);
  CHECK(bench.sink.Of(1).status.ok());
  CHECK_EQ(statistics.success.count, 1u);
  CHECK_EQ(statistics.fail.count, 1u);
}

TEST(run_responds_to_a_request_once_however_often_the_backend_does) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1), bench.requests.Add(1)});
  bench.run.Respond(0, Status::Unavailable(Reason::kNotReady, "first"));
  bench.run.Respond(0, Status::Ok());
  bench.run.RespondAll(Status::Ok());
  bench.run.RespondAll(Status::Internal("late"));
  bench.run.Respond(1, Status::Internal("late"));
  bench.End();
  CHECK_EQ(bench.sink.responses().size(), 2u);
  CHECK_EQ(bench.sink.Of(0).status.message(), "first");
  CHECK(bench.sink.Of(1).status.ok());
}

TEST(run_tells_every_sink_its_own_responses) {
  RunBench bench;
  RecordingSink other;
  Requests others(&other);
  Request* mine[] = {bench.requests.Add(1), bench.requests.Add(1)};
  Request* theirs = others.Add(1);
  bench.Begin({mine[0], theirs, mine[1]});
  const float rows[] = {1, 2, 3};
  bench.run.SetOutput(0, DataType::kFp32, kOne, rows, sizeof(rows), nullptr);
  bench.run.RespondAll(Status::Ok());
  bench.End();
  CHECK_EQ(bench.sink.responses().size(), 2u);
  CHECK_EQ(bench.sink.Of(1).outputs[0].bytes, BytesOf<float>({3}));
  CHECK_EQ(other.responses().size(), 1u);
  CHECK_EQ(other.Of(0).outputs[0].bytes, BytesOf<float>({2}));
}

TEST(run_holds_the_blocks_of_outputs_until_it_ends) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1)});
  {
    const BlockRef block = bench.pool.Acquire(sizeof(float));
    bench.run.SetOutput(0, DataType::kFp32, kOne, block->data(), sizeof(float), block.get());
  }
  CHECK_EQ(bench.pool.idle_bytes(), 0u);
  bench.run.RespondAll(Status::Ok());
  bench.End();
  CHECK(bench.pool.idle_bytes() > 0);
}

TEST(run_can_be_used_again) {
  RunBench bench;
  for (uint32_t round = 0; round < 3; round++) {
    bench.Begin({bench.requests.Add(1)});
    const auto value = static_cast<float>(round);
    bench.run.SetOutput(0, DataType::kFp32, kOne, &value, sizeof(value), nullptr);
    bench.run.RespondAll(Status::Ok());
    bench.End();
    CHECK_EQ(bench.sink.Of(round).outputs[0].bytes, BytesOf<float>({value}));
    CHECK_EQ(bench.sink.Of(round).timings.batch, round + 1);
  }
}

// --- Times and statistics.

TEST(run_times_run_in_order_and_add_up_to_the_statistics) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1), bench.requests.Add(2)});
  bench.run.MarkInputsReady();
  bench.run.MarkComputed();
  bench.run.RespondAll(Status::Ok());
  const Statistics& statistics = bench.End();
  const BatchTimings times = bench.sink.Of(0).timings;
  CHECK(times.exec_start_ns <= times.compute_start_ns);
  CHECK(times.compute_start_ns <= times.compute_end_ns);
  CHECK(times.compute_end_ns <= times.exec_end_ns);
  CHECK_EQ(times.batch_size, 3u);
  const uint64_t input = times.compute_start_ns - times.exec_start_ns;
  const uint64_t infer = times.compute_end_ns - times.compute_start_ns;
  const uint64_t output = times.exec_end_ns - times.compute_end_ns;
  CHECK_EQ(statistics.execution_count, 1u);
  CHECK_EQ(statistics.inference_count, 3u);
  CHECK_EQ(statistics.success.count, 2u);
  CHECK_EQ(statistics.queue.count, 2u);
  // The durations of a batch count once for each of its requests, and once for the batch.
  CHECK_EQ(statistics.compute_input.ns, 2 * input);
  CHECK_EQ(statistics.compute_infer.ns, 2 * infer);
  CHECK_EQ(statistics.compute_output.ns, 2 * output);
  CHECK_EQ(statistics.batches.size(), 1u);
  CHECK_EQ(statistics.batches.at(3).compute_infer.count, 1u);
  CHECK_EQ(statistics.batches.at(3).compute_infer.ns, infer);
  CHECK(statistics.last_inference_ms > 0);
}

TEST(run_counts_the_time_in_the_queue_from_the_arrival) {
  RunBench bench;
  Request* request = bench.requests.Add(1);
  request->header->arrival_ns -= 1'000'000;
  bench.Begin({request});
  bench.run.RespondAll(Status::Ok());
  const Statistics& statistics = bench.End();
  const BatchTimings times = bench.sink.Of(0).timings;
  CHECK_EQ(statistics.queue.ns, times.exec_start_ns - request->header->arrival_ns);
  CHECK(statistics.queue.ns >= 1'000'000);
  CHECK_EQ(statistics.success.ns, times.exec_end_ns - request->header->arrival_ns);
}

TEST(run_that_marks_nothing_spent_its_time_on_inputs) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1)});
  bench.run.RespondAll(Status::Ok());
  bench.End();
  const BatchTimings times = bench.sink.Of(0).timings;
  CHECK_EQ(times.compute_start_ns, times.exec_end_ns);
  CHECK_EQ(times.compute_end_ns, times.exec_end_ns);
}

TEST(run_that_responds_to_one_request_before_it_computes_keeps_its_times_in_order) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1), bench.requests.Add(1)});
  bench.run.Respond(0, Status::InvalidArg("no"));
  bench.run.MarkInputsReady();
  bench.run.MarkComputed();
  bench.run.RespondAll(Status::Ok());
  const Statistics& statistics = bench.End();
  for (const uint32_t slot : {0u, 1u}) {
    const BatchTimings times = bench.sink.Of(slot).timings;
    CHECK(times.exec_start_ns <= times.compute_start_ns);
    CHECK(times.compute_start_ns <= times.compute_end_ns);
    CHECK(times.compute_end_ns <= times.exec_end_ns);
  }
  CHECK(statistics.compute_infer.ns < 60'000'000'000);
}

TEST(run_with_marks_in_the_wrong_order_keeps_its_times_in_order) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1)});
  bench.run.MarkComputed();
  // Wait until the clock has advanced.
  const uint64_t before = NowNs();
  Eventually([&] { return NowNs() > before; });
  bench.run.MarkInputsReady();
  bench.run.RespondAll(Status::Ok());
  bench.End();
  const BatchTimings times = bench.sink.Of(0).timings;
  CHECK(times.compute_start_ns <= times.compute_end_ns);
}

TEST(run_that_failed_counts_as_executed_but_has_no_rows_or_durations) {
  RunBench bench;
  bench.Begin({bench.requests.Add(2)});
  bench.run.RespondAll(Status::Unavailable(Reason::kNotReady, "no"));
  const Statistics& statistics = bench.End();
  CHECK_EQ(statistics.execution_count, 1u);
  CHECK_EQ(statistics.inference_count, 0u);
  CHECK_EQ(statistics.success.count, 0u);
  CHECK_EQ(statistics.fail.count, 1u);
  CHECK(statistics.fail.ns > 0);
  CHECK_EQ(statistics.cancelled, 0u);
  CHECK_EQ(statistics.queue.count, 0u);
  CHECK_EQ(statistics.compute_infer.count, 0u);
  CHECK(statistics.batches.empty());
}

TEST(run_statistics_add_up_over_runs_by_rows) {
  RunBench bench;
  for (const uint32_t rows : {2u, 1u, 2u}) {
    bench.Begin({bench.requests.Add(rows)});
    bench.run.RespondAll(Status::Ok());
    bench.End();
  }
  CHECK_EQ(bench.statistics.execution_count, 3u);
  CHECK_EQ(bench.statistics.inference_count, 5u);
  CHECK_EQ(bench.statistics.batches.at(1).compute_infer.count, 1u);
  CHECK_EQ(bench.statistics.batches.at(2).compute_infer.count, 2u);
}

// --- Abandoning a run.

TEST(run_that_is_abandoned_responds_to_open_requests_and_then_to_none) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1), bench.requests.Add(1)});
  bench.run.Respond(0, Status::Ok());
  bench.run.Abandon(Status::Internal("abandoned"));
  bench.run.RespondAll(Status::Ok());
  CHECK(!bench.run.Returned());
  CHECK_EQ(bench.sink.responses().size(), 2u);
  CHECK(bench.sink.Of(0).status.ok());
  CHECK(!bench.sink.Of(0).abandoned);
  CHECK_EQ(bench.sink.Of(1).status.message(), "abandoned");
  CHECK(bench.sink.Of(1).abandoned);
}

TEST(run_abandoned_while_its_thread_responds_gives_every_request_one_response) {
  for (int round = 0; round < 100; round++) {
    RunBench bench;
    std::vector<Request*> chosen;
    for (int i = 0; i < 4; i++) chosen.push_back(bench.requests.Add(1));
    bench.Begin(chosen);
    std::thread running([&] {
      bench.run.MarkInputsReady();
      bench.run.Respond(2, Status::Ok());
      bench.run.MarkComputed();
      bench.run.RespondAll(Status::Ok());
      (void)bench.run.Returned();
    });
    bench.run.Abandon(Status::Internal("abandoned"));
    running.join();
    for (uint32_t slot = 0; slot < 4; slot++) bench.sink.Of(slot);
    CHECK_EQ(bench.sink.responses().size(), 4u);
  }
}

}  // namespace tritonts::test
