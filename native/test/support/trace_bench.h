// A tracer whose traces go to a folder of the test.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "engine/trace/tracer.h"
#include "json/json.h"
#include "temporary_folder.h"

namespace tritonts::test {

class TraceBench {
 public:
  // Traces each request to the file "traces", unless `options` says otherwise.
  static TraceSetting::Options Each() {
    TraceSetting::Options options;
    options.timestamps = true;
    options.rate = 1;
    return options;
  }
  void Set(TraceSetting::Options options, const std::string& model = "", bool keeps_left = false) {
    if (options.file.empty()) options.file = (folder.path() / "traces").string();
    CHECK(tracer->Set(model, Tracer::Update{std::move(options), keeps_left}).ok());
  }
  void Unset(const std::string& model = "") { CHECK(tracer->Set(model, std::nullopt).ok()); }
  // Completes all files.
  void Stop() { tracer->writer().Stop(60'000); }

  // The text of a file; empty: there is none.
  std::string Text(const std::string& name = "traces") const {
    std::ifstream file(folder.path() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The objects of a complete file.
  std::vector<Json> Objects(const std::string& name = "traces") const {
    auto json = Json::Parse(Text(name));
    CHECK(json.ok());
    return json.ok() ? json.value().items() : std::vector<Json>();
  }
  // A line for each object of a file: the id, then the names of what begins or is stamped.
  std::vector<std::string> Lines(const std::string& name = "traces") const {
    std::vector<std::string> lines;
    for (const Json& object : Objects(name)) lines.push_back(LineOf(object));
    return lines;
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  TemporaryFolder folder;
  const std::shared_ptr<Tracer> tracer = std::make_shared<Tracer>();

 private:
  static std::string LineOf(const Json& object) {
    std::string line = std::to_string(object.Member("id").integer().value_or(0)) + " ";
    if (const std::string* model = object.Member("model_name").text()) {
      line += *model + "/" + std::to_string(object.Member("model_version").integer().value_or(-1));
      if (const auto parent = object.Member("parent_id").integer()) {
        line += " of " + std::to_string(*parent);
      }
      if (const std::string* id = object.Member("request_id").text()) line += " '" + *id + "'";
      return line;
    }
    if (const std::string* activity = object.Member("activity").text()) {
      const Json& tensor = object.Member("tensor");
      return line + *activity + " " + *tensor.Member("name").text() + " " +
             *tensor.Member("dtype").text() + " [" + *tensor.Member("shape").text() + "] " +
             *tensor.Member("data").text();
    }
    for (const Json& stamp : object.Member("timestamps").items()) {
      line += *stamp.Member("name").text();
    }
    return line;
  }
};

}  // namespace tritonts::test
