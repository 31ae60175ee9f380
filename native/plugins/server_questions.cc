// What TypeScript answers of servers: descriptions of models, loads, metrics. See plugins/owner.h
// for how it is asked.
#include <string>

#include "c_api/errors.h"
#include "engine/base/json_text.h"
#include "plugins/error.h"
#include "plugins/functions.h"
#include "plugins/message.h"
#include "plugins/model_object.h"
#include "plugins/owner.h"
#include "plugins/parameter.h"
#include "plugins/server.h"

struct TRITONSERVER_Metrics {
  const std::string text;  // Prometheus' format
};

namespace tritonts::plugins {

namespace {

// JavaScript's numbers hold all integers up to it.
constexpr int64_t kLargestVersion = (int64_t{1} << 53) - 1;

// The arguments of a question, as the members of a JSON object.
class QuestionArguments {
 public:
  QuestionArguments& Text(const char* name, const char* value) {
    return Member(name, JsonText(value ? value : ""));
  }
  QuestionArguments& Flag(const char* name, bool value) {
    return Member(name, value ? "true" : "false");
  }
  // A model, and a version of it unless that is -1.
  QuestionArguments& Model(const char* name, int64_t version = -1) {
    Text("model", name);
    return version < 0 ? *this : Member("version", std::to_string(version));
  }
  QuestionArguments& Member(const char* name, const std::string& json) {
    text_ += (text_.size() > 1 ? "," : "") + JsonText(name) + ":" + json;
    return *this;
  }
  std::string Json() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

StatusOr<std::string> Ask(TRITONSERVER_Server* server, Question question) {
  if (Status status = CheckServer(server); !status.ok()) return status;
  auto open = server->Open();
  if (!open.ok()) return open.status();
  if (Status status = open.value()->client()->CheckOpen(); !status.ok()) return status;
  // Nothing is held while the owner answers, so that the server can end meanwhile.
  const uint32_t id = server->id();
  open = Status::Ok();
  return AskOwner(id, question);
}

TRITONSERVER_Error* AskForMessage(TRITONSERVER_Server* server, const char* kind,
                                  const QuestionArguments& arguments,
                                  TRITONSERVER_Message** message) {
  auto answer = Ask(server, {kind, arguments.Json()});
  if (!answer.ok()) return MakeError(answer.status());
  *message = new TRITONSERVER_Message{answer.take()};
  return nullptr;
}

Status AskToDo(TRITONSERVER_Server* server, Question question) {
  return Ask(server, std::move(question)).status();
}

Status CheckVersioned(const TRITONSERVER_Server* server, const char* name, int64_t version) {
  if (Status status = CheckModel(server, name, version); !status.ok()) return status;
  if (version <= kLargestVersion) return Status::Ok();
  return Status::InvalidArg("model '" + c_api::Printable(name) +
                            "': expected a version of at most " + std::to_string(kLargestVersion) +
                            ", but received " + std::to_string(version));
}

// Asks about a model.
TRITONSERVER_Error* AskAbout(TRITONSERVER_Server* server, const char* kind, const char* name,
                             int64_t version, TRITONSERVER_Message** message) {
  if (Status status = CheckVersioned(server, name, version); !status.ok()) return MakeError(status);
  return AskForMessage(server, kind, QuestionArguments().Model(name, version), message);
}

Status AskToUnload(TRITONSERVER_Server* server, const char* name, bool dependents) {
  if (Status status = CheckModel(server, name); !status.ok()) return status;
  if (Status other = LifeCall::CheckIsOther(server, name); !other.ok()) return other;
  return AskToDo(server,
                 {"unload", QuestionArguments().Model(name).Flag("dependents", dependents).Json()});
}

Status CheckPath(const char* path) {
  if (path) return Status::Ok();
  return Status::InvalidArg("expected the path of a repository, but received NULL");
}

// Calls what returns an error object.
template <typename Call>
TRITONSERVER_Error* GuardError(Call&& call) noexcept {
  TRITONSERVER_Error* error = nullptr;
  TRITONSERVER_Error* const thrown = Guard([&] {
    error = call();
    return Status::Ok();
  });
  return thrown ? thrown : error;
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_ServerMetadata(TRITONSERVER_Server* server,
                                                TRITONSERVER_Message** server_metadata) noexcept {
  return GuardError([&] {
    return AskForMessage(server, "serverMetadata", QuestionArguments(), server_metadata);
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerModelMetadata(
    TRITONSERVER_Server* server, const char* model_name, int64_t model_version,
    TRITONSERVER_Message** model_metadata) noexcept {
  return GuardError(
      [&] { return AskAbout(server, "modelMetadata", model_name, model_version, model_metadata); });
}

TRITONSERVER_Error* TRITONSERVER_ServerModelStatistics(
    TRITONSERVER_Server* server, const char* model_name, int64_t model_version,
    TRITONSERVER_Message** model_stats) noexcept {
  return GuardError([&] {
    // As in Triton, no name means all models.
    const bool is_all = !model_name || *model_name == '\0';
    if (is_all) return AskForMessage(server, "statistics", QuestionArguments(), model_stats);
    return AskAbout(server, "statistics", model_name, model_version, model_stats);
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerModelConfig(TRITONSERVER_Server* server,
                                                   const char* model_name, int64_t model_version,
                                                   uint32_t config_version,
                                                   TRITONSERVER_Message** model_config) noexcept {
  return GuardError([&]() -> TRITONSERVER_Error* {
    if (config_version != 1) {
      return MakeError(Status::Unsupported("model configuration version " +
                                           std::to_string(config_version) +
                                           " not supported, supported versions are: 1"));
    }
    return AskAbout(server, "modelConfig", model_name, model_version, model_config);
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerModelIndex(TRITONSERVER_Server* server, uint32_t flags,
                                                  TRITONSERVER_Message** model_index) noexcept {
  return GuardError([&]() -> TRITONSERVER_Error* {
    if ((flags & ~uint32_t{TRITONSERVER_INDEX_FLAG_READY}) != 0) {
      return MakeError(
          Status::InvalidArg("unknown flags of an index of models: " + std::to_string(flags)));
    }
    const bool ready = (flags & TRITONSERVER_INDEX_FLAG_READY) != 0;
    return AskForMessage(server, "index", QuestionArguments().Flag("ready", ready), model_index);
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerLoadModel(TRITONSERVER_Server* server,
                                                 const char* model_name) noexcept {
  return TRITONSERVER_ServerLoadModelWithParameters(server, model_name, nullptr, 0);
}

TRITONSERVER_Error* TRITONSERVER_ServerLoadModelWithParameters(
    TRITONSERVER_Server* server, const char* model_name, const TRITONSERVER_Parameter** parameters,
    uint64_t parameter_count) noexcept {
  return Guard([&]() -> Status {
    constexpr std::string_view kFile = "file:";
    if (Status status = CheckModel(server, model_name); !status.ok()) return status;
    if (Status other = LifeCall::CheckIsOther(server, model_name); !other.ok()) return other;
    if (!parameters && parameter_count > 0) {
      return Status::InvalidArg("model '" + c_api::Printable(model_name) + "': expected " +
                                std::to_string(parameter_count) +
                                " parameters of a load, but received NULL");
    }
    QuestionArguments arguments;
    arguments.Model(model_name);
    Question question{"load", "", {}};
    for (uint64_t i = 0; i < parameter_count; i++) {
      if (!parameters[i]) {
        return Status::InvalidArg("model '" + c_api::Printable(model_name) +
                                  "': expected a parameter of a load, but received NULL at " +
                                  std::to_string(i));
      }
      const std::string& name = parameters[i]->name;
      const auto* const text = std::get_if<std::string>(&parameters[i]->value);
      const auto* const bytes = std::get_if<BorrowedBytes>(&parameters[i]->value);
      if (name == "config" && text) {
        arguments.Text("config", text->c_str());
      } else if (name.rfind(kFile, 0) == 0 && bytes) {
        question.files.emplace_back(
            name.substr(kFile.size()),
            std::string(static_cast<const char*>(bytes->data), bytes->size));
      } else {
        return Status::InvalidArg("model '" + std::string(model_name) + "': the parameter '" +
                                  name +
                                  "' of a load is unknown, or of the wrong type: expected "
                                  "'config', a string, or 'file:…', bytes");
      }
    }
    question.arguments = arguments.Json();
    return AskToDo(server, std::move(question));
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerUnloadModel(TRITONSERVER_Server* server,
                                                   const char* model_name) noexcept {
  return Guard([&] { return AskToUnload(server, model_name, false); });
}

TRITONSERVER_Error* TRITONSERVER_ServerUnloadModelAndDependents(TRITONSERVER_Server* server,
                                                                const char* model_name) noexcept {
  return Guard([&] { return AskToUnload(server, model_name, true); });
}

TRITONSERVER_Error* TRITONSERVER_ServerRegisterModelRepository(
    TRITONSERVER_Server* server, const char* repository_path,
    const TRITONSERVER_Parameter** name_mapping, uint32_t mapping_count) noexcept {
  return Guard([&]() -> Status {
    if (Status status = CheckPath(repository_path); !status.ok()) return status;
    // A parameter has the name of a folder, and as its value the name of the model.
    QuestionArguments names;
    for (uint32_t i = 0; i < mapping_count; i++) {
      if (!name_mapping || !name_mapping[i]) {
        return Status::InvalidArg("repository '" + std::string(repository_path) + "': expected " +
                                  std::to_string(mapping_count) +
                                  " names of models, but received NULL");
      }
      const auto* const text = std::get_if<std::string>(&name_mapping[i]->value);
      if (!text) {
        return Status::InvalidArg("repository '" + std::string(repository_path) +
                                  "': expected a string as the name of the model in the folder '" +
                                  name_mapping[i]->name + "'");
      }
      names.Text(name_mapping[i]->name.c_str(), text->c_str());
    }
    QuestionArguments arguments;
    arguments.Text("path", repository_path).Member("names", names.Json());
    return AskToDo(server, {"register", arguments.Json()});
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerUnregisterModelRepository(
    TRITONSERVER_Server* server, const char* repository_path) noexcept {
  return Guard([&]() -> Status {
    if (Status status = CheckPath(repository_path); !status.ok()) return status;
    return AskToDo(server,
                   {"unregister", QuestionArguments().Text("path", repository_path).Json()});
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerPollModelRepository(TRITONSERVER_Server* server) noexcept {
  return Guard([&] { return AskToDo(server, {"poll", QuestionArguments().Json()}); });
}

// --- Metrics: a snapshot of the text that Prometheus scrapes.

TRITONSERVER_Error* TRITONSERVER_ServerMetrics(TRITONSERVER_Server* server,
                                               TRITONSERVER_Metrics** metrics) noexcept {
  return Guard([&]() -> Status {
    auto answer = Ask(server, {"metrics", QuestionArguments().Json()});
    if (!answer.ok()) return answer.status();
    *metrics = new TRITONSERVER_Metrics{answer.take()};
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_MetricsDelete(TRITONSERVER_Metrics* metrics) noexcept {
  delete metrics;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricsFormatted(TRITONSERVER_Metrics* metrics,
                                                  TRITONSERVER_MetricFormat format,
                                                  const char** base, size_t* byte_size) noexcept {
  return Guard([&]() -> Status {
    if (format != TRITONSERVER_METRIC_PROMETHEUS) {
      return Status::InvalidArg("unknown format of metrics: " +
                                std::to_string(static_cast<int>(format)));
    }
    *base = metrics->text.data();
    *byte_size = metrics->text.size();
    return Status::Ok();
  });
}

}  // namespace tritonts::plugins
