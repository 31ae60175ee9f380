// A backend that is one folder here and one in TypeScript (test/support/backends/probe/), and that
// nothing else names: an example, and a test of what a backend is given. Only tritonts_faults.node
// and test programs contain it.
//
// Output 0 is input 0, one FP32 [n] per request, times the parameter `factor` of the configuration,
// plus the setting `addend`, which TypeScript decides. Output 1, if there is one, has two INT32 per
// request: `count` of the configuration's first instance group, and its `max_batch_size`.
#include "engine/backend.h"

#include <array>
#include <charconv>
#include <cstring>

#include "json/json.h"

namespace tritonts::probe {

namespace {

constexpr int64_t kFactsShape[] = {1, 2};

struct Plan {
  float factor = 1;
  float addend = 0;
  std::array<int32_t, 2> facts{};
  bool tells_facts = false;
};

int64_t IntegerOf(const std::string& text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class ProbeInstance final : public Instance {
 public:
  explicit ProbeInstance(Plan plan) : plan_(plan) {}

  void Execute(Run& run) override {
    run.MarkInputsReady();
    run.MarkComputed();
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      const Status status = Answer(run, i);
      run.Respond(i, status);
    }
  }

 private:
  Status Answer(Run& run, uint32_t i) const {
    const InputTensor* const input = run.input(i, 0);
    auto output = run.Output(i, 0, DataType::kFp32, input->shape);
    if (!output.ok()) return output.status();
    auto* to = static_cast<char*>(output.value().data);
    for (size_t k = 0; k < input->first_chunks.size(); k++) {
      const Buffer chunk = run.requests()[i]->chunk(*input, k);
      for (size_t at = 0; at + sizeof(float) <= chunk.size; at += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, static_cast<const char*>(chunk.data) + at, sizeof(value));
        value = value * plan_.factor + plan_.addend;
        std::memcpy(to, &value, sizeof(value));
        to += sizeof(value);
      }
    }
    if (!plan_.tells_facts) return Status::Ok();
    auto facts = run.Output(i, 1, DataType::kInt32, kFactsShape);
    if (!facts.ok()) return facts.status();
    std::memcpy(facts.value().data, plan_.facts.data(), sizeof(plan_.facts));
    return Status::Ok();
  }

  const Plan plan_;
};

class ProbeModel final : public Model {
 public:
  explicit ProbeModel(float addend) { plan_.addend = addend; }

  // Empty: the configuration says everything.
  ModelDescription Describe() const override { return {}; }
  Status Configure(const ModelIo& io, std::string_view json) override {
    auto config = Json::Parse(json);
    if (!config.ok()) return config.status();
    const Json& whole = config.value();
    const std::string* factor =
        whole.Member("parameters").Member("factor").Member("string_value").text();
    if (!factor) return Status::InvalidArg("parameter 'factor' is missing");
    plan_.factor = static_cast<float>(IntegerOf(*factor));
    const auto& groups = whole.Member("instance_group").items();
    if (groups.empty()) return Status::Internal("the configuration has no instance group");
    plan_.facts = {static_cast<int32_t>(groups[0].Member("count").integer().value_or(-1)),
                   static_cast<int32_t>(whole.Member("max_batch_size").integer().value_or(-1))};
    plan_.tells_facts = io.outputs.size() > 1;
    return Status::Ok();
  }
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec&) override {
    return std::unique_ptr<Instance>(new ProbeInstance(plan_));
  }

 private:
  Plan plan_;
};

class ProbeBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override {
    const auto addend = spec.settings.find("addend");
    if (addend == spec.settings.end()) return Status::InvalidArg("setting 'addend' is missing");
    return std::unique_ptr<Model>(new ProbeModel(static_cast<float>(IntegerOf(addend->second))));
  }
  StatusOr<std::map<std::string, std::string>> OpenRuntime(
      const std::map<std::string, std::string>& settings) override {
    const auto version = settings.find("version");
    if (version == settings.end()) return Status::Internal("setting 'version' is missing");
    return std::map<std::string, std::string>{{"library", "probe"}, {"version", version->second}};
  }
  bool may_run_on_js_thread() const override { return true; }
};

}  // namespace

Backend* MakeBackend() {
  return new ProbeBackend();
}

}  // namespace tritonts::probe
