#include "convert_ensemble.h"

#include <algorithm>
#include <utility>

#include "convert.h"

namespace tritonts {

namespace {

std::vector<EnsembleStep::Mapping> MappingsOf(const Napi::Value& value) {
  std::vector<EnsembleStep::Mapping> mappings;
  if (!value.IsArray()) return mappings;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value entry = array.Get(i);
    if (!entry.IsObject()) continue;
    const Napi::Object object = entry.As<Napi::Object>();
    mappings.push_back(
        {StringOf(object.Get("name")), static_cast<uint32_t>(NumberOf(object.Get("tensor")))});
  }
  return mappings;
}

bool Fits(const EnsemblePlan& plan) {
  const auto known = [&](const EnsembleStep::Mapping& mapping) {
    return mapping.tensor < plan.tensors;
  };
  return plan.io.inputs.size() <= plan.tensors && plan.outputs.size() == plan.io.outputs.size() &&
         std::all_of(plan.outputs.begin(), plan.outputs.end(),
                     [&](uint32_t tensor) { return tensor < plan.tensors; }) &&
         std::all_of(plan.steps.begin(), plan.steps.end(), [&](const EnsembleStep& step) {
           return std::all_of(step.inputs.begin(), step.inputs.end(), known) &&
                  std::all_of(step.outputs.begin(), step.outputs.end(), known);
         });
}

}  // namespace

std::vector<uint32_t> UidsOf(const Napi::Value& value) {
  std::vector<uint32_t> uids;
  if (!value.IsArray()) return uids;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    uids.push_back(static_cast<uint32_t>(NumberOf(array.Get(i))));
  }
  return uids;
}

std::vector<std::string> NamesOf(const Napi::Value& value) {
  std::vector<std::string> names;
  if (!value.IsArray()) return names;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) names.push_back(StringOf(array.Get(i)));
  return names;
}

EnsemblePlan EnsemblePlanOf(const Napi::Value& value) {
  EnsemblePlan plan;
  if (!value.IsObject()) return plan;
  const Napi::Object object = value.As<Napi::Object>();
  plan.io.max_batch_size = static_cast<uint32_t>(NumberOf(object.Get("maxBatchSize")));
  plan.io.inputs = SpecsOf(object.Get("inputs"));
  plan.io.outputs = SpecsOf(object.Get("outputs"));
  plan.tensors = static_cast<uint32_t>(NumberOf(object.Get("tensors")));
  plan.tensor_names = NamesOf(object.Get("tensorNames"));
  plan.outputs = UidsOf(object.Get("outputTensors"));
  plan.max_inflight = static_cast<uint32_t>(NumberOf(object.Get("maxInflight")));
  plan.conditional = FlagOf(object.Get("conditional"));
  plan.cached = FlagOf(object.Get("cached"));
  const Napi::Value steps = object.Get("steps");
  if (!steps.IsArray()) return {};
  const Napi::Array array = steps.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value entry = array.Get(i);
    if (!entry.IsObject()) continue;
    const Napi::Object step = entry.As<Napi::Object>();
    plan.steps.push_back({StringOf(step.Get("model")), MappingsOf(step.Get("inputs")),
                          MappingsOf(step.Get("outputs")), FlagOf(step.Get("decoupled"))});
  }
  return Fits(plan) ? plan : EnsemblePlan();
}

}  // namespace tritonts
