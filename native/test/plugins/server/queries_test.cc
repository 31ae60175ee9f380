// What Triton's in-process functions tell of servers, and what they ask the owner.
#include <future>
#include <thread>

#include "plugin_server_fixture.h"
#include "plugins/log.h"
#include "plugins/message.h"
#include "plugins/owner.h"

namespace tritonts::test {

namespace {

using plugins::Owner;
using plugins::Question;

// Answers questions on a thread of its own, as an environment does.
class TestOwner {
 public:
  explicit TestOwner(const Server& server) : owner_(std::make_shared<Owner>()) {
    owner_->server = server.id();
    owner_->levels = 1 << TRITONSERVER_LOG_ERROR | 1 << TRITONSERVER_LOG_INFO;
    owner_->post = [this](uint64_t number, const Question& question) {
      const bool is_open = !ended;
      if (silent) {
        posted = true;
        return is_open;  // this may be gone
      }
      std::lock_guard lock(mutex_);
      asked.push_back(question.kind + question.arguments);
      if (on_ask) on_ask();
      for (const auto& [path, bytes] : question.files) asked.back() += path + ":" + bytes;
      threads_.emplace_back([this, number, question] {
        if (question.kind == "unload") {
          plugins::Answer(number, Status::InvalidArg("not this one"));
        } else {
          plugins::Answer(number, "{\"of\":\"" + question.kind + "\"}");
        }
      });
      return is_open;
    };
    owner_->now = [](const Question& question) -> StatusOr<std::string> {
      return Status::Unavailable(Reason::kCircularCall, question.kind + " from its own thread");
    };
    owner_->log = [this](TRITONSERVER_LogLevel level, const std::string& message) {
      std::lock_guard lock(mutex_);
      logged.push_back(std::to_string(level) + " " + message);
      return true;
    };
  }
  void Begin() { plugins::AddOwner(owner_); }
  ~TestOwner() {
    plugins::RemoveOwner(owner_->server);
    for (std::thread& one : threads_) one.join();
  }
  Owner& owner() { return *owner_; }

  std::atomic<bool> ended{false};
  std::atomic<bool> silent{false};
  std::atomic<bool> posted{false};
  std::function<void()> on_ask;
  std::vector<std::string> asked;
  std::vector<std::string> logged;

 private:
  std::mutex mutex_;
  const std::shared_ptr<Owner> owner_;
  std::vector<std::thread> threads_;
};

std::string MessageOf(TRITONSERVER_Message* message) {
  const char* base = nullptr;
  size_t size = 0;
  CHECK(message != nullptr);
  if (!message) return "";
  CHECK_TRITON(Triton().TRITONSERVER_MessageSerializeToJson(message, &base, &size));
  std::string text(base, size);
  CHECK_TRITON(Triton().TRITONSERVER_MessageDelete(message));
  return text;
}

}  // namespace

TEST(triton_tells_whether_a_server_and_its_models_are_ready) {
  TritonBench bench(TritonAddingOne());
  const TritonFunctions& api = Triton();
  bool is = false;
  CHECK_TRITON(api.TRITONSERVER_ServerIsLive(bench.triton, &is));
  CHECK(is);
  CHECK_TRITON(api.TRITONSERVER_ServerIsReady(bench.triton, &is));
  CHECK(is);
  CHECK_TRITON(api.TRITONSERVER_ServerModelIsReady(bench.triton, "m", -1, &is));
  CHECK(is);
  CHECK_TRITON(api.TRITONSERVER_ServerModelIsReady(bench.triton, "m", 2, &is));
  CHECK(!is);
  CHECK_TRITON(api.TRITONSERVER_ServerModelIsReady(bench.triton, "q", -1, &is));
  CHECK(!is);
  Server& server = bench.server.server();
  // Unloaded, lazy and unloaded models do not count; failed ones do.
  server.Publish({"", "u"}, R"({"state":"UNAVAILABLE","reason":"unloaded","versions":[]})");
  server.Publish({"", "l"}, R"({"state":"","reason":"","versions":[],"lazy":[]})");
  CHECK_TRITON(api.TRITONSERVER_ServerIsReady(bench.triton, &is));
  CHECK(is);
  server.Publish({"", "f"}, R"({"state":"UNAVAILABLE","reason":"no file","versions":[]})");
  CHECK_TRITON(api.TRITONSERVER_ServerIsReady(bench.triton, &is));
  CHECK(!is);
  TestOwner owner(server);
  owner.owner().strict = false;
  owner.Begin();
  CHECK_TRITON(api.TRITONSERVER_ServerIsReady(bench.triton, &is));
  CHECK(is);
  bench.server.Close(0);
  CHECK_TRITON(api.TRITONSERVER_ServerIsLive(bench.triton, &is));
  CHECK(!is);
  CHECK_TRITON(api.TRITONSERVER_ServerIsReady(bench.triton, &is));
  CHECK(!is);
  CHECK(Contains(TextOf(api.TRITONSERVER_ServerModelIsReady(bench.triton, "m", -1, &is)),
                 "Unavailable"));
}

TEST(triton_tells_the_properties_of_models) {
  TritonBench bench(TritonAddingOne());
  uint32_t flags = 0;
  void* more = &flags;
  CHECK_TRITON(
      Triton().TRITONSERVER_ServerModelBatchProperties(bench.triton, "m", -1, &flags, &more));
  CHECK_EQ(flags, uint32_t{TRITONSERVER_BATCH_FIRST_DIM});
  CHECK(more == nullptr);
  CHECK_TRITON(Triton().TRITONSERVER_ServerModelTransactionProperties(bench.triton, "m", 1, &flags,
                                                                      nullptr));
  CHECK_EQ(flags, uint32_t{TRITONSERVER_TXN_ONE_TO_ONE});
  CHECK(Contains(TextOf(Triton().TRITONSERVER_ServerModelBatchProperties(bench.triton, "q", -1,
                                                                         &flags, nullptr)),
                 "Not found: unknown model 'q'"));
  VersionConfig config = ConfigOf(FloatIo(0));
  config.io.inputs[0].dims = config.io.outputs[0].dims = {-1};
  config.decoupled = true;
  TritonBench decoupled(TritonAddingOne(), std::move(config));
  CHECK_TRITON(
      Triton().TRITONSERVER_ServerModelBatchProperties(decoupled.triton, "m", -1, &flags, nullptr));
  CHECK_EQ(flags, uint32_t{TRITONSERVER_BATCH_UNKNOWN});
  CHECK_TRITON(Triton().TRITONSERVER_ServerModelTransactionProperties(decoupled.triton, "m", -1,
                                                                      &flags, &more));
  CHECK_EQ(flags, uint32_t{TRITONSERVER_TXN_DECOUPLED});
}

TEST(triton_asks_the_owner_for_what_it_alone_knows) {
  TritonBench bench;
  TestOwner owner(bench.server.server());
  owner.Begin();
  const TritonFunctions& api = Triton();
  const auto message = [&](const auto& call) {
    TRITONSERVER_Message* told = nullptr;
    CHECK_TRITON(call(&told));
    return MessageOf(told);
  };
  CHECK_EQ(message([&](auto** to) { return api.TRITONSERVER_ServerMetadata(bench.triton, to); }),
           R"({"of":"serverMetadata"})");
  message(
      [&](auto** to) { return api.TRITONSERVER_ServerModelMetadata(bench.triton, "a\"b", 3, to); });
  message(
      [&](auto** to) { return api.TRITONSERVER_ServerModelStatistics(bench.triton, "", -1, to); });
  message(
      [&](auto** to) { return api.TRITONSERVER_ServerModelConfig(bench.triton, "m", -1, 1, to); });
  message([&](auto** to) { return api.TRITONSERVER_ServerModelIndex(bench.triton, 1, to); });
  TRITONSERVER_Message* none = nullptr;
  CHECK(Contains(TextOf(api.TRITONSERVER_ServerModelConfig(bench.triton, "m", -1, 2, &none)),
                 "Unsupported: model configuration version 2"));
  CHECK(Contains(TextOf(api.TRITONSERVER_ServerModelIndex(bench.triton, 2, &none)),
                 "Invalid argument: unknown flags"));
  TRITONSERVER_Metrics* metrics = nullptr;
  CHECK_TRITON(api.TRITONSERVER_ServerMetrics(bench.triton, &metrics));
  const char* base = nullptr;
  size_t size = 0;
  CHECK_TRITON(
      api.TRITONSERVER_MetricsFormatted(metrics, TRITONSERVER_METRIC_PROMETHEUS, &base, &size));
  CHECK_EQ(std::string(base, size), R"({"of":"metrics"})");
  CHECK_TRITON(api.TRITONSERVER_MetricsDelete(metrics));
  CHECK_TRITON(api.TRITONSERVER_ServerLoadModel(bench.triton, "m"));
  TRITONSERVER_Parameter* const parameters[] = {
      api.TRITONSERVER_ParameterNew("config", TRITONSERVER_PARAMETER_STRING, "{}"),
      api.TRITONSERVER_ParameterBytesNew("file:1/a", "xy", 2),
      api.TRITONSERVER_ParameterNew("other", TRITONSERVER_PARAMETER_STRING, "v")};
  auto* const given = const_cast<const TRITONSERVER_Parameter**>(parameters);
  CHECK_TRITON(api.TRITONSERVER_ServerLoadModelWithParameters(bench.triton, "m", given, 2));
  CHECK(
      Contains(TextOf(api.TRITONSERVER_ServerLoadModelWithParameters(bench.triton, "m", given, 3)),
               "the parameter 'other' of a load"));
  CHECK_TRITON(api.TRITONSERVER_ServerRegisterModelRepository(bench.triton, "/r", given + 2, 1));
  CHECK_TRITON(api.TRITONSERVER_ServerUnregisterModelRepository(bench.triton, "/r"));
  CHECK_TRITON(api.TRITONSERVER_ServerPollModelRepository(bench.triton));
  for (TRITONSERVER_Parameter* one : parameters) api.TRITONSERVER_ParameterDelete(one);
  CHECK_EQ(TextOf(api.TRITONSERVER_ServerUnloadModel(bench.triton, "m")),
           "Invalid argument: not this one");
  CHECK(Contains(TextOf(api.TRITONSERVER_ServerUnloadModelAndDependents(bench.triton, "m")),
                 "not this one"));
  CHECK(owner.asked == (Names{
                           "serverMetadata{}",
                           R"(modelMetadata{"model":"a\"b","version":3})",
                           "statistics{}",
                           R"(modelConfig{"model":"m"})",
                           R"(index{"ready":true})",
                           "metrics{}",
                           R"(load{"model":"m"})",
                           R"(load{"model":"m","config":"{}"}1/a:xy)",
                           R"(register{"path":"/r","names":{"other":"v"}})",
                           R"(unregister{"path":"/r"})",
                           "poll{}",
                           R"(unload{"model":"m","dependents":false})",
                           R"(unload{"model":"m","dependents":true})",
                       }));
}

TEST(triton_has_lazy_models_loaded) {
  TritonBench bench(TritonAddingOne());
  bench.server.server().Publish({"n", "l"}, R"({"state":"","reason":"","versions":[],"lazy":[]})");
  TestOwner owner(bench.server.server());
  const uint32_t uid = bench.uid;
  Server& server = bench.server.server();
  owner.on_ask = [&server, uid] {
    server.Publish({"n", "l"}, R"({"state":"","reason":"","lazy":[],"versions":[{"version":1,)"
                               R"("state":"READY","reason":"","descriptor":{"uid":)" +
                                   std::to_string(uid) + "}}]}");
  };
  owner.Begin();
  bool is = false;
  CHECK_TRITON(Triton().TRITONSERVER_ServerModelIsReady(bench.triton, "l", -1, &is));
  CHECK(is);
  CHECK(owner.asked.empty());
  TRITONSERVER_InferenceRequest* request = nullptr;
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestNew(&request, bench.triton, "l", -1));
  CHECK_TRITON(Triton().TRITONSERVER_InferenceRequestDelete(request));
  CHECK(owner.asked == (Names{R"(wake{"model":"l","namespace":"n"})"}));
}

TEST(triton_does_not_wait_for_an_owner_that_cannot_answer) {
  TritonBench bench;
  const auto load = [&] {
    return TextOf(Triton().TRITONSERVER_ServerLoadModel(bench.triton, "m"));
  };
  // Nobody owns it.
  CHECK_EQ(load(), "Unavailable: the server is closed");
  {
    TestOwner owner(bench.server.server());
    owner.owner().thread = std::this_thread::get_id();
    owner.Begin();
    CHECK_EQ(load(), "Unavailable: load from its own thread");
  }
  {
    TestOwner owner(bench.server.server());
    owner.ended = true;
    owner.Begin();
    CHECK_EQ(load(), "Unavailable: the server is closed");
  }
  auto leaving = std::make_unique<TestOwner>(bench.server.server());
  leaving->silent = true;
  leaving->Begin();
  auto waiting = std::async(std::launch::async, load);
  CHECK(Eventually([&] { return leaving->posted.load(); }));
  leaving.reset();
  CHECK_EQ(waiting.get(), "Unavailable: the server is closed");
  TestOwner owner(bench.server.server());
  owner.silent = true;
  owner.Begin();
  auto closed = std::async(std::launch::async, load);
  bench.server.Close(0);
  CHECK_EQ(closed.get(), "Unavailable: the server is closed");
}

TEST(triton_writes_to_the_log_of_the_oldest_server) {
  const TritonFunctions& api = Triton();
  // Without a server, stderr takes errors.
  CHECK(api.TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_ERROR));
  CHECK(!api.TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_VERBOSE));
  TritonBench bench;
  TestOwner owner(bench.server.server());
  owner.Begin();
  CHECK(api.TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_INFO));
  CHECK(!api.TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_WARN));
  CHECK_TRITON(api.TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, "/a/b/file.cc", 12, "hello"));
  CHECK_TRITON(api.TRITONSERVER_LogMessage(TRITONSERVER_LOG_WARN, "/a/b/file.cc", 12, "unseen"));
  CHECK_TRITON(api.TRITONSERVER_LogMessage(TRITONSERVER_LOG_ERROR, nullptr, 0, "bare"));
  CHECK(owner.logged == (Names{"0 hello (file.cc:12)", "2 bare"}));
}

TEST(triton_bounds_the_messages_that_a_log_has_not_taken) {
  using plugins::LogQueue;
  LogQueue queue;
  CHECK(queue.Add(TRITONSERVER_LOG_INFO, "0") == LogQueue::Added::kToTell);
  constexpr size_t kBeyond = 7;
  for (size_t i = 1; i < LogQueue::kMostMessages + kBeyond; i++) {
    CHECK(queue.Add(TRITONSERVER_LOG_INFO, std::to_string(i)) == LogQueue::Added::kAsked);
  }
  LogQueue::Message message;
  for (size_t i = 0; i < LogQueue::kMostMessages; i++) {
    CHECK(queue.Take(&message));
    CHECK_EQ(message.text, std::to_string(i));
  }
  CHECK(queue.Take(&message));
  CHECK_EQ(message.level, TRITONSERVER_LOG_WARN);
  CHECK(Contains(message.text, "7 messages of plug-ins were dropped"));
  CHECK(!queue.Take(&message));
  // The bytes are bounded, too.
  const std::string large(LogQueue::kMostBytes, 'x');
  CHECK(queue.Add(TRITONSERVER_LOG_ERROR, large) == LogQueue::Added::kToTell);
  CHECK(queue.Add(TRITONSERVER_LOG_ERROR, "y") == LogQueue::Added::kAsked);
  CHECK(queue.Take(&message));
  CHECK_EQ(message.text.size(), large.size());
  CHECK(queue.Take(&message));
  CHECK(Contains(message.text, "1 messages of plug-ins were dropped"));
  queue.Close();
  CHECK(queue.Add(TRITONSERVER_LOG_ERROR, "late") == LogQueue::Added::kClosed);
}

TEST(triton_refuses_null_and_versions_that_mean_nothing) {
  TritonBench bench(TritonAddingOne());
  TestOwner owner(bench.server.server());
  owner.Begin();
  const TritonFunctions& api = Triton();
  const auto refused = [](TRITONSERVER_Error* error) {
    const std::string text = TextOf(error);
    CHECK(Contains(text, "Invalid argument: "));
    CHECK(Contains(text, "received") || Contains(text, "must not be null"));
  };
  bool is = false;
  uint32_t flags = 0;
  TRITONSERVER_Message* none = nullptr;
  refused(api.TRITONSERVER_ServerIsLive(nullptr, &is));
  refused(api.TRITONSERVER_ServerIsReady(nullptr, &is));
  refused(api.TRITONSERVER_ServerModelIsReady(nullptr, "m", -1, &is));
  refused(api.TRITONSERVER_ServerModelIsReady(bench.triton, nullptr, -1, &is));
  refused(api.TRITONSERVER_ServerModelIsReady(bench.triton, "m", -2, &is));
  refused(api.TRITONSERVER_ServerModelBatchProperties(bench.triton, "m", -2, &flags, nullptr));
  refused(
      api.TRITONSERVER_ServerModelTransactionProperties(bench.triton, nullptr, 1, &flags, nullptr));
  refused(api.TRITONSERVER_ServerMetadata(nullptr, &none));
  refused(api.TRITONSERVER_ServerModelMetadata(bench.triton, nullptr, -1, &none));
  refused(api.TRITONSERVER_ServerModelConfig(bench.triton, "m", -5, 1, &none));
  refused(api.TRITONSERVER_ServerModelStatistics(bench.triton, "m", -2, &none));
  refused(api.TRITONSERVER_ServerModelMetadata(bench.triton, "m", int64_t{1} << 53, &none));
  refused(api.TRITONSERVER_ServerLoadModel(bench.triton, nullptr));
  refused(api.TRITONSERVER_ServerLoadModelWithParameters(bench.triton, "m", nullptr, 1));
  const TRITONSERVER_Parameter* parameters[] = {nullptr};
  refused(api.TRITONSERVER_ServerLoadModelWithParameters(bench.triton, "m", parameters, 1));
  refused(api.TRITONSERVER_ServerUnloadModel(bench.triton, nullptr));
  refused(api.TRITONSERVER_ServerUnloadModelAndDependents(nullptr, "m"));
  refused(api.TRITONSERVER_ServerRegisterModelRepository(bench.triton, nullptr, nullptr, 0));
  refused(api.TRITONSERVER_ServerRegisterModelRepository(bench.triton, "/r", parameters, 1));
  refused(api.TRITONSERVER_ServerUnregisterModelRepository(bench.triton, nullptr));
  refused(api.TRITONSERVER_MessageNewFromSerializedJson(&none, nullptr, 3));
  CHECK(owner.asked.empty());

  TRITONSERVER_InferenceRequest* request = nullptr;
  refused(api.TRITONSERVER_InferenceRequestNew(&request, nullptr, "m", -1));
  refused(api.TRITONSERVER_InferenceRequestNew(&request, bench.triton, "m", -2));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestNew(&request, bench.triton, "m", -1));
  const int64_t dims[] = {1, 1};
  const float value = 1;
  refused(
      api.TRITONSERVER_InferenceRequestAddInput(request, nullptr, TRITONSERVER_TYPE_FP32, dims, 2));
  refused(
      api.TRITONSERVER_InferenceRequestAddInput(request, "x", TRITONSERVER_TYPE_FP32, nullptr, 2));
  refused(api.TRITONSERVER_InferenceRequestAddRawInput(request, nullptr));
  refused(api.TRITONSERVER_InferenceRequestRemoveInput(request, nullptr));
  refused(api.TRITONSERVER_InferenceRequestAppendInputData(request, nullptr, &value, 4,
                                                           TRITONSERVER_MEMORY_CPU, 0));
  refused(api.TRITONSERVER_InferenceRequestRemoveAllInputData(request, nullptr));
  refused(api.TRITONSERVER_InferenceRequestAddRequestedOutput(request, nullptr));
  refused(api.TRITONSERVER_InferenceRequestRemoveRequestedOutput(request, nullptr));
  refused(api.TRITONSERVER_InferenceRequestSetStringParameter(request, "k", nullptr));
  refused(api.TRITONSERVER_InferenceRequestSetIntParameter(request, nullptr, 1));
  refused(api.TRITONSERVER_InferenceRequestSetId(nullptr, "a"));
  CHECK_TRITON(api.TRITONSERVER_InferenceRequestDelete(request));

  CHECK_EQ(api.TRITONSERVER_StringToDataType(nullptr), TRITONSERVER_TYPE_INVALID);
  CHECK(!api.TRITONSERVER_ParameterNew(nullptr, TRITONSERVER_PARAMETER_STRING, "v"));
  CHECK(!api.TRITONSERVER_ParameterNew("n", TRITONSERVER_PARAMETER_STRING, nullptr));
  CHECK(!api.TRITONSERVER_ParameterBytesNew(nullptr, "xy", 2));
  CHECK(!api.TRITONSERVER_ParameterBytesNew("n", nullptr, 2));
}

TEST(triton_gives_native_programs_the_server_of_their_attachment) {
  TritonBench bench(TritonAddingOne());
  bench.Attach();
  TRITONSERVER_Server* found = nullptr;
  CHECK_API(Api().triton_server(bench.attachment, &found));
  CHECK(found == bench.triton);
  CHECK(Contains(TextOf(Api().triton_server(bench.attachment, nullptr)), "INVALID_ARG"));
  CHECK(Contains(TextOf(Api().triton_server(nullptr, &found)), "INVALID_ARG"));
  CHECK_EQ(plugins::FindServer(c_api::EngineId() + 1, 1).status().code(), Code::kInvalidArg);
  bench.server.Close(0);
  CHECK(Contains(TextOf(Api().triton_server(bench.attachment, &found)), "CLOSED"));
}

TEST(triton_refuses_to_make_servers) {
  TRITONSERVER_ServerOptions* options = nullptr;
  const std::string text = TextOf(Triton().TRITONSERVER_ServerOptionsNew(&options));
  CHECK(Contains(text, "Unsupported: TRITONSERVER_ServerOptionsNew: servers are made"));
  CHECK(Contains(text, "createServer()"));
  TRITONSERVER_Server* server = nullptr;
  CHECK(Contains(TextOf(Triton().TRITONSERVER_ServerNew(&server, nullptr)), "createServer()"));
}

}  // namespace tritonts::test
