// Ensembles with decoupled steps: each response of such a step starts the steps behind it.
#include <chrono>
#include <random>
#include <thread>

#include "ensemble_fixture.h"

namespace tritonts::test {

namespace {

// Step 0 is decoupled.
EnsemblePlan DecoupledChain(size_t steps) {
  EnsemblePlan plan = ChainOf(steps);
  plan.steps[0].decoupled = true;
  return plan;
}

VersionConfig DecoupledConfig() {
  VersionConfig config = ConfigOf(FloatIo(8));
  config.decoupled = true;
  return config;
}

// Gives each request as many responses as its value says: 0, 1, 2, …
Script Counting(Status end = Status::Ok()) {
  Script script;
  script.execute = [end](uint32_t, Run& run) {
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      const Request& request = *run.requests()[i];
      const auto count = *static_cast<const float*>(request.chunk(*request.input(0)).data);
      const int64_t shape[] = {1, 1};
      for (float k = 0; k < count; k++) {
        if (!run.UnreadOf(i)) break;
        run.SetRequestOutput(i, 0, DataType::kFp32, shape, &k, sizeof(k), nullptr);
        run.Respond(i, Status::Ok(), false);
      }
      if (end.ok())
        run.EndResponses(i);
      else
        run.Respond(i, end);
    }
  };
  return script;
}

struct StreamsBench : EnsembleBench {
  using EnsembleBench::EnsembleBench;

  // The values of all responses to a request once it has ended, and its code.
  std::vector<float> ValuesOf(Request* request, Code* code) {
    const uint32_t slot = request->header->slot;
    CHECK(Eventually([&] {
      const auto all = sink.AllOf(slot);
      return !all.empty() && all.back().final;
    }));
    std::vector<float> values;
    for (const SeenResponse& response : sink.AllOf(slot)) {
      for (const float value : FloatsOf(response)) values.push_back(value);
      *code = response.status.code();
    }
    return values;
  }
};

std::vector<float> UpTo(int count, float times = 1) {
  std::vector<float> values;
  for (int i = 0; i < count; i++) values.push_back(times * static_cast<float>(i));
  return values;
}

}  // namespace

TEST(ensemble_streams_respond_to_each_response_in_order) {
  StreamsBench bench(DecoupledChain(2),
                     {{Counting(), DecoupledConfig()}, {Adding(0.5f), ConfigOf(FloatIo(8))}});
  CHECK(bench.ensemble().decoupled());
  for (const int count : {0, 1, 7, 300}) {
    Code code = Code::kUnknown;
    std::vector<float> expected = UpTo(count);
    for (float& value : expected) value += 0.5f;
    Request* const request = bench.Send({static_cast<float>(count)});
    CHECK(bench.ValuesOf(request, &code) == expected);
    CHECK(code == Code::kOk);
  }
}

TEST(ensemble_streams_behind_streams_respond_in_order) {
  EnsemblePlan plan = DecoupledChain(3);
  plan.steps[1].decoupled = true;
  StreamsBench bench(std::move(plan), {{Counting(), DecoupledConfig()},
                                       {Counting(), DecoupledConfig()},
                                       {Adding(0), ConfigOf(FloatIo(8))}});
  std::vector<float> expected;
  for (int i = 0; i < 20; i++) {
    for (const float value : UpTo(i)) expected.push_back(value);
  }
  Code code = Code::kUnknown;
  Request* const request = bench.Send({20});
  CHECK(bench.ValuesOf(request, &code) == expected);
  CHECK(code == Code::kOk);
}

TEST(ensemble_streams_end_with_an_error_behind_what_came_before) {
  StreamsBench bench(DecoupledChain(2), {{Counting(Status::Internal("the end")), DecoupledConfig()},
                                         {Adding(0), ConfigOf(FloatIo(8))}});
  Code code = Code::kUnknown;
  Request* const request = bench.Send({40});
  CHECK(bench.ValuesOf(request, &code) == UpTo(40));
  CHECK(code == Code::kInternal);
}

TEST(ensemble_streams_wait_for_a_reader_who_is_slow) {
  StreamsBench bench(DecoupledChain(2),
                     {{Counting(), DecoupledConfig()}, {Adding(0), ConfigOf(FloatIo(8))}});
  StreamCount count;
  count.Begin(nullptr, 0);
  Request* const request = bench.requests.Floats({100});
  request->header->streams = &count;
  bench.Submit({request});
  CHECK(bench.sink.Wait(16));
  // No further response comes before some are read.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_EQ(bench.sink.responses().size(), 16u);
  for (size_t read = 0; read < 100; read++) {
    CHECK(bench.sink.Wait(read + 1));
    count.NoteRead(1, StreamCount::kResponseBytes + sizeof(float));
  }
  Code code = Code::kUnknown;
  CHECK(bench.ValuesOf(request, &code) == UpTo(100));
  CHECK(code == Code::kOk);
}

TEST(ensemble_streams_that_wait_for_their_reader_end_when_cancelled) {
  StreamsBench bench(DecoupledChain(2),
                     {{Counting(), DecoupledConfig()}, {Adding(0), ConfigOf(FloatIo(8))}});
  StreamCount count;
  count.Begin(nullptr, 0);
  Request* const request = bench.requests.Floats({100});
  request->header->streams = &count;
  bench.Submit({request});
  CHECK(bench.sink.Wait(16));
  bench.Cancel(request);
  count.Wake();
  Code code = Code::kUnknown;
  CHECK_EQ(bench.ValuesOf(request, &code).size(), 16u);
  CHECK(code == Code::kCancelled);
}

TEST(ensemble_streams_hold_when_callers_cancel_at_random) {
  EnsemblePlan plan = DecoupledChain(3);
  plan.steps[1].decoupled = true;
  VersionConfig several = ConfigOf(FloatIo(8));
  StreamsBench bench(
      std::move(plan),
      {{Counting(), DecoupledConfig()}, {Counting(), DecoupledConfig()}, {Adding(0), several}});
  std::mt19937 random(7);
  std::vector<std::thread> threads;
  std::vector<std::pair<Request*, bool>> all;
  for (int i = 0; i < 200; i++) {
    Request* const request = bench.Send({static_cast<float>(random() % 12)});
    const bool cancel = random() % 3 == 0;
    all.emplace_back(request, cancel);
    if (cancel && random() % 2 == 0) bench.Cancel(request);
  }
  threads.emplace_back([&] {
    for (const auto& [request, cancel] : all) {
      if (cancel) bench.Cancel(request);
    }
  });
  for (std::thread& thread : threads) thread.join();
  for (const auto& [request, cancel] : all) {
    Code code = Code::kUnknown;
    bench.ValuesOf(request, &code);
    CHECK(code == Code::kOk || (cancel && code == Code::kCancelled));
  }
}

}  // namespace tritonts::test
