// A run's promises to a backend: responses at any time and from any thread.
#include <thread>

#include "run_fixture.h"

namespace tritonts::test {

// --- Many responses.

TEST(run_responds_to_a_request_until_its_final_response) {
  RunBench bench;
  bench.context.decoupled = true;
  bench.Begin({bench.requests.Add(1), bench.requests.Add(1)});
  for (const float value : {1.f, 2.f, 3.f}) {
    bench.run.SetRequestOutput(0, 0, DataType::kFp32, kOneRow, &value, sizeof(value), nullptr);
    bench.run.Respond(0, Status::Ok(), value == 3);
  }
  bench.run.Respond(0, Status::Ok(), false);
  bench.run.RespondAll(Status::Ok());
  const Statistics& statistics = bench.End();
  const std::vector<SeenResponse> responses = bench.sink.AllOf(0);
  CHECK_EQ(responses.size(), 3u);
  for (size_t i = 0; i < responses.size(); i++) {
    CHECK_EQ(responses[i].outputs.at(0).bytes, BytesOf<float>({static_cast<float>(i + 1)}));
    CHECK_EQ(responses[i].final, i == 2);
  }
  CHECK(bench.sink.Of(1).final);
  CHECK_EQ(statistics.success.count, 2u);
  CHECK_EQ(statistics.inference_count, 2u);
}

TEST(run_gives_a_response_what_was_declared_for_it_and_the_next_one_nothing_of_that) {
  RunBench bench;
  bench.context.decoupled = true;
  bench.Begin({bench.requests.Add(1), bench.requests.Add(1)});
  const float rows[] = {1, 2};
  bench.run.SetOutput(0, DataType::kFp32, kOne, rows, sizeof(rows), nullptr);
  bench.run.RespondAll(Status::Ok(), false);
  bench.run.RespondAll(Status::Ok());
  bench.End();
  for (const uint32_t slot : {0u, 1u}) {
    const std::vector<SeenResponse> responses = bench.sink.AllOf(slot);
    CHECK_EQ(responses.size(), 2u);
    CHECK_EQ(responses[0].outputs.at(0).bytes, BytesOf<float>({rows[slot]}));
    CHECK(responses[1].outputs.empty());
  }
}

TEST(run_replaces_an_output_that_is_declared_again) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1)});
  for (const float value : {1.f, 2.f}) {
    const BlockRef block = bench.pool.Acquire(sizeof(value));
    std::memcpy(block->data(), &value, sizeof(value));
    bench.run.SetOutput(0, DataType::kFp32, kOne, block->data(), sizeof(value), block.get());
    bench.run.SetRequestOutput(0, 1, DataType::kFp32, kOneRow, block->data(), sizeof(value),
                               block.get());
  }
  bench.run.RespondAll(Status::Ok());
  bench.End();
  CHECK_EQ(bench.sink.Of(0).outputs.at(0).bytes, BytesOf<float>({2}));
  CHECK_EQ(bench.sink.Of(0).outputs.at(1).bytes, BytesOf<float>({2}));
}

TEST(run_frees_the_memory_of_a_response_when_it_is_delivered) {
  RunBench bench;
  bench.context.decoupled = true;
  bench.Begin({bench.requests.Add(1)});
  for (int i = 0; i < 100; i++) {
    const BlockRef block = bench.pool.Acquire(sizeof(float));
    bench.run.SetRequestOutput(0, 0, DataType::kFp32, kOneRow, block->data(), sizeof(float),
                               block.get());
    bench.run.Respond(0, Status::Ok(), false);
  }
  // One block was recycled.
  CHECK_EQ(bench.pool.idle_bytes(), 4096u);
  bench.run.RespondAll(Status::Ok());
  bench.End();
}

TEST(run_drops_responses_to_a_cancelled_request_but_the_final_one) {
  RunBench bench;
  bench.context.decoupled = true;
  Request* request = bench.requests.Add(1);
  bench.Begin({request});
  request->cancelled = true;
  bench.run.Respond(0, Status::Ok(), false);
  CHECK(bench.sink.responses().empty());
  bench.run.Respond(0, Status::Ok());
  bench.End();
  CHECK(bench.sink.Of(0).status.code() == Code::kCancelled);
}

TEST(run_delivers_responses_to_one_request_one_after_the_other) {
  // Two threads respond. The final response comes last, and later ones are dropped.
  for (int round = 0; round < 200; round++) {
    RunBench bench;
    bench.context.decoupled = true;
    bench.Begin({bench.requests.Add(1)});
    std::thread streaming([&] {
      for (int i = 0; i < 20; i++) bench.run.Respond(0, Status::Ok(), false);
    });
    bench.run.Respond(0, Status::Ok());
    streaming.join();
    bench.End();
    const std::vector<SeenResponse> responses = bench.sink.responses();
    CHECK(responses.back().final);
    for (size_t i = 0; i + 1 < responses.size(); i++) CHECK(!responses[i].final);
  }
}

TEST(run_takes_responses_of_many_threads_each_to_its_own_request) {
  constexpr uint32_t kThreads = 8;
  for (int round = 0; round < 50; round++) {
    RunBench bench;
    bench.context.decoupled = true;
    std::vector<Request*> chosen;
    for (uint32_t i = 0; i < kThreads; i++) chosen.push_back(bench.requests.Add(1));
    bench.Begin(chosen);
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < kThreads; i++) {
      threads.emplace_back([&bench, i] {
        for (uint32_t k = 0; k < 5; k++) {
          auto place = bench.run.Output(i, 0, DataType::kUint32, kOneRow);
          *static_cast<uint32_t*>(place.value().data) = i * 10 + k;
          bench.run.Respond(i, Status::Ok(), k == 4);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const Statistics& statistics = bench.End();
    CHECK_EQ(statistics.success.count, kThreads);
    for (uint32_t i = 0; i < kThreads; i++) {
      const std::vector<SeenResponse> responses = bench.sink.AllOf(i);
      CHECK_EQ(responses.size(), 5u);
      for (uint32_t k = 0; k < responses.size(); k++) {
        CHECK_EQ(responses[k].outputs.at(0).bytes, BytesOf<uint32_t>({i * 10 + k}));
      }
    }
  }
}

// --- Three lives.

TEST(run_of_an_asynchronous_instance_is_done_with_its_last_request) {
  RunBench bench(true, true);
  bench.Begin({bench.requests.Add(1), bench.requests.Add(1)});
  CHECK(bench.run.Returned());
  CHECK(!bench.run.EndExecute(false));
  CHECK(bench.sink.responses().empty());
  bench.run.InstanceFree();
  bench.run.InstanceFree();
  CHECK_EQ(bench.owner->freed.load(), 1);
  bench.run.Respond(1, Status::Ok());
  CHECK_EQ(bench.owner->done.load(), 0);
  bench.run.Respond(0, Status::Ok());
  CHECK_EQ(bench.owner->done.load(), 1);
  bench.run.Account(&bench.statistics);
  CHECK_EQ(bench.statistics.success.count, 2u);
}

TEST(run_of_an_asynchronous_instance_waits_until_that_is_free) {
  RunBench bench(true, true);
  bench.Begin({bench.requests.Add(1)});
  bench.run.RespondAll(Status::Ok());
  CHECK(bench.run.Returned());
  CHECK(!bench.run.EndExecute(false));
  CHECK_EQ(bench.owner->done.load(), 0);
  bench.run.InstanceFree();
  CHECK_EQ(bench.owner->done.load(), 1);
  bench.run.Account(&bench.statistics);
}

TEST(run_is_not_done_while_execute_is_under_way) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1)});
  bench.run.InstanceFree();
  bench.run.RespondAll(Status::Ok());
  CHECK_EQ(bench.owner->freed.load(), 1);
  CHECK_EQ(bench.owner->done.load(), 0);
  bench.End();
  CHECK_EQ(bench.statistics.success.count, 1u);
}

TEST(run_that_somebody_holds_is_nobody_elses) {
  RunPool::Owner pool = RunPool::Make();
  PooledRun* first = pool->Take();
  RunRef held(*first);
  first->Drop();
  PooledRun* second = pool->Take();
  CHECK(second != first);
  const RunRef copied = held;
  held = RunRef();
  PooledRun* third = pool->Take();
  CHECK(third != first);
  second->Drop();
  third->Drop();
  // The run is freed with its last reference, and the pool with it.
  pool.reset();
}

TEST(run_ignores_what_is_said_to_it_after_it_is_done) {
  RunBench bench;
  bench.context.decoupled = true;
  Request* const request = bench.requests.Add(1);
  bench.Begin({request});
  const RunRef late(bench.run);
  bench.run.RespondAll(Status::Ok());
  bench.End();
  // The request is its sink's again, which may free it: nothing reads it.
  request->header = nullptr;
  const float value = 1;
  late->Respond(0, Status::Internal("late"));
  late->RespondAll(Status::Internal("late"), false);
  late->SetRequestOutput(0, 0, DataType::kFp32, kOneRow, &value, sizeof(value), nullptr);
  CHECK(late->Output(0, 0, DataType::kFp32, kOneRow).status().code() == Code::kCancelled);
  CHECK(late->Output(Run::kAll, 0, DataType::kFp32, kOne).status().code() == Code::kCancelled);
  late->Release(0);
  late->Reschedule(0);
  late->InstanceFree();
  CHECK(bench.sink.Of(0).status.ok());
  CHECK(bench.owner->rescheduled.empty());
  CHECK_EQ(bench.owner->freed.load(), 0);
}

// --- Inputs.

TEST(run_gives_inputs_back_before_the_final_response) {
  RunBench bench;
  Request* one = bench.requests.Add(1);
  const BlockRef block = bench.pool.Acquire(4);
  bench.requests.Place(one, 0, DataType::kFp32, {1, 1}, block->data(), 4);
  one->header->inputs()[0].first_chunks[0].owner = block;
  Request* other = bench.requests.Floats({1});
  bench.Begin({one, other});
  bench.run.Release(0);
  CHECK_EQ(one->chunks(one->inputs()[0]), 0u);
  CHECK_EQ(other->chunks(other->inputs()[0]), 1u);
  bench.run.Release(Run::kAll);
  CHECK_EQ(other->chunks(other->inputs()[0]), 0u);
  bench.run.RespondAll(Status::Ok());
  bench.End();
  CHECK_EQ(bench.sink.responses().size(), 2u);
}

TEST(run_queues_a_request_again_with_its_inputs) {
  RunBench bench;
  Request* again = bench.requests.Floats({1});
  bench.Begin({again, bench.requests.Floats({2})});
  bench.run.Reschedule(0);
  bench.run.RespondAll(Status::Ok());
  const Statistics& statistics = bench.End();
  CHECK_EQ(bench.owner->rescheduled, (std::vector<Request*>{again}));
  CHECK(again->state() == Request::State::kQueued);
  CHECK_EQ(again->chunks(again->inputs()[0]), 1u);
  CHECK_EQ(bench.sink.responses().size(), 1u);
  CHECK_EQ(statistics.success.count, 1u);
  CHECK_EQ(statistics.execution_count, 1u);
}

// --- Any number of responses, or one.

TEST(run_of_a_model_that_is_not_decoupled_ends_with_an_error_where_a_response_is_not_final) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1), bench.requests.Add(1), bench.requests.Add(1)});
  bench.run.Respond(0, Status::Ok(), false);
  bench.run.Respond(0, Status::Ok());
  bench.run.EndResponses(1);
  bench.run.Respond(2, Status::Unavailable(Reason::kNotReady, "its own"), false);
  bench.End();
  for (const uint32_t slot : {0u, 1u}) {
    const std::vector<SeenResponse> responses = bench.sink.AllOf(slot);
    CHECK_EQ(responses.size(), 1u);
    CHECK(responses[0].final);
    CHECK(responses[0].status.code() == Code::kInternal);
    CHECK(responses[0].status.message().find("expected a single response") != std::string::npos);
  }
  CHECK_EQ(bench.sink.Of(2).status.message(), "its own");
}

TEST(run_of_a_decoupled_model_goes_on_when_a_blocking_execute_has_returned) {
  RunBench bench;
  bench.context.decoupled = true;
  bench.Begin({bench.requests.Add(1)});
  CHECK(bench.run.Returned());
  CHECK(!bench.run.EndExecute(bench.run.FreeInstance()));
  CHECK(bench.sink.responses().empty());
  bench.run.Respond(0, Status::Ok(), false);
  bench.run.EndResponses(0);
  CHECK_EQ(bench.owner->done.load(), 1);
  bench.run.Account(&bench.statistics);
  CHECK_EQ(bench.statistics.success.count, 1u);
  const std::vector<SeenResponse> responses = bench.sink.AllOf(0);
  CHECK_EQ(responses.size(), 2u);
  CHECK(!responses[0].final);
  CHECK(responses[1].final);
}

}  // namespace tritonts::test
