// Triton's in-process requests: what they get, who owns them when, and what is refused.
#include <thread>

#include "plugin_server_fixture.h"
#include "server_scripts.h"

namespace tritonts::test {

TEST(triton_answers_a_request_in_the_callers_memory) {
  TritonBench bench(TritonAddingOne());
  TritonSend send(bench.triton);
  send.Floats({1, 2});
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestSetId(send.request, "seven"));
  CHECK_TRITON(Triton().TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction(
      send.allocator.allocator, TestAllocator::Attributes));
  CHECK_TRITON(Triton().TRITONSERVER_ResponseAllocatorSetQueryFunction(send.allocator.allocator,
                                                                       TestAllocator::Query));
  CHECK_EQ(send.Submit(), "");
  const auto answer = send.Only();
  CHECK_EQ(answer.error, "");
  CHECK_EQ(answer.id, "seven");
  CHECK_EQ(answer.version, 1);
  CHECK_EQ(answer.flags, uint32_t{TRITONSERVER_RESPONSE_COMPLETE_FINAL});
  CHECK(answer.dims == (Dims{2, 1}));
  CHECK(answer.bytes == BytesOf<float>({2, 3}));
  // The wish of the query is passed on.
  CHECK_EQ(answer.memory, TRITONSERVER_MEMORY_CPU_PINNED);
  CHECK_EQ(send.allocator.starts.load(), 1);
  CHECK_EQ(send.allocator.queries.load(), 1);
  CHECK_EQ(send.allocator.attributes.load(), 8);
  CHECK_EQ(send.allocator.releases.load(), 1);
}

TEST(triton_keeps_the_memory_of_a_response_until_it_is_deleted) {
  TritonBench bench(TritonAddingOne());
  TritonSend send(bench.triton);
  send.Floats({1});
  send.Keep();
  CHECK_EQ(send.Submit(), "");
  CHECK(send.Released(1));
  CHECK_EQ(send.allocator.allocations.load(), 1);
  CHECK_EQ(send.allocator.releases.load(), 0);
  // Charged only while the engine has the outputs.
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
  TRITONSERVER_InferenceResponse* const response = send.kept().front();
  const char* label = "";
  CHECK_TRITON(
      Triton().TRITONSERVER_InferenceResponseOutputClassificationLabel(response, 0, 0, &label));
  CHECK(label == nullptr);
  CHECK(Contains(TextOf(Triton().TRITONSERVER_InferenceResponseOutputClassificationLabel(
                     response, 1, 0, &label)),
                 "Invalid argument: out of bounds index 1, response has 1 outputs"));
  const char* name = nullptr;
  TRITONSERVER_ParameterType type;
  const void* value = nullptr;
  CHECK(Contains(
      TextOf(Triton().TRITONSERVER_InferenceResponseParameter(response, 0, &name, &type, &value)),
      "response has 0 parameters"));
}

TEST(triton_gives_the_parameters_of_a_response_and_none_of_an_error) {
  for (const bool fails : {false, true}) {
    Script script = TritonAddingOne();
    script.execute = [fails, execute = script.execute](uint32_t instance, Run& run) {
      ResponseParameterList list;
      CHECK(list.Set("text", std::string("x")).ok());
      CHECK(list.Set("whole", int64_t{-5}).ok());
      CHECK(list.Set("flag", false).ok());
      CHECK(list.Set("real", 0.25).ok());
      run.SetParameters(0, list.Take());
      if (fails) return run.RespondAll(Status::Internal("an injected failure"));
      execute(instance, run);
    };
    TritonBench bench(std::move(script));
    TritonSend send(bench.triton);
    send.Floats({1});
    CHECK_EQ(send.Submit(), "");
    CHECK_EQ(send.Only().parameters, fails ? "" : " text='x' whole=-5 flag=false real=0.250000");
  }
}

TEST(triton_returns_the_labels_of_classes) {
  TritonBench bench(TritonAddingOne());
  bench.server.server().Publish(
      {"", "m"}, R"({"state":"","reason":"","versions":[{"version":1,"state":"READY","reason":"",)"
                 R"("descriptor":{"uid":)" +
                     std::to_string(bench.uid) + R"(,"labels":{"y":["cat","dog"]}}}]})");
  TritonSend send(bench.triton);
  send.Floats({1});
  send.Keep();
  CHECK_EQ(send.Submit(), "");
  CHECK(send.Released(1));
  const auto label = [&](size_t index) {
    const char* text = nullptr;
    CHECK_TRITON(Triton().TRITONSERVER_InferenceResponseOutputClassificationLabel(
        send.kept().front(), 0, index, &text));
    return std::string(text ? text : "(none)");
  };
  CHECK_EQ(label(1), "dog");
  CHECK_EQ(label(2), "(none)");
}

TEST(triton_reads_inputs_of_several_parts_and_raw_ones) {
  TritonBench bench(TritonAddingOne());
  TritonSend parts(bench.triton);
  const float values[] = {1, 2, 3};
  const int64_t dims[] = {3, 1};
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestAddInput(parts.request, "x",
                                                              TRITONSERVER_TYPE_FP32, dims, 2));
  parts.Append(values, 4);
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  CHECK_TRITON(Triton().TRITONSERVER_BufferAttributesNew(&attributes));
  CHECK_TRITON(Triton().TRITONSERVER_BufferAttributesSetByteSize(attributes, 8));
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestAppendInputDataWithBufferAttributes(
      parts.request, "x", values + 1, attributes));
  CHECK_TRITON(Triton().TRITONSERVER_BufferAttributesDelete(attributes));
  CHECK_EQ(parts.Submit(), "");
  CHECK(parts.Only().bytes == BytesOf<float>({2, 3, 4}));

  TritonSend raw(bench.triton);
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestAddRawInput(raw.request, "x"));
  CHECK(Contains(TextOf(Triton().TRITONSERVER_InferenceRequestAddInput(
                     raw.request, "z", TRITONSERVER_TYPE_FP32, dims, 2)),
                 "input 'x' is raw, and so the only one"));
  raw.Append(values, 4);
  CHECK_EQ(raw.Submit(), "");
  CHECK(raw.Only().dims == (Dims{1, 1}));
  raw.Append(values, 4);
  // The other dim is fixed, so 8 bytes fit no shape.
  CHECK(Contains(raw.Submit(), "Invalid argument: "));
}

TEST(triton_reads_the_one_element_of_a_raw_input_of_bytes) {
  Script script;
  std::string seen;
  script.execute = [&](uint32_t, Run& run) {
    const Request* request = run.requests()[0];
    const Buffer chunk = request->chunk(*request->input(0));
    seen.assign(static_cast<const char*>(chunk.data), chunk.size);
    const float one = 1;
    const int64_t shape[] = {1, 1};
    run.SetRequestOutput(0, 0, DataType::kFp32, shape, &one, 4, nullptr);
    run.RespondAll(Status::Ok());
  };
  ModelIo io = FloatIo();
  io.inputs[0].datatype = DataType::kBytes;
  TritonBench bench(std::move(script), ConfigOf(io));
  TritonSend raw(bench.triton);
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestAddRawInput(raw.request, "x"));
  raw.Append("ab", 2);
  raw.Append("c", 1);
  CHECK_EQ(raw.Submit(), "");
  CHECK_EQ(raw.Only().error, "");
  CHECK(seen == std::string("\3\0\0\0abc", 7));
}

TEST(triton_changes_what_a_request_has) {
  TritonBench bench(TritonAddingOne());
  TritonSend send(bench.triton);
  send.Floats({1});
  const TritonFunctions& api = Triton();
  const int64_t dims[] = {1, 1};
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceRequestAddInput(send.request, "x",
                                                                  TRITONSERVER_TYPE_FP32, dims, 2)),
                 "input 'x' already exists in the request"));
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceRequestAddInput(
                     send.request, "z", TRITONSERVER_TYPE_INVALID, dims, 2)),
                 "unknown datatype 0"));
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceRequestRemoveInput(send.request, "z")),
                 "input 'z' does not exist in the request"));
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceRequestRemoveAllInputData(send.request, "z")),
                 "input 'z' does not exist in the request"));
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceRequestAppendInputData(
                     send.request, "x", dims, 4, TRITONSERVER_MEMORY_GPU, 1)),
                 "Unsupported: model 'm', input 'x': memory of GPU 1"));
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy(
                     send.request, "x", dims, 4, TRITONSERVER_MEMORY_CPU, 0, "numa0")),
                 "Unsupported: "));
  // Bytes that are removed and added again.
  const float nine = 9;
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestRemoveAllInputData(send.request, "x"));
  CHECK(Contains(send.Submit(), "Invalid argument"));
  send.Append(&nine, 4);
  // An output may be asked for twice.
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestAddRequestedOutput(send.request, "y"));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestAddRequestedOutput(send.request, "y"));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestAddRequestedOutput(send.request, "q"));
  CHECK(Contains(send.Submit(), "unknown output 'q'"));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestRemoveRequestedOutput(send.request, "q"));
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceRequestRemoveRequestedOutput(send.request, "q")),
                 "output 'q' is not requested"));
  CHECK_EQ(send.Submit(), "");
  CHECK(send.Only().bytes == BytesOf<float>({10}));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs(send.request));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestRemoveInput(send.request, "x"));
  send.Floats({3, 4});
  CHECK_EQ(send.Submit(), "");
  CHECK(send.Released(2));
  CHECK(send.all()[1].bytes == BytesOf<float>({4, 5}));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestRemoveAllInputs(send.request));
  CHECK(Contains(send.Submit(), "it is missing"));
}

TEST(triton_tells_the_attributes_of_a_request) {
  TritonBench bench(TritonAddingOne());
  TritonSend send(bench.triton);
  const TritonFunctions& api = Triton();
  const char* text = nullptr;
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestId(send.request, &text));
  CHECK_EQ(std::string(text), "");
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestSetFlags(send.request,
                                                         TRITONSERVER_REQUEST_FLAG_SEQUENCE_START));
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceRequestSetFlags(send.request, 8)),
                 "unknown flags 8"));
  uint32_t flags = 0;
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestFlags(send.request, &flags));
  CHECK_EQ(flags, 1u);
  uint64_t number = 0;
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestSetCorrelationId(send.request, 42));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestCorrelationId(send.request, &number));
  CHECK_EQ(number, 42u);
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceRequestCorrelationIdString(send.request, &text)),
                 "is not a string"));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestSetCorrelationIdString(send.request, "abc"));
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceRequestSetCorrelationIdString(
                     send.request, std::string(129, 'a').c_str())),
                 "Unsupported: "));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestCorrelationIdString(send.request, &text));
  CHECK_EQ(std::string(text), "abc");
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceRequestCorrelationId(send.request, &number)),
                 "is not an unsigned int"));
  uint32_t word = 0;
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestSetPriority(send.request, 3));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestPriority(send.request, &word));
  CHECK_EQ(word, 3u);
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestSetPriorityUInt64(send.request, uint64_t{1} << 40));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestPriorityUInt64(send.request, &number));
  CHECK_EQ(number, uint64_t{1} << 40);
  CHECK(Contains(TextOf(api.TRITONSERVER_InferenceRequestPriority(send.request, &word)),
                 "does not fit into 32 bits"));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestSetTimeoutMicroseconds(send.request, 500));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestTimeoutMicroseconds(send.request, &number));
  CHECK_EQ(number, 500u);
}

TEST(triton_passes_parameters_sequences_and_attributes_to_the_model) {
  std::string seen;
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    const Request* request = run.requests()[0];
    for (const RequestParameter& one : request->header->parameters) {
      seen += one.name + "=" + std::to_string(one.value.index()) + " ";
    }
    const SequenceMark& mark = request->header->marks()[request->position];
    seen += mark.id.text + (mark.start ? " start" : "") + (mark.end ? " end" : "");
    const float one = 1;
    const int64_t shape[] = {1, 1};
    run.SetRequestOutput(0, 0, DataType::kFp32, shape, &one, 4, nullptr);
    run.RespondAll(Status::Ok());
  };
  TritonBench bench(std::move(script));
  TritonSend send(bench.triton);
  send.Floats({1});
  const TritonFunctions& api = Triton();
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestSetStringParameter(send.request, "a", "text"));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestSetIntParameter(send.request, "b", 7));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestSetDoubleParameter(send.request, "c", 0.5));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestSetBoolParameter(send.request, "d", true));
  CHECK(Contains(
      TextOf(api.TRITONSERVER_InferenceRequestSetIntParameter(send.request, "priority", 7)),
      "set the priority of the request instead"));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestSetCorrelationIdString(send.request, "abc"));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestSetFlags(send.request, 3));
  CHECK_EQ(send.Submit(), "");
  CHECK_EQ(send.Only().error, "");
  CHECK_EQ(seen, "a=0 b=1 c=2 d=3 abc start end");
}

// --- Who owns what.

TEST(triton_leaves_a_refused_request_with_its_caller) {
  TritonBench bench(TritonAddingOne());
  TritonSend send(bench.triton);
  CHECK(Contains(send.Submit(), "Invalid argument"));
  CHECK(send.all().empty());
  CHECK_EQ(send.releases(), 0u);
  // It can be completed and submitted.
  send.Floats({1});
  CHECK_EQ(send.Submit(), "");
  CHECK_EQ(send.Only().error, "");
  TRITONSERVER_InferenceRequest* bare = nullptr;
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestNew(&bare, bench.triton, "m", -1));
  CHECK(Contains(TextOf(Triton().TRITONSERVER_ServerInferAsync(bench.triton, bare, nullptr)),
                 "no response callback"));
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestSetResponseCallback(
      bare, send.allocator.allocator, nullptr,
      [](TRITONSERVER_InferenceResponse*, uint32_t, void*) {}, nullptr));
  CHECK(Contains(TextOf(Triton().TRITONSERVER_ServerInferAsync(bench.triton, bare, nullptr)),
                 "no release callback"));
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestDelete(bare));
  TRITONSERVER_InferenceRequest* none = nullptr;
  CHECK(Contains(TextOf(Triton().TRITONSERVER_InferenceRequestNew(&none, bench.triton, "q", -1)),
                 "Not found: unknown model 'q'"));
  CHECK(Contains(TextOf(Triton().TRITONSERVER_InferenceRequestNew(&none, bench.triton, "m", -2)),
                 "Invalid argument: model 'm': expected a version"));
  CHECK(Contains(TextOf(Triton().TRITONSERVER_InferenceRequestNew(&none, nullptr, "m", -1)),
                 "Invalid argument"));
  CHECK(none == nullptr);
  CHECK(Contains(TextOf(Triton().TRITONSERVER_InferenceRequestNew(&none, bench.triton, "m", 9)),
                 "Not found: model 'm', version 9 is not available"));
}

TEST(triton_submits_and_deletes_requests_within_their_release_callbacks) {
  TritonBench bench(TritonAddingOne());
  TritonSend send(bench.triton);
  send.Floats({1});
  int left = 10;
  send.on_release = [&](TRITONSERVER_InferenceRequest* request) {
    if (left-- > 0) {
      CHECK_TRITON(Triton().TRITONSERVER_ServerInferAsync(bench.triton, request, nullptr));
    } else {
      CHECK_TRITON(
          Triton().TRITONSERVER_InferenceRequestDelete(std::exchange(send.request, nullptr)));
    }
  };
  CHECK_EQ(send.Submit(), "");
  CHECK(send.Released(11));
  CHECK_EQ(send.all().size(), 11u);
}

TEST(triton_refuses_changes_of_a_request_in_flight) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  TritonBench bench(ScriptOf(runs));
  TritonSend send(bench.triton);
  send.Floats({1});
  CHECK_EQ(send.Submit(), "");
  CHECK(runs->Started(1));
  CHECK(Contains(TextOf(Triton().TRITONSERVER_InferenceRequestDelete(send.request)),
                 "the request is in flight"));
  CHECK(Contains(TextOf(Triton().TRITONSERVER_InferenceRequestSetId(send.request, "a")),
                 "the request is in flight"));
  CHECK(Contains(send.Submit(), "the request is in flight"));
  runs->Open();
  CHECK_EQ(send.Only().error, "");
}

TEST(triton_cancels_only_what_was_submitted) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  TritonBench bench(ScriptOf(runs));
  TritonSend first(bench.triton);
  TritonSend second(bench.triton);
  first.Floats({1});
  second.Floats({2});
  CHECK(
      Contains(TextOf(Triton().TRITONSERVER_InferenceRequestCancel(second.request)), "Internal: "));
  bool cancelled = true;
  CHECK(Contains(
      TextOf(Triton().TRITONSERVER_InferenceRequestIsCancelled(second.request, &cancelled)),
      "Internal: "));
  CHECK_EQ(first.Submit(), "");
  CHECK(runs->Started(1));
  CHECK_EQ(second.Submit(), "");
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestIsCancelled(second.request, &cancelled));
  CHECK(!cancelled);
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestCancel(second.request));
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestIsCancelled(second.request, &cancelled));
  CHECK(cancelled);
  CHECK(Contains(second.Only().error, "Cancelled: "));
  runs->Open();
  CHECK_EQ(first.Only().error, "");
  // Nothing is in flight any more.
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestCancel(first.request));
}

TEST(triton_hands_out_the_responses_of_a_decoupled_model) {
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
  TritonBench bench(std::move(script), std::move(config));
  TritonSend send(bench.triton);
  send.Floats({5});
  send.Keep();
  CHECK_EQ(send.Submit(), "");
  CHECK(send.Released(1));
  const auto answers = send.all();
  CHECK_EQ(answers.size(), 4u);
  CHECK_EQ(answers[0].flags, 0u);
  CHECK(answers[2].bytes == BytesOf<float>({5}));
  CHECK(answers[3].null);
  CHECK_EQ(answers[3].flags, uint32_t{TRITONSERVER_RESPONSE_COMPLETE_FINAL});
  CHECK_EQ(send.allocator.starts.load(), 3);
}

TEST(triton_makes_errors_of_what_an_allocator_does_wrong) {
  TritonBench bench(TritonAddingOne());
  const auto error_with = [&](const std::function<void(TestAllocator&)>& change) {
    TritonSend send(bench.triton);
    send.Floats({1});
    change(send.allocator);
    CHECK_EQ(send.Submit(), "");
    return send.Only().error;
  };
  CHECK_EQ(error_with([](TestAllocator& one) { one.fail_start = "no start"; }),
           "Internal: no start");
  CHECK_EQ(error_with([](TestAllocator& one) { one.fail_alloc = "no room"; }),
           "Unavailable: no room");
  CHECK(Contains(error_with([](TestAllocator& one) { one.no_memory = true; }),
                 "Internal: model 'm', output 'y': the allocator returned no memory for 4 bytes"));
  CHECK(Contains(error_with([](TestAllocator& one) { one.of_gpu = true; }),
                 "Unsupported: model 'm', output 'y': the allocator returned memory of GPU 0"));
  TRITONSERVER_ResponseAllocator* none = nullptr;
  CHECK(
      Contains(TextOf(Triton().TRITONSERVER_ResponseAllocatorNew(&none, nullptr, nullptr, nullptr)),
               "Invalid argument"));
}

TEST(triton_allocates_outputs_without_bytes) {
  Script script;
  script.execute = [](uint32_t, Run& run) {
    const int64_t shape[] = {1, 0};
    static float none = 0;
    run.SetRequestOutput(0, 0, DataType::kFp32, shape, &none, 0, nullptr);
    run.RespondAll(Status::Ok());
  };
  ModelIo io = FloatIo();
  io.outputs[0].dims = {-1, -1};
  TritonBench bench(std::move(script), ConfigOf(io));
  TritonSend send(bench.triton);
  send.Floats({1});
  CHECK_EQ(send.Submit(), "");
  const auto answer = send.Only();
  CHECK_EQ(answer.error, "");
  CHECK(answer.dims == (Dims{1, 0}));
  CHECK_EQ(send.allocator.allocations.load(), 1);
}

TEST(triton_passes_on_the_errors_of_models) {
  Script script;
  script.execute = [](uint32_t, Run& run) { run.RespondAll(Status::NotFound("no such word")); };
  TritonBench bench(std::move(script));
  TritonSend send(bench.triton);
  send.Floats({1});
  CHECK_EQ(send.Submit(), "");
  CHECK_EQ(send.Only().error, "Not found: no such word");
  CHECK_EQ(send.allocator.starts.load(), 0);
}

TEST(triton_refuses_requests_to_a_closed_server_and_to_another_one) {
  auto other = std::make_unique<TritonBench>(TritonAddingOne());
  TritonBench bench(TritonAddingOne());
  TritonSend send(bench.triton);
  send.Floats({1});
  CHECK(
      Contains(TextOf(Triton().TRITONSERVER_ServerInferAsync(other->triton, send.request, nullptr)),
               "made for another server"));
  TRITONSERVER_Server* const gone = other->triton;
  other.reset();
  // The object outlives its server.
  TRITONSERVER_InferenceRequest* none = nullptr;
  CHECK_EQ(TextOf(Triton().TRITONSERVER_InferenceRequestNew(&none, gone, "m", -1)),
           "Unavailable: the server is closed");
  bool live = true;
  CHECK_TRITON(Triton().TRITONSERVER_ServerIsLive(gone, &live));
  CHECK(!live);
  bench.server.Close(0);
  CHECK_EQ(send.Submit(), "Unavailable: the server is closed");
}

TEST(triton_ends_requests_that_run_when_their_server_closes) {
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  TritonBench bench(ScriptOf(runs));
  TritonSend running(bench.triton);
  TritonSend waiting(bench.triton);
  running.Floats({1});
  waiting.Floats({2});
  CHECK_EQ(running.Submit(), "");
  CHECK(runs->Started(1));
  CHECK_EQ(waiting.Submit(), "");
  std::thread closing([&] { bench.server.Close(0); });
  CHECK(Contains(waiting.Only().error, "Cancelled: "));
  runs->Open();
  closing.join();
  CHECK(running.Released(1));
}

TEST(triton_serves_many_threads_that_submit_and_cancel) {
  TritonBench bench(TritonAddingOne(), ConfigOf(FloatIo(), 2, Dynamic(8)));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      for (size_t i = 1; i <= 50; i++) {
        TritonSend send(bench.triton);
        send.Floats({static_cast<float>(i)});
        CHECK_EQ(send.Submit(), "");
        if (i % 3 == 0) CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestCancel(send.request));
        const auto answer = send.Only();
        CHECK(answer.error.empty() || Contains(answer.error, "Cancelled"));
      }
    });
  }
  for (std::thread& one : threads) one.join();
}

}  // namespace tritonts::test
