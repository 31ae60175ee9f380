// Requests that stand for several: how they are counted, cut, answered and refused.
#include <random>

#include "dynamic_scheduler.h"
#include "port_fixture.h"

namespace tritonts::test {

namespace {

using Dims = std::vector<int64_t>;

// A port that joins what is alike.
struct PartsBench : PortBench {
  explicit PartsBench(uint64_t limit = uint64_t{1} << 30) : PortBench(false, limit) {
    client.WriteParts();
  }
  std::vector<uint32_t> WriteEach(size_t count) {
    std::vector<uint32_t> slots;
    for (size_t i = 0; i < count; i++) slots.push_back(Write({static_cast<float>(i)}));
    return slots;
  }
  // Each with its own value, in the order that they were written in.
  void CheckEach(const std::vector<uint32_t>& slots, const std::vector<PortAnswer>& answers) {
    for (size_t i = 0; i < slots.size(); i++) {
      const PortAnswer& answer = AnswerOf(slots[i], answers);
      CHECK(answer.code == Code::kOk);
      CHECK_EQ(answer.outputs[0].bytes, BytesOf<float>({static_cast<float>(i)}));
      CHECK_EQ(answer.outputs[0].shape, (Dims{1, 1}));
    }
  }
};

ModelIo StringsOut(uint32_t max_batch_size) {
  ModelIo io = FloatIo(max_batch_size);
  io.outputs[0].datatype = DataType::kBytes;
  return io;
}

// The rows of each batch that a queue gives at a time.
std::vector<uint32_t> Batches(DynamicScheduler* scheduler, uint64_t now_ns, uint64_t* wake_at_ns) {
  std::vector<uint32_t> batches;
  Decision decision;
  while (true) {
    decision.Clear();
    scheduler->Next(0, now_ns, &decision);
    if (decision.take.empty()) break;
    uint32_t rows = 0;
    for (Schedulable* request : decision.take) {
      uint32_t taken = request->batch_size;
      if (decision.parts_of_last > 0 && request == decision.take.back()) {
        // What a batch does.
        const uint32_t each = request->batch_size / request->parts;
        taken = each * decision.parts_of_last;
        request->parts -= decision.parts_of_last;
        request->batch_size -= taken;
      }
      rows += taken;
    }
    batches.push_back(rows);
  }
  *wake_at_ns = decision.wake_at_ns;
  return batches;
}

}  // namespace

// --- Schedulers.

TEST(parts_run_in_the_batches_that_they_would_run_in_as_requests) {
  std::mt19937 random(7);
  const auto pick = [&](uint32_t most) { return static_cast<uint32_t>(random() % (most + 1)); };
  for (int game = 0; game < 1000; game++) {
    DynamicPolicy policy;
    policy.max_batch_size = pick(3) == 0 ? 0 : 1 + pick(15);
    for (uint32_t size = 1; size <= policy.max_batch_size; size++) {
      if (pick(4) == 0) policy.preferred_batch_sizes.push_back(size);
    }
    policy.max_queue_delay_ns = pick(1) == 0 ? 0 : 1 + pick(20);
    DynamicScheduler joined(policy);
    DynamicScheduler apart(policy);
    std::vector<std::unique_ptr<Schedulable>> requests;
    uint64_t now = 1;
    for (int step = 0; step < 12; step++) {
      now += pick(8);
      Schedulable one;
      one.batch_size = 1 + pick(std::max(1u, std::min(3u, policy.max_batch_size)) - 1);
      one.arrival_ns = now;
      one.shape_key = {pick(1)};
      const uint32_t parts = 1 + pick(20);
      for (uint32_t part = 0; part <= parts; part++) {
        Schedulable& request = *requests.emplace_back(std::make_unique<Schedulable>(one));
        if (part < parts) {
          CHECK(apart.Enqueue(&request, now).ok());
        } else {
          request.parts = parts;
          request.batch_size *= parts;
          CHECK(joined.Enqueue(&request, now).ok());
        }
      }
      if (pick(1) == 0) continue;
      uint64_t wake_apart = 0;
      uint64_t wake_joined = 0;
      CHECK_EQ(Batches(&joined, now, &wake_joined), Batches(&apart, now, &wake_apart));
      CHECK_EQ(wake_joined, wake_apart);
    }
  }
}

// --- Cut by batches.

TEST(parts_that_do_not_fit_a_batch_run_in_the_next_ones) {
  PartsBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo(4), 1, {4, {}, 0}));
  for (int round = 0; round < 3; round++) {
    const auto slots = bench.WriteEach(10);
    bench.CheckEach(slots, bench.client.Take(10));
  }
  const Statistics statistics = bench.statistics();
  CHECK_EQ(statistics.success.count, 30u);
  CHECK_EQ(statistics.inference_count, 30u);
  CHECK_EQ(statistics.execution_count, 9u);
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
}

TEST(parts_of_several_requests_run_together) {
  PartsBench bench;
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(4), 1, {4, {}, 0}));
  const uint32_t first = bench.Write({100});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  // Three and three wait: four and two of them run together.
  std::vector<uint32_t> slots = bench.WriteEach(3);
  CHECK(bench.client.Flush().ok());
  for (size_t i = 3; i < 6; i++) slots.push_back(bench.Write({static_cast<float>(i)}));
  CHECK(bench.client.Flush().ok());
  bench.runs->Open();
  const auto answers = bench.client.Take(7);
  bench.CheckEach(slots, answers);
  CHECK_EQ(AnswerOf(first, answers).outputs[0].bytes, BytesOf<float>({100}));
  CHECK(Eventually([&] { return bench.statistics().execution_count == 3; }));
  CHECK_EQ(bench.statistics().batches.at(4).compute_infer.count, 1u);
  CHECK_EQ(bench.statistics().batches.at(2).compute_infer.count, 1u);
}

TEST(parts_run_alone_where_requests_do) {
  PartsBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo(4), 1, {0, {}, 0}));
  const auto slots = bench.WriteEach(5);
  bench.CheckEach(slots, bench.client.Take(5));
  CHECK(Eventually([&] { return bench.statistics().execution_count == 5; }));
}

TEST(parts_run_on_several_instances) {
  PartsBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo(4), 2, {4, {}, 0}));
  for (int round = 0; round < 50; round++) {
    const auto slots = bench.WriteEach(50);
    bench.CheckEach(slots, bench.client.Take(50));
  }
  CHECK_EQ(bench.statistics().success.count, 2500u);
}

// --- Answers.

TEST(parts_have_their_own_strings_of_what_a_backend_gives_their_request) {
  for (const bool cut : {false, true}) {
    PartsBench bench;
    Script script;
    script.execute = [cut](uint32_t, Batch& batch) {
      for (uint32_t i = 0; i < batch.requests().size(); i++) {
        const Request& request = *batch.requests()[i];
        std::string bytes;
        for (uint32_t row = 0; row < request.batch_size; row++) {
          bytes += static_cast<char>(row);
          bytes += std::string(3, '\0') + std::string(row, 'x');
        }
        // The length of the last one is more than there is.
        if (cut) bytes.pop_back();
        BlockRef block = batch.pool().Acquire(bytes.size());
        std::memcpy(block->data(), bytes.data(), bytes.size());
        const Dims shape = {int64_t{request.batch_size}, 1};
        batch.SetRequestOutput(i, 0, DataType::kBytes, shape, block->data(), bytes.size(),
                               block.get());
        batch.RespondOne(i, Status::Ok());
      }
    };
    bench.ServeScript(std::move(script), ConfigOf(StringsOut(8), 1, {8, {}, 0}));
    const auto slots = bench.WriteEach(4);
    const auto answers = bench.client.Take(4);
    for (size_t i = 0; i < 4; i++) {
      const PortAnswer& answer = AnswerOf(slots[i], answers);
      CHECK(answer.code == (cut && i == 3 ? Code::kInternal : Code::kOk));
      if (answer.code != Code::kOk) continue;
      CHECK_EQ(answer.outputs[0].shape, (Dims{1, 1}));
      CHECK_EQ(answer.outputs[0].bytes,
               std::string{static_cast<char>(i)} + std::string(3, '\0') + std::string(i, 'x'));
    }
  }
}

TEST(parts_fail_each_for_themselves) {
  PartsBench bench;
  Script script;
  script.execute = [](uint32_t, Batch& batch) { batch.Respond(Status::Internal("broken")); };
  bench.ServeScript(std::move(script), ConfigOf(FloatIo(), 1, {8, {}, 0}));
  const auto slots = bench.WriteEach(5);
  const auto answers = bench.client.Take(5);
  for (const uint32_t slot : slots) {
    CHECK(AnswerOf(slot, answers).code == Code::kInternal);
    CHECK_EQ(AnswerOf(slot, answers).message, "broken");
  }
  CHECK(Eventually([&] { return bench.statistics().fail.count == 5; }));
}

TEST(parts_are_cancelled_where_they_wait_and_where_they_run) {
  PartsBench bench;
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(4), 1, {4, {}, 0}));
  const auto slots = bench.WriteEach(10);
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  bench.client.Cancel(slots[0]);
  bench.runs->Open();
  const auto answers = bench.client.Take(10);
  for (size_t i = 0; i < 10; i++) {
    CHECK(AnswerOf(slots[i], answers).code == Code::kCancelled);
  }
  CHECK(Eventually([&] { return bench.statistics().cancelled == 10; }));
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
  // The slot is free again, as a whole.
  const auto again = bench.WriteEach(10);
  bench.CheckEach(again, bench.client.Take(10));
}

// --- Bytes in flight.

TEST(parts_beyond_the_limit_are_refused_and_those_within_it_are_not) {
  // 8 bytes each with what comes out.
  PartsBench bench(50);
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(), 1, {8, {}, 0}));
  std::vector<uint32_t> slots = bench.WriteEach(10);
  auto answers = bench.client.Take(4);
  for (size_t i = 6; i < 10; i++) {
    CHECK(AnswerOf(slots[i], answers).code == Code::kUnavailable);
    CHECK(AnswerOf(slots[i], answers).limited);
  }
  CHECK_EQ(bench.server.server().in_flight_bytes(), 48u);
  bench.runs->Open();
  answers = bench.client.Take(6);
  slots.resize(6);
  bench.CheckEach(slots, answers);
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
  const auto again = bench.WriteEach(6);
  bench.CheckEach(again, bench.client.Take(6));
}

TEST(parts_that_are_too_big_for_the_limit_alone_are_refused_for_good) {
  PartsBench bench(7);
  bench.ServeIdentity(ConfigOf(FloatIo(), 1, {8, {}, 0}));
  const auto slots = bench.WriteEach(3);
  const auto answers = bench.client.Take(3);
  for (const uint32_t slot : slots) {
    CHECK(AnswerOf(slot, answers).code == Code::kInvalidArg);
    CHECK(!AnswerOf(slot, answers).limited);
  }
}

}  // namespace tritonts::test
