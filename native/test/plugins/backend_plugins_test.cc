// Plug-ins of Triton run as backends of the engine: those that break rules, too.
#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "plugin_fixture.h"

namespace tritonts::test {

namespace {

TensorSpec Strings(const char* name) {
  return {name, DataType::kBytes, {-1, -1}, false};
}

// x, FP32 [N, 1], and outputs y like it, and BYTES of these names.
ModelIo IoOf(const std::vector<const char*>& strings) {
  ModelIo io = FloatIo();
  io.inputs[0].dims = io.outputs[0].dims = {-1, -1};
  for (const char* name : strings) io.outputs.push_back(Strings(name));
  return io;
}

// The elements of a BYTES tensor.
std::vector<std::string> TextsOf(const std::string& bytes) {
  std::vector<std::string> texts;
  for (size_t at = 0; at + 4 <= bytes.size();) {
    uint32_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof(size));
    texts.push_back(bytes.substr(at + 4, size));
    at += 4 + size;
  }
  return texts;
}

std::string Lines(const std::vector<std::string>& texts) {
  std::string lines;
  for (const std::string& text : texts) lines += text + "\n";
  return lines;
}

VersionConfig BreakerConfig(uint32_t instances = 1) {
  VersionConfig config = ConfigOf(IoOf({"told"}), instances, Dynamic(8));
  config.io.outputs[1].dims = {-1, 1};
  return config;
}

// A request by the rules is answered.
void CheckObeys(PluginVersion& version) {
  const SeenResponse seen = version.Answer(version.Make(3));
  CHECK_EQ(seen.status.message(), "");
  CHECK(seen.outputs.contains(0) && seen.outputs.at(0).bytes == BytesOf(Floats{3}));
}

}  // namespace

TEST(plugin_every_function_is_called_and_gives_what_it_must) {
  // There is no JavaScript here that the server could be asked about.
  const std::string json = PluginConfig(
      {{"alone", "yes"}}, R"(,"input":[{"name":"x","data_type":"TYPE_FP32","dims":[-1]}])");
  PluginVersion version("every", ConfigOf(IoOf({"called", "faults", "facts"}), 2, Dynamic(8)),
                        json);
  std::vector<Request*> sent;
  for (int i = 0; i < 20; i++) sent.push_back(version.Make(static_cast<float>(i)));
  version.Submit(sent);
  for (size_t i = 0; i < sent.size(); i++) {
    const SeenResponse seen = version.AnswerTo(sent[i]);
    CHECK_EQ(seen.status.message(), "");
    if (!seen.status.ok()) return;
    CHECK_EQ(seen.outputs.at(0).bytes, BytesOf(Floats{static_cast<float>(i)}));
    CHECK_EQ(Lines(TextsOf(seen.outputs.at(2).bytes)), "");
    CHECK_EQ(seen.parameters, "text='twice' whole=-7 flag=true real=0.250000");
    CHECK(TextsOf(seen.outputs.at(1).bytes).size() > 80);
  }
}

TEST(plugin_that_breaks_a_rule_gets_an_error_and_the_next_request_is_served) {
  // Whether the request is answered, by the rule that the plug-in breaks.
  const std::map<std::string, bool> rules = {
      {"two_finals", true},
      {"after_final", true},
      {"no_final", false},
      {"no_response", false},
      {"release_twice", true},
      {"release_nothing", true},
      {"reschedule", true},
      {"empty_final", false},
      {"factory_without_final", false},
      {"response_deleted", false},
      {"wrong_type", false},
      {"unknown_type", false},
      {"wrong_batch", false},
      {"wrong_rank", true},
      {"negative_shape", false},
      {"huge_shape", false},
      {"short_buffer", false},
      {"large_buffer", false},
      {"no_buffer", false},
      {"same_output_twice", true},
      {"two_buffers", true},
      {"gpu_buffer", true},
      {"unknown_tensors", true},
      {"odd_statistics", true},
      {"execute", false},
      {"execute_after_answer", true},
      {"execute_after_response", true},
      {"late", true},
      {"throws", false},
  };
  PluginVersion version("breaker", BreakerConfig(), PluginConfig());
  for (const auto& [rule, answered] : rules) {
    CheckObeys(version);
    Request* const request = version.Make(1, rule);
    // `told` has no value then.
    request->header->wanted = {0};
    const SeenResponse seen = version.Answer(request);
    if (answered) {
      CHECK_EQ(rule + ": " + seen.status.message(), rule + ": ");
    } else {
      CHECK_EQ(rule + ": " + (seen.status.ok() ? "answered" : "failed"), rule + ": failed");
      CHECK(seen.status.code() == (rule == "unknown_type" ? Code::kInvalidArg : Code::kInternal));
    }
    CheckObeys(version);
  }
}

TEST(plugin_with_two_responses_sends_the_outputs_of_the_one_that_it_sends) {
  PluginVersion version("breaker", BreakerConfig(), PluginConfig());
  for (int round = 0; round < 50; round++) {
    for (const char* rule : {"first_response_deleted_last", "first_response_deleted_between",
                             "first_response_deleted_by_another_thread", "response_after_send"}) {
      Request* const request = version.Make(7, rule);
      request->header->wanted = {0};
      const SeenResponse seen = version.Answer(request);
      CHECK_EQ(rule + (": " + seen.status.message()), rule + std::string(": "));
      CHECK(seen.outputs.contains(0) && seen.outputs.at(0).bytes == BytesOf(Floats{7}));
    }
    // The first response alone has the output 0.
    Request* const request = version.Make(7, "first_response_kept_back");
    request->header->wanted = {0, 1};
    const SeenResponse seen = version.Answer(request);
    CHECK(!seen.outputs.contains(0));
    CHECK(!seen.status.ok() || TextsOf(seen.outputs.at(1).bytes).at(0) == "second");
  }
}

TEST(plugin_that_stays_in_execute_holds_back_no_response_that_it_has_sent) {
  PluginVersion version("breaker", BreakerConfig(2), PluginConfig());
  for (int round = 0; round < 20; round++) {
    // After short runs, responses of a batch are gathered.
    for (int i = 0; i < 4; i++) CheckObeys(version);
    Request* const first = version.Make(1);
    Request* const second = version.Make(2, "stays");
    second->header->wanted = {0};
    version.Submit({first, second});
    CHECK(version.AnswerTo(first).status.ok());
    Request* const go = version.Make(3, "go");
    go->header->wanted = {0};
    CHECK(version.Answer(go).status.ok());
    CHECK(version.AnswerTo(second).status.ok());
  }
}

TEST(plugin_that_breaks_rules_on_many_threads_at_once) {
  PluginVersion version("breaker", BreakerConfig(3), PluginConfig());
  const std::vector<std::string> rules = {
      "",        "late",      "two_finals", "no_final", "late", "after_final", "release_twice",
      "execute", "no_buffer", "",           "late",     "late"};
  std::vector<Request*> sent;
  for (int i = 0; i < 600; i++) {
    sent.push_back(
        version.Make(static_cast<float>(i), rules[static_cast<size_t>(i) % rules.size()]));
    sent.back()->header->wanted = {0};
  }
  for (size_t i = 0; i < sent.size(); i += 10) {
    version.Submit(std::vector<Request*>(sent.begin() + static_cast<ptrdiff_t>(i),
                                         sent.begin() + static_cast<ptrdiff_t>(i) + 10));
  }
  for (size_t i = 0; i < sent.size(); i++) {
    const SeenResponse seen = version.AnswerTo(sent[i]);
    if (!seen.status.ok()) continue;
    // Its own value, and nobody else's.
    CHECK(seen.outputs.contains(0) &&
          seen.outputs.at(0).bytes == BytesOf(Floats{static_cast<float>(i)}));
  }
}

TEST(plugin_whose_caller_has_left_sees_it) {
  PluginVersion version("breaker", BreakerConfig(), PluginConfig());
  Request* const request = version.Make(1, "awaits_cancel");
  version.Submit({request});
  version.Cancel(request);
  CHECK(version.AnswerTo(request).status.code() == Code::kCancelled);
  CheckObeys(version);
}

TEST(plugin_whose_model_fails_to_initialise_is_loaded_again) {
  for (const char* where : {"model_initialize", "instance_initialize"}) {
    for (int round = 0; round < 3; round++) {
      const std::string json = PluginConfig({{"break", where}});
      const std::unique_ptr<Backend> backend(plugin::MakeBackend());
      auto model = backend->Load(PluginSpec("breaker", json));
      Status status = model.status();
      if (status.ok()) {
        const std::unique_ptr<Model> loaded = model.take();
        CHECK(loaded->Configure(BreakerConfig().io, json).ok());
        status = loaded->CreateInstance({"m_0", 0, MemoryKind::kHost, 0}).status();
      }
      CHECK(Contains(status.message(), std::string("broken: ") + where));
      CHECK(status.code() == Code::kUnavailable);
    }
  }
}

TEST(plugin_that_cannot_be_opened_says_why) {
  const std::unique_ptr<Backend> backend(plugin::MakeBackend());
  ModelSpec spec = PluginSpec("nothing", PluginConfig());
  CHECK(Contains(backend->Load(spec).status().message(), "libtriton_nothing.so"));
  // A library that is no backend.
  spec.settings["library"] = std::string(TRITONTS_FAKES) + "/libfakeonnxruntime.so";
  const Status status = backend->Load(spec).status();
  CHECK(status.code() == Code::kInvalidArg);
  CHECK(Contains(status.message(), "TRITONBACKEND_ModelInstanceExecute"));
  // One whose initialiser fails.
  const Status broken =
      backend->Load(PluginSpec("breaker", PluginConfig(), R"({"cmdline":{"break":"initialize"}})"))
          .status();
  CHECK(Contains(broken.message(), "broken: initialize"));
}

TEST(plugin_streams_from_its_own_threads_after_the_release) {
  ModelIo io = FloatIo(0);
  io.inputs[0] = {"x", DataType::kInt32, {1}, false};
  io.outputs[0] = {"y", DataType::kInt32, {1}, false};
  for (const char* place : {"alone", "with"}) {
    VersionConfig config = ConfigOf(io, 2);
    config.decoupled = true;
    PluginVersion version(
        "decoupled", std::move(config),
        PluginConfig({{"final", place}}, R"(,"model_transaction_policy":{"decoupled":true})"));
    for (uint32_t i = 0; i < 20; i++) {
      Request* const request = version.requests.Add(1);
      version.requests.Input(request, 0, DataType::kInt32, {1},
                             BytesOf(std::vector<int32_t>{static_cast<int32_t>(i)}));
      version.Submit({request});
    }
    for (uint32_t i = 0; i < 20; i++) {
      CHECK(Eventually([&] {
        const auto seen = version.sink.AllOf(i);
        return !seen.empty() && seen.back().final;
      }));
      int32_t next = 0;
      for (const SeenResponse& seen : version.sink.AllOf(i)) {
        if (!seen.outputs.contains(0)) continue;
        CHECK_EQ(seen.outputs.at(0).bytes, BytesOf(std::vector<int32_t>{next++}));
      }
      CHECK_EQ(next, static_cast<int32_t>(i));
    }
  }
}

}  // namespace tritonts::test
