// Requests of C callers: what they get, and what is refused.
#include <array>
#include <cstring>
#include <limits>
#include <thread>

#include "c_api_fixture.h"
#include "units.h"

namespace tritonts::test {

namespace {

// Adds 1 to input x, in one block for the batch.
Script AddingOne() {
  Script script;
  script.execute = [](uint32_t, Run& run) {
    const auto rows = static_cast<size_t>(run.total_batch_size());
    BlockRef block = run.pool().Acquire(rows * sizeof(float));
    auto* out = static_cast<float*>(block->data());
    for (const Request* request : run.requests()) {
      const Buffer chunk = request->chunk(*request->input(0));
      for (size_t i = 0; i < chunk.size / sizeof(float); i++) {
        *out++ = static_cast<const float*>(chunk.data)[i] + 1;
      }
    }
    const int64_t tail[] = {1};
    run.SetOutput(0, DataType::kFp32, tail, block->data(), rows * sizeof(float), block.get());
    run.RespondAll(Status::Ok());
  };
  return script;
}

}  // namespace

TEST(c_api_answers_a_request_with_its_outputs) {
  ApiBench bench;
  bench.Open(AddingOne(), ConfigOf(FloatIo()));
  ApiSend send(bench.model, {1, 2});
  CHECK_EQ(send.Submit(), "");
  const auto answer = send.answers().Only();
  CHECK_EQ(answer.error, "");
  CHECK_EQ(answer.flags, uint32_t{TRITONTS_RESPONSE_FINAL});
  CHECK_EQ(answer.version, 1);
  CHECK(answer.outputs.at("y").first == (Dims{2, 1}));
  CHECK(answer.outputs.at("y").second == BytesOf<float>({2, 3}));
}

TEST(c_api_gives_the_parameters_of_a_response_until_it_is_deleted) {
  Script script = AddingOne();
  script.execute = [execute = script.execute](uint32_t instance, Run& run) {
    ResponseParameterList list;
    CHECK(list.Set("text", std::string("a\0b", 3)).ok());
    CHECK(list.Set("whole", int64_t{-5}).ok());
    CHECK(list.Set("flag", true).ok());
    CHECK(list.Set("real", 0.25).ok());
    run.SetParameters(0, list.Take());
    execute(instance, run);
  };
  ApiBench bench;
  bench.Open(std::move(script), ConfigOf(FloatIo()));
  ApiSend send(bench.model, {1});
  send.answers().Keep();
  CHECK_EQ(send.Submit(), "");
  const auto answer = send.answers().Only();
  CHECK_EQ(answer.parameters, (std::vector<std::string>{"text", "whole", "flag", "real"}));
  tritonts_response* const response = send.answers().kept().front();
  const tritonts_parameter* const text = Api().response_parameter(response, 0);
  CHECK_EQ(text->kind, TRITONTS_PARAMETER_STRING);
  CHECK_EQ(text->bytes, 3u);
  CHECK_EQ(std::memcmp(text->value, "a\0b", 4), 0);
  const tritonts_parameter* const whole = Api().response_parameter(response, 1);
  CHECK_EQ(whole->kind, TRITONTS_PARAMETER_INT);
  CHECK_EQ(*static_cast<const int64_t*>(whole->value), -5);
  const tritonts_parameter* const flag = Api().response_find_parameter(response, "flag");
  CHECK_EQ(flag->kind, TRITONTS_PARAMETER_BOOL);
  CHECK_EQ(*static_cast<const int32_t*>(flag->value), 1);
  const tritonts_parameter* const real = Api().response_find_parameter(response, "real");
  CHECK_EQ(real->kind, TRITONTS_PARAMETER_DOUBLE);
  CHECK_EQ(*static_cast<const double*>(real->value), 0.25);
  CHECK(!Api().response_parameter(response, 4));
  CHECK(!Api().response_find_parameter(response, "none"));
  CHECK(!Api().response_find_parameter(nullptr, "text"));
  CHECK(!Api().response_find_parameter(response, nullptr));
  CHECK_EQ(Api().response_parameter_count(nullptr), 0u);
}

TEST(c_api_counts_the_parameters_of_a_response_until_it_is_deleted) {
  const std::string text(40'000, 'x');
  for (const bool decoupled : {false, true}) {
    Script script = AddingOne();
    script.execute = [&text, execute = script.execute](uint32_t instance, Run& run) {
      ResponseParameterList list;
      CHECK(list.Set("text", text).ok());
      run.SetParameters(0, list.Take());
      execute(instance, run);
    };
    VersionConfig config = ConfigOf(FloatIo());
    config.decoupled = decoupled;
    ApiBench bench;
    bench.Open(std::move(script), config);
    ApiSend send(bench.model, {1});
    send.answers().Keep();
    CHECK_EQ(send.Submit(), "");
    CHECK(send.answers().Released(1));
    const uint64_t counted = sizeof(float) + 12 + 4 + text.size();
    CHECK_EQ(bench.server.server().in_flight_bytes(), counted);
    for (tritonts_response* response : send.answers().TakeKept()) Api().response_delete(response);
    CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
  }
}

TEST(c_api_counts_the_parameters_of_a_request_in_flight) {
  ApiBench bench(100'000);
  bench.runs->Shut();
  bench.OpenRuns(ConfigOf(FloatIo()));
  const std::string text(60'000, 'x');
  ApiSend first(bench.model, {1});
  const auto set = [](ApiSend& send, const char* name, const std::string& value) {
    return TextOf(Api().request_set_parameter(send.request(), name, TRITONTS_PARAMETER_STRING,
                                              value.c_str()));
  };
  CHECK_EQ(set(first, "a", text), "");
  CHECK_EQ(first.Submit(), "");
  CHECK(bench.server.server().in_flight_bytes() > text.size());
  ApiSend second(bench.model, {1});
  CHECK_EQ(set(second, "a", text), "");
  CHECK(Contains(second.Submit(), "TOO_MUCH_IN_FLIGHT"));
  // What a parameter counted before it was replaced is not counted any more.
  CHECK_EQ(set(second, "a", "short"), "");
  CHECK_EQ(second.Submit(), "");
  bench.runs->Open();
  CHECK_EQ(first.answers().Only().error, "");
  CHECK_EQ(second.answers().Only().error, "");
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
}

TEST(c_api_submits_a_request_again_after_its_release) {
  ApiBench bench;
  bench.Open(AddingOne(), ConfigOf(FloatIo()));
  ApiSend send(bench.model, {1});
  for (size_t i = 1; i <= 20; i++) {
    CHECK_EQ(send.Submit(), "");
    CHECK(send.answers().Released(i));
  }
  CHECK_EQ(send.answers().all().size(), 20u);
}

TEST(c_api_notices_every_change_of_a_request_that_was_submitted_before) {
  ApiBench bench;
  bench.Open(AddingOne(), ConfigOf(FloatIo()));
  ApiSend send(bench.model, {1});
  size_t sent = 0;
  const auto sum = [&] {
    CHECK_EQ(send.Submit(), "");
    CHECK(send.answers().Released(++sent));
    return send.answers().all().back().outputs.at("y").second;
  };
  CHECK(sum() == BytesOf<float>({2}));
  CHECK(sum() == BytesOf<float>({2}));
  send.Floats({4, 5});
  CHECK(sum() == BytesOf<float>({5, 6}));
  CHECK(sum() == BytesOf<float>({5, 6}));
  CHECK_API(Api().request_want_output(send.request(), "z"));
  CHECK(Contains(send.Submit(), "unknown output 'z'"));
  Api().request_remove_outputs(send.request());
  CHECK(sum() == BytesOf<float>({5, 6}));
  Api().request_remove_inputs(send.request());
  CHECK(Contains(send.Submit(), "it is missing"));
}

TEST(c_api_submits_many_requests_as_batches_with_their_own_responses) {
  ApiBench bench;
  bench.Open(AddingOne(), ConfigOf(FloatIo(64), 1, Dynamic(64)));
  std::vector<std::unique_ptr<ApiSend>> sends;
  std::vector<tritonts_request*> requests;
  for (int i = 0; i < 100; i++) {
    sends.push_back(std::make_unique<ApiSend>(bench.model, Floats{static_cast<float>(i)}));
    requests.push_back(sends.back()->request());
  }
  size_t accepted = 0;
  CHECK_API(Api().submit(requests.data(), requests.size(), &accepted));
  CHECK_EQ(accepted, 100u);
  for (int i = 0; i < 100; i++) {
    CHECK(sends[static_cast<size_t>(i)]->answers().Only().outputs.at("y").second ==
          BytesOf<float>({static_cast<float>(i + 1)}));
  }
  tritonts_statistics statistics = {};
  statistics.size = sizeof(statistics);
  CHECK_API(Api().model_statistics(bench.model, &statistics));
  CHECK_EQ(statistics.success.count, 100u);
  CHECK_EQ(statistics.inference_count, 100u);
  CHECK(statistics.execution_count < 100);
  CHECK_EQ(statistics.in_flight_bytes, 0u);
}

TEST(c_api_marks_all_releases_of_a_delivery_but_the_last) {
  // All end with one batch. Its run is held until they wait together.
  ApiBench bench;
  bench.runs->Shut();
  bench.OpenRuns(ConfigOf(FloatIo(), 1, Dynamic(8)));
  ApiSend holds(bench.model, {1});
  CHECK_EQ(holds.Submit(), "");
  CHECK(bench.runs->Started(1));
  ApiSend one(bench.model, {1, 2});
  ApiSend two(bench.model, {1, 2});
  ApiSend three(bench.model, {1, 2});
  tritonts_request* const requests[] = {one.request(), two.request(), three.request()};
  size_t accepted = 0;
  CHECK_API(Api().submit(requests, 3, &accepted));
  bench.runs->Open();
  for (ApiSend* send : {&holds, &one, &two, &three}) CHECK(send->answers().Released(1));
  CHECK_EQ(one.answers().more() + two.answers().more() + three.answers().more(), 2u);
  CHECK_EQ(one.answers().releases() + two.answers().releases() + three.answers().releases(), 3u);
}

TEST(c_api_counts_large_outputs_until_their_own_response_is_deleted) {
  // Responses of one delivery share memory, but not the blocks of large outputs.
  constexpr size_t kRows = 2048;
  Script script;
  script.execute = [](uint32_t, Run& run) {
    // They are read until the responses are sent.
    std::vector<std::array<int64_t, 2>> shapes(run.requests().size());
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      std::array<int64_t, 2>& shape = shapes[i];
      shape = {run.requests()[i]->header->batch_size, 1};
      const size_t bytes = static_cast<size_t>(shape[0]) * sizeof(float);
      BlockRef block = run.pool().Acquire(bytes);
      std::memset(block->data(), 0, bytes);
      run.SetRequestOutput(i, 0, DataType::kFp32, shape, block->data(), bytes, block.get());
    }
    run.RespondAll(Status::Ok());
  };
  ApiBench bench;
  bench.Open(std::move(script), ConfigOf(FloatIo(4 * kRows), 1, Dynamic(4 * kRows)));
  ApiSend one(bench.model, Floats(kRows));
  ApiSend two(bench.model, Floats(kRows));
  ApiSend small(bench.model, {1});
  ApiSend* const all[] = {&one, &two, &small};
  std::vector<tritonts_request*> requests;
  for (ApiSend* send : all) {
    send->answers().Keep();
    requests.push_back(send->request());
  }
  size_t accepted = 0;
  CHECK_API(Api().submit(requests.data(), requests.size(), &accepted));
  for (ApiSend* send : all) CHECK(send->answers().Released(1));
  constexpr uint64_t kLarge = kRows * sizeof(float);
  constexpr uint64_t kSmall = sizeof(float);
  CHECK_EQ(bench.server.server().in_flight_bytes(), 2 * kLarge + kSmall);
  Api().response_delete(one.answers().TakeKept().front());
  CHECK_EQ(bench.server.server().in_flight_bytes(), kLarge + kSmall);
  Api().response_delete(two.answers().TakeKept().front());
  CHECK_EQ(bench.server.server().in_flight_bytes(), kSmall);
  Api().response_delete(small.answers().TakeKept().front());
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
}

TEST(c_api_submits_again_from_a_release_callback) {
  ApiBench bench;
  bench.Open(AddingOne(), ConfigOf(FloatIo()));
  ApiSend send(bench.model, {1});
  int left = 50;
  send.answers().on_release = [&](tritonts_request* request) {
    if (left-- > 0) CHECK_API(Api().submit(&request, 1, nullptr));
  };
  CHECK_EQ(send.Submit(), "");
  CHECK(send.answers().Released(51));
  CHECK_EQ(send.answers().all().size(), 51u);
}

TEST(c_api_runs_short_batches_within_submit_but_not_within_a_callback) {
  ApiBench bench;
  VersionConfig config = ConfigOf(FloatIo());
  config.inline_budget_ns = 10'000 * kMs;  // longer than any run, even on a busy machine
  bench.Open(AddingOne(), std::move(config));
  ApiSend send(bench.model, {1});
  const auto here = std::this_thread::get_id();
  std::thread::id answered;
  send.answers().on_response = [&] { answered = std::this_thread::get_id(); };
  const auto submit = [&](size_t count) {
    CHECK_EQ(send.Submit(), "");
    CHECK(send.answers().Released(count));
  };
  // Its time is not known before.
  submit(1);
  CHECK(answered != here);
  // The instance is free a moment after the release.
  size_t sent = 1;
  CHECK(Eventually([&] {
    submit(++sent);
    return answered == here;
  }));
  std::thread::id again;
  bool submits = true;
  send.answers().on_release = [&](tritonts_request* request) {
    if (!std::exchange(submits, false)) return;
    send.answers().on_response = [&] { again = std::this_thread::get_id(); };
    CHECK_API(Api().submit(&request, 1, nullptr));
  };
  CHECK_EQ(send.Submit(), "");
  CHECK(send.answers().Released(sent + 2));
  CHECK(again != here);
}

TEST(c_api_returns_a_refusal_to_a_callback_that_submits_again) {
  // As long as a refused submission has callbacks, one that submits again never ends.
  ApiBench bench;
  bench.runs->Shut();
  VersionConfig config = ConfigOf(FloatIo());
  config.queue = QueuePolicies();
  config.queue->general.max_queue_size = 1;
  config.io.max_batch_size = 1;
  bench.OpenRuns(std::move(config));
  ApiSend runs(bench.model, {1});
  CHECK_EQ(runs.Submit(), "");
  CHECK(bench.runs->Started(1));
  ApiSend queued(bench.model, {2});
  ApiSend again(bench.model, {3});
  std::string error;
  again.answers().on_release = [&](tritonts_request* request) {
    error = TextOf(Api().submit(&request, 1, nullptr));
  };
  CHECK_EQ(again.Submit(), "");
  // It ends in a call of this thread, which fills the queue before the callback.
  again.answers().on_response = [&] { CHECK_EQ(queued.Submit(), ""); };
  Api().request_cancel(again.request());
  CHECK(again.answers().Released(1));
  CHECK(Contains(error, "UNAVAILABLE/QUEUE_FULL"));
  bench.runs->Open();
  CHECK_EQ(queued.answers().Only().error, "");
  CHECK_EQ(runs.answers().Only().error, "");
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
}

TEST(c_api_accepts_those_in_front_of_a_refused_request) {
  ApiBench bench(20);
  bench.runs->Shut();
  bench.OpenRuns(ConfigOf(FloatIo()));
  ApiSend one(bench.model, {1});
  ApiSend two(bench.model, {2});
  ApiSend three(bench.model, {3});
  tritonts_request* const requests[] = {one.request(), two.request(), three.request()};
  size_t accepted = 0;
  CHECK(Contains(TextOf(Api().submit(requests, 3, &accepted)), "UNAVAILABLE/TOO_MUCH_IN_FLIGHT"));
  CHECK_EQ(accepted, 2u);
  // It is its caller's again.
  Api().request_remove_inputs(three.request());
  bench.runs->Open();
  CHECK_EQ(one.answers().Only().error, "");
  CHECK_EQ(two.answers().Only().error, "");
  CHECK_EQ(three.answers().releases(), 0u);
  three.Floats({3});
  CHECK_EQ(three.Submit(), "");
  CHECK_EQ(three.answers().Only().error, "");
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
}

TEST(c_api_limits_the_bytes_of_parameters_and_ids) {
  ApiBench bench;
  bench.Open(AddingOne(), ConfigOf(FloatIo()));
  ApiSend send(bench.model, {1});
  tritonts_request* const request = send.request();
  const auto set = [&](const char* name, size_t size) {
    return TextOf(Api().request_set_parameter(request, name, TRITONTS_PARAMETER_STRING,
                                              std::string(size, 'x').c_str()));
  };
  // 20 bytes for all, and 12 bytes and the name for each.
  CHECK_EQ(set("a", 131072 - 20 - 16), "");
  CHECK_EQ(set("b", 0),
           "INVALID_ARG: model 'm': expected at most 131072 bytes for parameters but received "
           "131088");
  CHECK_EQ(set("a", 131072 - 20 - 32), "");
  CHECK_EQ(set("b", 0), "");
  CHECK_EQ(TextOf(Api().request_set_id(request, std::string(131073, 'x').c_str())),
           "INVALID_ARG: model 'm': expected at most 131072 bytes for the id but received 131073");
  CHECK_API(Api().request_set_id(request, std::string(131072, 'x').c_str()));
  CHECK_EQ(send.Submit(), "");
  CHECK_EQ(send.answers().Only().error, "");
}

TEST(c_api_deletes_a_request_in_its_release_callback) {
  ApiBench bench;
  bench.Open(AddingOne(), ConfigOf(FloatIo()));
  ApiSend send(bench.model, {1});
  send.answers().on_release = [](tritonts_request* request) {
    CHECK_API(Api().request_delete(request));
  };
  CHECK_EQ(send.Submit(), "");
  send.Leave();
  CHECK(send.answers().Released(1));
}

TEST(c_api_keeps_outputs_until_their_response_is_deleted) {
  ApiBench bench;
  bench.Open(AddingOne(), ConfigOf(FloatIo(1 << 20)));
  // Large enough to stay in the block of the batch.
  std::vector<float> values(10'000, 4);
  ApiSend send(bench.model, values);
  send.answers().Keep();
  CHECK_EQ(send.Submit(), "");
  CHECK(send.answers().Released(1));
  tritonts_statistics statistics = {};
  statistics.size = sizeof(statistics);
  CHECK_API(Api().model_statistics(bench.model, &statistics));
  CHECK_EQ(statistics.in_flight_bytes, 40'000u);
  bench.server.Close(0);
  const auto kept = send.answers().TakeKept();
  CHECK_EQ(kept.size(), 1u);
  const tritonts_output* const output = Api().response_find_output(kept[0], "y");
  CHECK(output != nullptr && Api().response_find_output(kept[0], "z") == nullptr);
  CHECK_EQ(static_cast<const float*>(output->data)[9'999], 5.0f);
  tritonts_timings timings = {};
  timings.size = sizeof(timings);
  CHECK_API(Api().response_timings(kept[0], &timings));
  CHECK_EQ(timings.batch_size, 10'000u);
  Api().response_delete(kept[0]);
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
}

TEST(c_api_writes_outputs_to_memory_of_the_request) {
  ApiBench bench;
  bench.Open(AddingOne(), ConfigOf(FloatIo()));
  float place[3] = {0, 0, 7};
  ApiSend send(bench.model, {1, 2});
  CHECK_API(Api().request_set_output(send.request(), "y", place, 8));
  CHECK_EQ(send.Submit(), "");
  CHECK_EQ(send.answers().Only().error, "");
  CHECK_EQ(place[0], 2.0f);
  CHECK_EQ(place[1], 3.0f);
  CHECK_EQ(place[2], 7.0f);
  Api().request_remove_outputs(send.request());
  CHECK_API(Api().request_set_output(send.request(), "y", place, 7));
  CHECK_EQ(send.Submit(), "");
  CHECK(send.answers().Released(2));
  CHECK(Contains(send.answers().all().back().error,
                 "output 'y': it has 8 bytes, but the request has memory for 7"));
}

TEST(c_api_copies_elements_that_are_not_aligned) {
  ApiBench bench;
  bench.Open(AddingOne(), ConfigOf(FloatIo()));
  ApiSend send(bench.model);
  alignas(8) char bytes[9] = {};
  const float values[] = {5, 6};
  std::memcpy(bytes + 1, values, 8);
  const int64_t dims[] = {2, 1};
  CHECK_API(Api().request_set_input(send.request(), "x", TRITONTS_FP32, dims, 2, bytes + 1, 8));
  CHECK_EQ(send.Submit(), "");
  CHECK(send.answers().Only().outputs.at("y").second == BytesOf<float>({6, 7}));
}

TEST(c_api_takes_an_input_in_parts) {
  ApiBench bench;
  bench.Open(
      ScriptOf(bench.runs),
      ConfigOf({0, {{"x", DataType::kBytes, {2}, false}}, {{"y", DataType::kBytes, {2}, false}}}));
  ApiSend send(bench.model);
  const std::string one("\x02\0\0\0ab", 6);
  const std::string two("\x01\0\0\0c", 5);
  const int64_t dims[] = {2};
  CHECK(Contains(TextOf(Api().request_append_input(send.request(), "x", one.data(), one.size())),
                 "set the input with its datatype and dims first"));
  CHECK_API(Api().request_set_input(send.request(), "x", TRITONTS_BYTES, dims, 1, one.data(),
                                    one.size()));
  CHECK(Contains(send.Submit(), "expected 2 elements"));
  CHECK_API(Api().request_append_input(send.request(), "x", two.data(), two.size()));
  CHECK_EQ(send.Submit(), "");
  CHECK(send.answers().Released(1));
}

// --- Wrong requests.

TEST(c_api_refuses_wrong_inputs_with_the_words_of_other_ways_in) {
  ApiBench bench;
  bench.OpenRuns(ConfigOf(FloatIo()));
  ApiSend send(bench.model);
  tritonts_request* const request = send.request();
  CHECK_EQ(send.Submit(), "INVALID_ARG: model 'm', input 'x': it is missing");
  const float values[4] = {};
  const auto set = [&](const char* name, int32_t datatype, const std::vector<int64_t>& dims,
                       const void* data, size_t size) {
    Api().request_remove_inputs(request);
    std::string error = TextOf(
        Api().request_set_input(request, name, datatype, dims.data(), dims.size(), data, size));
    return error.empty() ? send.Submit() : error;
  };
  CHECK_EQ(set("z", TRITONTS_FP32, {4, 1}, values, 16),
           "INVALID_ARG: model 'm': unknown input 'z'; it has x");
  CHECK_EQ(set("x", TRITONTS_INT32, {4, 1}, values, 16),
           "INVALID_ARG: model 'm', input 'x': expected FP32 but received INT32");
  CHECK(Contains(set("x", 99, {4, 1}, values, 16), "expected a datatype but received 99"));
  CHECK(Contains(set("x", TRITONTS_FP32, {4, 2}, values, 16), "expected dims [-1,1]"));
  CHECK(Contains(set("x", TRITONTS_FP32, {4, 1}, values, 15),
                 "expected 16 bytes for shape [4,1] but received 15"));
  CHECK(Contains(set("x", TRITONTS_FP32, {-4, 1}, values, 16), "expected dims"));
  CHECK(Contains(set("x", TRITONTS_FP32, {9, 1}, values, 36), "expected 1 to 8 rows"));
  CHECK(Contains(set("x", TRITONTS_FP32, {}, values, 16), "expected dims"));
  CHECK(Contains(set("x", TRITONTS_FP32, std::vector<int64_t>(65, 1), values, 16),
                 "expected at most 64 dims but received 65"));
  const int64_t huge = std::numeric_limits<int64_t>::max();
  CHECK(Contains(set("x", TRITONTS_FP32, {huge, huge, huge}, values, 16), "expected 1 to 8 rows"));
  CHECK(Contains(set("x", TRITONTS_FP32, {huge, 1}, values, 16), "model 'm'"));
  CHECK(Contains(set("x", TRITONTS_FP32, {4, 1}, nullptr, 16), "have no address"));
  CHECK(Contains(set("x", TRITONTS_FP32, {4, 1}, values, SIZE_MAX), "at most 4294967296 bytes"));
  // Sizes whose sum overflows to the right one.
  Api().request_remove_inputs(request);
  const int64_t dims[] = {4, 1};
  CHECK_API(Api().request_set_input(request, "x", TRITONTS_FP32, dims, 2, values, 8));
  CHECK(Contains(TextOf(Api().request_append_input(request, "x", values, SIZE_MAX - 7)),
                 "at most 4294967296 bytes"));
  CHECK(Contains(TextOf(Api().request_append_input(request, "x", values, size_t{1} << 32)),
                 "at most 4294967296 bytes"));
  CHECK(send.answers().all().empty());
  CHECK_EQ(send.answers().releases(), 0u);
}

TEST(c_api_refuses_wrong_strings) {
  ApiBench bench;
  bench.OpenRuns(ConfigOf(
      {0, {{"x", DataType::kBytes, {-1}, false}}, {{"y", DataType::kBytes, {-1}, false}}}));
  ApiSend send(bench.model);
  const auto set = [&](int64_t count, const std::string& bytes) {
    CHECK_API(Api().request_set_input(send.request(), "x", TRITONTS_BYTES, &count, 1, bytes.data(),
                                      bytes.size()));
    return send.Submit();
  };
  CHECK(Contains(set(1, std::string("\xff\xff\xff\xff", 4)), "only 0 are left"));
  CHECK(Contains(set(int64_t{1} << 62, std::string(8, '\0')), "INVALID_ARG"));
  CHECK(Contains(set(1, std::string(5, '\0')), "1 bytes are left after 1 elements"));
}

TEST(c_api_refuses_wrong_options) {
  ApiBench bench;
  bench.OpenRuns(ConfigOf(FloatIo()));
  ApiSend send(bench.model, {1});
  tritonts_request* const request = send.request();
  const int64_t number = 1;
  CHECK(Contains(
      TextOf(Api().request_set_parameter(request, "triton_x", TRITONTS_PARAMETER_INT, &number)),
      "Triton reserves the prefix"));
  CHECK(Contains(TextOf(Api().request_set_parameter(request, "a", 7, &number)), "unknown kind"));
  CHECK(Contains(TextOf(Api().request_set_sequence(request, 0, std::string(129, 'a').c_str(), 0)),
                 "UNSUPPORTED"));
  CHECK(Contains(TextOf(Api().request_set_sequence(request, 1, nullptr, 4)), "unknown flags"));
  CHECK_API(Api().request_want_output(request, "y"));
  CHECK(Contains(TextOf(Api().request_want_output(request, "y")), "requested twice"));
  Api().request_remove_outputs(request);
  CHECK_API(Api().request_want_output(request, "z"));
  CHECK_EQ(send.Submit(), "INVALID_ARG: model 'm': unknown output 'z'; it has y");
}

TEST(c_api_refuses_null_pointers) {
  const tritonts_api& api = Api();
  CHECK(Contains(TextOf(api.attach(c_api::EngineId(), 1, nullptr)), "INVALID_ARG"));
  CHECK(Contains(TextOf(api.detach(nullptr, 0)), "INVALID_ARG"));
  CHECK(Contains(TextOf(api.list_models(nullptr, nullptr)), "INVALID_ARG"));
  CHECK(Contains(TextOf(api.model_open(nullptr, nullptr, nullptr, -1, nullptr)), "INVALID_ARG"));
  CHECK(Contains(TextOf(api.model_describe(nullptr, nullptr)), "INVALID_ARG"));
  CHECK(Contains(TextOf(api.model_statistics(nullptr, nullptr)), "INVALID_ARG"));
  CHECK(Contains(TextOf(api.request_new(nullptr, nullptr)), "INVALID_ARG"));
  CHECK(Contains(TextOf(api.request_set_input(nullptr, "x", 1, nullptr, 0, nullptr, 0)),
                 "INVALID_ARG"));
  CHECK(Contains(TextOf(api.submit(nullptr, 1, nullptr)), "INVALID_ARG"));
  CHECK(Contains(TextOf(api.response_timings(nullptr, nullptr)), "INVALID_ARG"));
  CHECK_EQ(TextOf(api.submit(nullptr, 0, nullptr)), "");
  CHECK_EQ(TextOf(api.request_delete(nullptr)), "");
  api.request_remove_inputs(nullptr);
  api.request_cancel(nullptr);
  api.response_delete(nullptr);
  api.model_delete(nullptr);
  api.error_delete(nullptr);
  api.model_info_delete(nullptr);
  api.model_list_delete(nullptr);
  CHECK(api.response_error(nullptr) == nullptr && api.response_output(nullptr, 0) == nullptr);
}

TEST(c_api_reports_the_first_request_that_it_does_not_accept) {
  ApiBench bench;
  bench.OpenRuns(ConfigOf(FloatIo()));
  ApiSend good(bench.model, {1});
  ApiSend wrong(bench.model);
  ApiSend behind(bench.model, {2});
  tritonts_request* const requests[] = {good.request(), wrong.request(), behind.request()};
  size_t accepted = 9;
  CHECK(Contains(TextOf(Api().submit(requests, 3, &accepted)), "it is missing"));
  CHECK_EQ(accepted, 1u);
  CHECK_EQ(good.answers().Only().error, "");
  CHECK_EQ(behind.Submit(), "");
  CHECK_EQ(behind.answers().Only().error, "");
  // The same request twice.
  bench.runs->Shut();
  tritonts_request* const twice[] = {good.request(), good.request()};
  CHECK(Contains(TextOf(Api().submit(twice, 2, &accepted)), "in flight"));
  CHECK_EQ(accepted, 1u);
  bench.runs->Open();
  CHECK(good.answers().Released(2));
}

TEST(c_api_refuses_to_change_a_request_in_flight) {
  ApiBench bench;
  bench.runs->Shut();
  bench.OpenRuns(ConfigOf(FloatIo()));
  ApiSend send(bench.model, {1});
  CHECK_EQ(send.Submit(), "");
  CHECK(Contains(TextOf(Api().request_set_id(send.request(), "a")), "in flight"));
  CHECK(Contains(TextOf(Api().request_delete(send.request())), "in flight"));
  CHECK(Contains(send.Submit(), "in flight"));
  bench.runs->Open();
  CHECK_EQ(send.answers().Only().error, "");
  CHECK_API(Api().request_set_id(send.request(), "a"));
}

// --- Limits.

TEST(c_api_keeps_to_the_limit_of_bytes_in_flight) {
  ApiBench bench(20);
  bench.runs->Shut();
  bench.OpenRuns(ConfigOf(FloatIo()));
  ApiSend first(bench.model, {1, 2});
  CHECK_EQ(first.Submit(), "");
  ApiSend second(bench.model, {3, 4});
  CHECK(Contains(second.Submit(), "UNAVAILABLE/TOO_MUCH_IN_FLIGHT: model 'm': too much in flight"));
  bench.runs->Open();
  CHECK_EQ(first.answers().Only().error, "");
  CHECK_EQ(second.Submit(), "");
  CHECK_EQ(second.answers().Only().error, "");
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
}

TEST(c_api_keeps_to_the_size_of_a_queue_and_its_time_outs) {
  ApiBench bench;
  bench.runs->Shut();
  VersionConfig config = ConfigOf(FloatIo());
  config.queue = QueuePolicies();
  config.queue->general.max_queue_size = 1;
  config.queue->general.allow_timeout_override = true;
  bench.OpenRuns(std::move(config));
  ApiSend runs(bench.model, {1});
  CHECK_EQ(runs.Submit(), "");
  CHECK(bench.runs->Started(1));
  ApiSend waits(bench.model, {2});
  CHECK_API(Api().request_set_timeout(waits.request(), 1));
  CHECK_EQ(waits.Submit(), "");
  CHECK(Contains(waits.answers().Only().error, "UNAVAILABLE"));
  ApiSend queued(bench.model, {3});
  CHECK_EQ(queued.Submit(), "");
  ApiSend refused(bench.model, {4});
  CHECK(Contains(refused.Submit(), "UNAVAILABLE/QUEUE_FULL"));
  CHECK_EQ(refused.answers().releases(), 0u);
  bench.runs->Open();
  CHECK_EQ(queued.answers().Only().error, "");
  CHECK_EQ(runs.answers().Only().error, "");
}

// --- What a model is told.

TEST(c_api_passes_parameters_priority_and_sequences) {
  ApiBench bench;
  Script script;
  std::string seen;
  script.execute = [&](uint32_t, Run& run) {
    const Request& request = *run.requests()[0];
    seen = std::get<std::string>(request.parameter("text")->value);
    seen += std::to_string(std::get<int64_t>(request.parameter("whole")->value));
    seen += std::get<bool>(request.parameter("flag")->value) ? "yes" : "no";
    seen += std::get<double>(request.parameter("half")->value) == 0.5 ? "half" : "";
    seen += std::to_string(request.priority());
    seen += request.sequence().id.text + (request.sequence().start ? "start" : "");
    run.RespondAll(Status::Internal("told"));
  };
  bench.Open(std::move(script), ConfigOf(FloatIo()));
  ApiSend send(bench.model, {1});
  tritonts_request* const request = send.request();
  const int64_t whole = -3;
  const int32_t flag = 1;
  const double half = 0.5;
  CHECK_API(Api().request_set_parameter(request, "text", TRITONTS_PARAMETER_STRING, "old"));
  CHECK_API(Api().request_set_parameter(request, "text", TRITONTS_PARAMETER_STRING, "t"));
  CHECK_API(Api().request_set_parameter(request, "whole", TRITONTS_PARAMETER_INT, &whole));
  CHECK_API(Api().request_set_parameter(request, "flag", TRITONTS_PARAMETER_BOOL, &flag));
  CHECK_API(Api().request_set_parameter(request, "half", TRITONTS_PARAMETER_DOUBLE, &half));
  CHECK_API(Api().request_set_priority(request, 2));
  CHECK_API(Api().request_set_sequence(request, 0, "chat", TRITONTS_SEQUENCE_START));
  CHECK_EQ(send.Submit(), "");
  CHECK_EQ(send.answers().Only().error, "INTERNAL: told");
  CHECK_EQ(seen, "t-3yeshalf2chatstart");
}

}  // namespace tritonts::test
