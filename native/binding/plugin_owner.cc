#include "plugin_owner.h"

#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "addon.h"
#include "convert.h"
#include "guard.h"
#include "plugins/metrics.h"
#include "plugins/owner.h"
#include "plugins/plugin_library.h"
#include "plugins/server.h"

namespace tritonts {

namespace {

using plugins::Owner;
using plugins::Question;

PluginAnswers* AnswersOf(Napi::Env env, uint32_t server) {
  auto& all = DataOf(env).plugin_answers;
  const auto known = all.find(server);
  return known == all.end() ? nullptr : known->second.get();
}

// Has JavaScript answer. Nothing: the answer comes later.
std::optional<StatusOr<std::string>> Call(Napi::Env env, uint32_t server, uint64_t number,
                                          const Question& question) {
  PluginAnswers* const answers = AnswersOf(env, server);
  if (!answers) return Status::Unavailable(Reason::kClosed, "the server is closed");
  const Napi::Object files = Napi::Object::New(env);
  for (const auto& [path, bytes] : question.files) {
    // Defined, because to set `__proto__` would make no file of it.
    files.DefineProperty(Napi::PropertyDescriptor::Value(
        path, Napi::Buffer<char>::Copy(env, bytes.data(), bytes.size()),
        static_cast<napi_property_attributes>(napi_enumerable | napi_configurable)));
  }
  const napi_value arguments[] = {
      Napi::String::New(env, question.kind), Napi::String::New(env, question.arguments), files,
      Napi::Number::New(env, static_cast<double>(number)), Napi::String::New(env, question.asker)};
  napi_value result = nullptr;
  if (napi_call_function(env, env.Undefined(), answers->answer.Value(), std::size(arguments),
                         arguments, &result) != napi_ok) {
    // The function throws nothing, so the environment ends.
    return Status::Unavailable(Reason::kClosed, "the server is closed: its thread ends");
  }
  const Napi::Value value(env, result);
  if (value.IsString()) return StringOf(value);
  if (!value.IsObject()) return {};
  const Napi::Object status = value.As<Napi::Object>();
  return Status::Said(static_cast<uint64_t>(NumberOf(status.Get("code"))),
                      StringOf(status.Get("message")));
}

std::optional<StatusOr<std::string>> CallGuarded(Napi::Env env, uint32_t server, uint64_t number,
                                                 const Question& question) noexcept {
  try {
    return Call(env, server, number, question);
  } catch (const std::exception&) {
    return Status::NoMemory();
  }
}

// Has JavaScript's log take a message. What that throws is thrown where nobody catches it, as in a
// callback.
void Log(Napi::Env env, PluginAnswers* answers, const plugins::LogQueue::Message& message) {
  Napi::HandleScope scope(env);
  const napi_value arguments[] = {Napi::Number::New(env, message.level),
                                  Napi::String::New(env, message.text)};
  if (napi_call_function(env, env.Undefined(), answers->log.Value(), 2, arguments, nullptr) ==
      napi_ok) {
    return;
  }
  bool threw = false;
  napi_value error = nullptr;
  if (napi_is_exception_pending(env, &threw) == napi_ok && threw &&
      napi_get_and_clear_last_exception(env, &error) == napi_ok) {
    napi_fatal_exception(env, error);
  } else {
    // The environment ends.
    plugins::WriteToStderr(message.level, message.text);
  }
}

void LogSome(Napi::Env env, uint32_t server) noexcept;

// Has LogSome called. False: the environment ends.
bool AskToLog(Poster* poster, uint32_t server, plugins::LogQueue* messages) {
  try {
    return poster->PostUnheld([server](Napi::Env there) { LogSome(there, server); });
  } catch (const std::bad_alloc&) {
    messages->Untold();
    throw;
  }
}

// Has the log take some messages, and goes on in another turn of the event loop.
void LogSome(Napi::Env env, uint32_t server) noexcept {
  constexpr int kMostInATurn = 500;
  try {
    plugins::LogQueue::Message message;
    for (int i = 0; i < kMostInATurn; i++) {
      // The log may close the server.
      PluginAnswers* const answers = AnswersOf(env, server);
      if (!answers || !answers->messages->Take(&message)) return;
      Log(env, answers, message);
    }
    if (PluginAnswers* const answers = AnswersOf(env, server)) {
      // If the environment ends, its end writes the rest to stderr.
      (void)AskToLog(DataOf(env).poster.get(), server, answers->messages.get());
    }
  } catch (const std::bad_alloc&) {
    // The next message has the log take those that are left.
  }
}

// The answer to a question: its number, the number of a status (0: ok), and the text.
void AnswerPlugin(const Napi::CallbackInfo& info) {
  const auto number = static_cast<uint64_t>(NumberOf(info[0]));
  const auto code = static_cast<uint64_t>(NumberOf(info[1]));
  std::string text = StringOf(info[2]);
  if (code == 0) {
    plugins::Answer(number, std::move(text));
  } else {
    plugins::Answer(number, Status::Said(code, std::move(text)));
  }
}

// The metrics of plug-ins, as JSON.
Napi::Value PluginMetrics(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), plugins::MetricsJson());
}

// Opens libtritonserver.so at info[0]. Returns null, or why that is impossible.
Napi::Value OpenTritonLibrary(const Napi::CallbackInfo& info) {
  const Status status = plugins::OpenOwnLibrary(StringOf(info[0]));
  return status.ok() ? info.Env().Null() : ToJs(info.Env(), status);
}

}  // namespace

void OwnPlugins(const Napi::CallbackInfo& info, const Server& server) {
  const Napi::Env env = info.Env();
  const uint32_t id = server.id();
  auto answers = std::make_unique<PluginAnswers>();
  answers->answer = Napi::Persistent(info[2].As<Napi::Function>());
  answers->log = Napi::Persistent(info[3].As<Napi::Function>());
  const auto messages = std::make_shared<plugins::LogQueue>();
  answers->messages = messages;
  DataOf(env).plugin_answers[id] = std::move(answers);
  auto owner = std::make_shared<Owner>();
  owner->server = id;
  owner->thread = std::this_thread::get_id();
  owner->strict = FlagOf(info[0]);
  owner->levels = static_cast<uint32_t>(NumberOf(info[1]));
  const std::shared_ptr<Poster> poster = DataOf(env).poster;
  owner->post = [poster, id](uint64_t number, const Question& question) {
    return poster->PostUnheld([id, number, question](Napi::Env there) {
      auto answer = CallGuarded(there, id, number, question);
      if (answer) plugins::Answer(number, std::move(*answer));
    });
  };
  owner->now = [env, id](const Question& question) -> StatusOr<std::string> {
    Napi::HandleScope scope(env);
    // 0 stands for an answer that has to come at once.
    auto answer = CallGuarded(env, id, 0, question);
    if (answer) return std::move(*answer);
    return Status::Internal("there is no answer at once");
  };
  owner->log = [poster, id, messages](TRITONSERVER_LogLevel level, const std::string& message) {
    using Added = plugins::LogQueue::Added;
    const Added added = messages->Add(level, message);
    if (added == Added::kToTell && !AskToLog(poster.get(), id, messages.get())) messages->Close();
    return added != Added::kClosed;
  };
  plugins::AddOwner(std::move(owner));
}

void ForgetPlugins(Napi::Env env, uint32_t server) {
  plugins::RemoveOwner(server);
  auto& all = DataOf(env).plugin_answers;
  const auto known = all.find(server);
  if (known == all.end()) return;
  const std::unique_ptr<PluginAnswers> answers = std::move(known->second);
  all.erase(known);
  // A thread that has found the owner before writes to stderr.
  answers->messages->Refuse();
  plugins::LogQueue::Message message;
  while (answers->messages->Take(&message)) Log(env, answers.get(), message);
}

void LogLastMessages(Napi::Env env) {
  // The log may close a server.
  std::vector<uint32_t> servers;
  for (const auto& [server, answers] : DataOf(env).plugin_answers) servers.push_back(server);
  for (const uint32_t server : servers) {
    PluginAnswers* const answers = AnswersOf(env, server);
    if (!answers) continue;
    const std::shared_ptr<plugins::LogQueue> messages = answers->messages;
    // A plug-in may write without end.
    messages->Refuse();
    plugins::LogQueue::Message message;
    while (AnswersOf(env, server) && messages->Take(&message)) {
      Log(env, AnswersOf(env, server), message);
    }
  }
}

void ExportPlugins(Napi::Env env, Napi::Object exports) {
  Export<AnswerPlugin>(env, exports, "answerPlugin");
  Export<PluginMetrics>(env, exports, "pluginMetrics");
  Export<OpenTritonLibrary>(env, exports, "openTritonLibrary");
}

}  // namespace tritonts
