// Attachments, models and requests over the life of a server.
#include <thread>

#include "c_api_fixture.h"
#include "engine/base/abandon.h"
#include "ensemble_fixture.h"
#include "server_scripts.h"

namespace tritonts::test {

namespace {

// The error of the only answer.
std::string ErrorOf(ApiSend& send) {
  return send.answers().Only().error;
}

}  // namespace

TEST(c_api_attaches_to_an_open_server_of_this_engine_only) {
  ApiBench bench;
  tritonts_server* server = nullptr;
  const uint32_t id = bench.server.server().id();
  CHECK(Contains(TextOf(Api().attach(c_api::EngineId() + 1, id, &server)),
                 "INVALID_ARG: attach: the handle belongs to another copy of the package"));
  CHECK(server == nullptr);
  CHECK_EQ(TextOf(Api().attach(c_api::EngineId(), id + 1000, &server)),
           "UNAVAILABLE/CLOSED: the server is closed");
  CHECK_API(Api().attach(c_api::EngineId(), id, &server));
  bench.server.Close(0);
  tritonts_server* late = nullptr;
  CHECK(Contains(TextOf(Api().attach(c_api::EngineId(), id, &late)), "CLOSED"));
  const tritonts_model_list* list = nullptr;
  CHECK(Contains(TextOf(Api().list_models(server, &list)), "CLOSED"));
  CHECK_API(Api().detach(server, 0));
}

TEST(c_api_lists_and_describes_models) {
  ApiBench bench;
  ModelIo io = FloatIo();
  io.inputs.push_back({"hidden", DataType::kInt32, {-1, 1}});
  io.inputs.back().internal = true;
  bench.Open(ScriptOf(bench.runs), ConfigOf(io));
  bench.server.server().Publish({"", "k"},
                                R"({"state":"UNAVAILABLE","reason":"no file","versions":[]})");
  const tritonts_model_list* list = nullptr;
  CHECK_API(Api().list_models(bench.attachment, &list));
  CHECK_EQ(list->count, 2u);
  CHECK_EQ(std::string(list->entries[0]->name), "k");
  CHECK_EQ(list->entries[0]->version, -1);
  CHECK_EQ(std::string(list->entries[0]->reason), "no file");
  CHECK_EQ(std::string(list->entries[1]->state), "READY");
  CHECK_EQ(list->entries[1]->version, 1);
  Api().model_list_delete(list);
  const tritonts_model_info* info = nullptr;
  CHECK_API(Api().model_describe(bench.model, &info));
  CHECK_EQ(std::string(info->name), "m");
  CHECK_EQ(info->max_batch_size, 8u);
  CHECK_EQ(info->input_count, 1u);
  CHECK_EQ(std::string(info->inputs[0]->name), "x");
  CHECK_EQ(info->inputs[0]->datatype, int32_t{TRITONTS_FP32});
  CHECK_EQ(info->inputs[0]->rank, 2u);
  CHECK_EQ(info->inputs[0]->dims[0], -1);
  CHECK_EQ(info->output_count, 1u);
  // It stays valid without its model.
  Api().model_delete(std::exchange(bench.model, nullptr));
  CHECK_EQ(std::string(info->outputs[0]->name), "y");
  Api().model_info_delete(info);
}

TEST(c_api_says_why_a_model_is_not_served) {
  ApiBench bench;
  bench.Attach();
  Server& server = bench.server.server();
  tritonts_model* model = nullptr;
  CHECK_EQ(TextOf(Api().model_open(bench.attachment, nullptr, "m", -1, &model)),
           "NOT_FOUND: unknown model 'm'; the server's models are: (none)");
  server.Publish({"", "m"}, R"({"state":"LOADING","reason":"","versions":[]})");
  CHECK(Contains(TextOf(Api().model_open(bench.attachment, "a", "m", -1, &model)),
                 "not in the namespace 'a'; these have it: ''"));
  CHECK_API(Api().model_open(bench.attachment, nullptr, "m", -1, &model));
  const auto why = [&] {
    const tritonts_model_info* info = nullptr;
    return TextOf(Api().model_describe(model, &info));
  };
  CHECK_EQ(why(), "UNAVAILABLE/NOT_READY: model 'm' is not ready: it is LOADING: ");
  server.Publish({"", "m"}, R"({"state":"","reason":"","versions":[
    {"version":2,"state":"UNAVAILABLE","reason":"broken","errorReason":"LOAD_FAILED"}]})");
  CHECK_EQ(why(),
           "UNAVAILABLE/LOAD_FAILED: model 'm' is not ready: version 2 is UNAVAILABLE: broken");
  server.Publish({"", "m"}, R"({"state":"","reason":"","versions":[],"lazy":[]})");
  CHECK_EQ(why(), "UNAVAILABLE/NOT_READY: model 'm' is lazy, and is not loaded at the moment");
  server.Publish({"", "m"}, R"({"state":"UNAVAILABLE","reason":"unloaded","versions":[
    {"version":2,"state":"UNAVAILABLE","reason":"unloaded"}]})");
  CHECK_EQ(why(), "NOT_FOUND: model 'm' is not available: it was unloaded");
  server.Publish({"", "m"}, "[1");
  CHECK(Contains(why(), "INVALID_ARG"));
  server.Withdraw({"", "m"});
  CHECK(Contains(why(), "NOT_FOUND: unknown model 'm'"));
  Api().model_delete(model);
}

TEST(c_api_sends_to_the_newest_version_or_to_the_one_that_was_named) {
  ApiBench bench;
  const uint32_t old = bench.Serve(Adding(1), ConfigOf(FloatIo()));
  const uint32_t young = bench.Serve(Adding(2), ConfigOf(FloatIo()));
  bench.Publish({{10, young}, {9, old}});
  bench.Attach();
  CHECK_API(Api().model_open(bench.attachment, nullptr, "m", -1, &bench.model));
  tritonts_model* pinned = nullptr;
  CHECK_API(Api().model_open(bench.attachment, nullptr, "m", 9, &pinned));
  ApiSend newest(bench.model, {1});
  ApiSend named(pinned, {1});
  CHECK_EQ(newest.Submit(), "");
  CHECK_EQ(named.Submit(), "");
  CHECK_EQ(newest.answers().Only().version, 10);
  CHECK_EQ(named.answers().Only().version, 9);
  bench.Publish({{10, young}});
  CHECK(Contains(named.Submit(),
                 "NOT_FOUND: model 'm', version 9 is not available: the ready "
                 "versions: 10"));
  Api().model_delete(pinned);
}

TEST(c_api_moves_requests_to_the_version_that_serves_now) {
  ApiBench bench;
  bench.Open(Adding(1), ConfigOf(FloatIo()));
  ApiSend send(bench.model, {1});
  CHECK_EQ(send.Submit(), "");
  CHECK(send.answers().Released(1));
  // The version is closed before the change is published: the engine tells of it.
  const uint32_t old = bench.uid;
  const uint32_t young = bench.Serve(Adding(2), ConfigOf(FloatIo()));
  bench.server.server().FindVersion(old)->Close();
  CHECK(Contains(send.Submit(), "UNAVAILABLE"));
  bench.Publish({{2, young}});
  CHECK_EQ(send.Submit(), "");
  CHECK(send.answers().Released(2));
  CHECK_EQ(send.answers().all()[1].version, 2);
}

TEST(c_api_serves_through_reloads_on_many_threads) {
  ApiBench bench;
  bench.Open(Adding(1), ConfigOf(FloatIo()));
  std::atomic<bool> over{false};
  std::atomic<uint64_t> served{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) {
    threads.emplace_back([&] {
      ApiSend send(bench.model, {1});
      size_t sent = 0;
      while (!over) {
        CHECK_EQ(send.Submit(), "");
        Api().request_cancel(sent % 7 == 3 ? send.request() : nullptr);
        CHECK(send.answers().Released(++sent));
      }
      for (const auto& answer : send.answers().all()) {
        CHECK(answer.error.empty() || Contains(answer.error, "CANCELLED"));
        served += answer.error.empty() ? 1 : 0;
      }
    });
  }
  for (int64_t version = 2; version < 12; version++) {
    const uint32_t old = bench.uid;
    bench.Publish({{version, bench.Serve(Adding(1), ConfigOf(FloatIo()))}});
    Result<bool> retired;
    bench.server.server().Retire(old, retired.Callback());
    CHECK(!retired.Value());
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(served > 0);
}

// --- Cancelling and detaching.

TEST(c_api_cancels_requests_that_wait_and_that_run) {
  ApiBench bench;
  bench.runs->Shut();
  bench.OpenRuns(ConfigOf(FloatIo()));
  ApiSend runs(bench.model, {1});
  ApiSend waits(bench.model, {2});
  Api().request_cancel(waits.request());  // nothing is in flight
  CHECK_EQ(runs.Submit(), "");
  CHECK(bench.runs->Started(1));
  CHECK_EQ(waits.Submit(), "");
  Api().request_cancel(waits.request());
  CHECK(Contains(ErrorOf(waits), "CANCELLED"));
  Api().request_cancel(runs.request());
  bench.runs->Open();
  CHECK(Contains(ErrorOf(runs), "CANCELLED"));
  Api().request_cancel(runs.request());
  CHECK_EQ(runs.Submit(), "");
  CHECK(runs.answers().Released(2));
  CHECK_EQ(runs.answers().all().back().error, "");
}

TEST(c_api_cancels_from_any_thread_while_requests_are_submitted) {
  ApiBench bench;
  bench.Open(Adding(1), ConfigOf(FloatIo()));
  ApiSend send(bench.model, {1});
  std::atomic<bool> over{false};
  std::thread canceller([&] {
    while (!over) Api().request_cancel(send.request());
  });
  for (size_t i = 1; i <= 2000; i++) {
    CHECK_EQ(send.Submit(), "");
    CHECK(send.answers().Released(i));
  }
  over = true;
  canceller.join();
  CHECK_EQ(send.answers().all().size(), 2000u);
}

TEST(c_api_detaches_when_all_requests_are_released) {
  ApiBench bench;
  bench.runs->Shut();
  bench.OpenRuns(ConfigOf(FloatIo()));
  ApiSend runs(bench.model, {1});
  ApiSend waits(bench.model, {2});
  CHECK_EQ(runs.Submit(), "");
  CHECK_EQ(waits.Submit(), "");
  CHECK(bench.runs->Started(1));
  CHECK_EQ(bench.Detach(0),
           "UNAVAILABLE/TIMED_OUT: detach: 1 requests are still in flight after 0 ms");
  CHECK_EQ(waits.answers().releases(), 1u);
  CHECK(Contains(waits.Submit(), "UNAVAILABLE/CLOSED: the attachment is detached"));
  bench.runs->Open();
  CHECK_EQ(bench.Detach(), "");
  CHECK_EQ(runs.answers().releases(), 1u);
  CHECK(Contains(ErrorOf(runs), "CANCELLED"));
  CHECK(Contains(runs.Submit(), "CLOSED"));
  const tritonts_model_info* info = nullptr;
  CHECK(Contains(TextOf(Api().model_describe(bench.model, &info)), "CLOSED"));
  tritonts_statistics statistics = {};
  statistics.size = sizeof(statistics);
  CHECK(Contains(TextOf(Api().model_statistics(bench.model, &statistics)), "CLOSED"));
}

TEST(c_api_refuses_to_detach_in_a_callback) {
  ApiBench bench;
  bench.Open(Adding(1), ConfigOf(FloatIo()));
  ApiSend send(bench.model, {1});
  std::string error;
  send.answers().on_release = [&](tritonts_request*) { error = bench.Detach(); };
  CHECK_EQ(send.Submit(), "");
  CHECK(send.answers().Released(1));
  CHECK(Contains(error, "INVALID_ARG: detach: a callback called it"));
}

TEST(c_api_answers_every_request_when_the_server_closes) {
  ApiBench bench;
  bench.runs->Shut();
  bench.OpenRuns(ConfigOf(FloatIo()));
  ApiSend runs(bench.model, {1});
  ApiSend waits(bench.model, {2});
  CHECK_EQ(runs.Submit(), "");
  CHECK_EQ(waits.Submit(), "");
  CHECK(bench.runs->Started(1));
  std::thread opener([&] {
    CHECK(waits.answers().Released(1));
    bench.runs->Open();
  });
  CHECK(bench.server.Close(0).empty());
  opener.join();
  CHECK(Contains(ErrorOf(waits), "CANCELLED"));
  CHECK(runs.answers().Released(1));
  CHECK_EQ(runs.Submit(), "UNAVAILABLE/CLOSED: the server is closed");
  // The attachment outlives the server's owner.
  const std::weak_ptr<Server> server = bench.server.Release();
  CHECK(!server.expired());
  Api().model_delete(std::exchange(bench.model, nullptr));
}

TEST(c_api_tells_of_memory_that_an_abandoned_run_may_use) {
  // Shared with the run, which outlives the test.
  const auto runs = std::make_shared<Runs>();
  runs->Shut();
  ApiBench bench;
  bench.Open(ScriptOf(runs), ConfigOf(FloatIo()));
  auto* const send = new ApiSend(bench.model, {1});  // its memory is abandoned, too
  CHECK_EQ(send->Submit(), "");
  CHECK(runs->Started(1));
  CHECK(bench.server.Close(0) == Names{"m"});
  CHECK(send->answers().Released(1));
  CHECK_EQ(send->answers().abandoned(), 1u);
  CHECK(Contains(ErrorOf(*send), "INTERNAL"));
  CHECK(Contains(send->Submit(), "cannot be submitted again"));
  CHECK_EQ(bench.Detach(0), "");
  CHECK_API(Api().request_delete(send->request()));
  send->Leave();
  Abandon(std::shared_ptr<ApiSend>(send));
  runs->Open();
  CHECK(runs->Returned(1));
  // The thread of the run has more to do in the backend. The server's own threads are joined.
  Abandon(std::shared_ptr<ScriptedBackend>(std::move(bench.backends.front())));
}

// --- Decoupled models and ensembles.

TEST(c_api_hands_out_the_responses_of_a_decoupled_model_one_by_one) {
  ApiBench bench;
  Script script;
  script.execute = [](uint32_t, Run& run) {
    for (int i = 0; i < 3; i++) {
      const Buffer chunk = run.requests()[0]->chunk(*run.requests()[0]->input(0));
      const int64_t shape[] = {1, 1};
      run.SetRequestOutput(0, 0, DataType::kFp32, shape, chunk.data, 4, nullptr);
      run.Respond(0, Status::Ok(), false);
    }
    run.EndResponses(0);
  };
  VersionConfig config = ConfigOf(FloatIo());
  config.decoupled = true;
  bench.Open(std::move(script), std::move(config));
  ApiSend send(bench.model, {1});
  float place = 0;
  CHECK_API(Api().request_set_output(send.request(), "y", &place, 4));
  CHECK(Contains(send.Submit(), "the model is decoupled"));
  Api().request_remove_outputs(send.request());
  send.answers().Keep();
  CHECK_EQ(send.Submit(), "");
  CHECK(send.answers().Released(1));
  const auto answers = send.answers().all();
  CHECK_EQ(answers.size(), 4u);
  CHECK_EQ(answers[2].flags, 0u);
  CHECK(answers[2].outputs.at("y").second == BytesOf<float>({1}));
  CHECK(answers[3].null && answers[3].flags == uint32_t{TRITONTS_RESPONSE_FINAL});
  // Responses of an earlier submission do not disturb the count of a later one.
  CHECK_EQ(send.Submit(), "");
  for (tritonts_response* response : send.answers().TakeKept()) Api().response_delete(response);
  CHECK(send.answers().Released(2));
}

TEST(c_api_counts_unread_responses_of_a_decoupled_model) {
  ApiBench bench;
  Script script;
  std::vector<float> many(1 << 20);  // 4 MiB
  script.execute = [&](uint32_t, Run& run) {
    const int64_t shape[] = {1 << 20, 1};
    for (int i = 0; i < 8; i++) {
      run.SetRequestOutput(0, 0, DataType::kFp32, shape, many.data(), many.size() * 4, nullptr);
      run.Respond(0, Status::Ok(), false);
    }
    run.EndResponses(0);
  };
  VersionConfig config = ConfigOf(FloatIo(1 << 20));
  config.io.max_batch_size = 0;
  config.decoupled = true;
  bench.Open(std::move(script), std::move(config));
  ApiSend reader(bench.model, {1});
  CHECK_EQ(reader.Submit(), "");
  CHECK(reader.answers().Released(1));
  CHECK_EQ(reader.answers().all().size(), 9u);
  ApiSend hoarder(bench.model, {1});
  hoarder.answers().Keep();
  CHECK_EQ(hoarder.Submit(), "");
  CHECK(hoarder.answers().Released(1));
  CHECK(Contains(hoarder.answers().all().back().error, "UNAVAILABLE"));
}

TEST(c_api_sends_to_ensembles) {
  ApiBench bench;
  const uint32_t step = bench.Serve(Adding(1), ConfigOf(FloatIo()));
  Server& server = bench.server.server();
  const uint32_t ensemble = server.AddEnsemble("m", 1, ChainOf(2));
  const uint32_t steps[] = {step, step};
  CHECK(server.BindEnsemble(ensemble, steps, "").ok());
  bench.Publish({{1, ensemble}});
  bench.Attach();
  CHECK_API(Api().model_open(bench.attachment, nullptr, "m", -1, &bench.model));
  ApiSend send(bench.model, {1, 5});
  CHECK_EQ(send.Submit(), "");
  const auto answer = send.answers().Only();
  CHECK_EQ(answer.error, "");
  CHECK(answer.outputs.at("y").second == BytesOf<float>({3, 7}));
}

// --- A program of C.

// c_api/consumer.c. Returns null, or what went wrong. C has no waiting of its own, so that is ours.
extern "C" const char* tritonts_test_consumer(const tritonts_api* api, uint32_t engine, uint32_t id,
                                              void* event, void (*set)(void*), void (*wait)(void*));

TEST(c_api_serves_a_program_of_c) {
  ApiBench bench;
  bench.Serve(Adding(1), ConfigOf(FloatIo()));
  bench.Publish({{1, bench.uid}});
  Event released;
  const char* const fault = tritonts_test_consumer(
      c_api::Table(), c_api::EngineId(), bench.server.server().id(), &released,
      [](void* event) { static_cast<Event*>(event)->Set(); },
      [](void* event) { CHECK(static_cast<Event*>(event)->Wait()); });
  CHECK_EQ(std::string(fault ? fault : ""), "");
}

}  // namespace tritonts::test
