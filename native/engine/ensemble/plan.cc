#include "engine/ensemble/plan.h"

#include <algorithm>
#include <utility>

#include "engine/base/rules.h"

namespace tritonts {

namespace {

constexpr uint32_t kMostTogether = 256;
constexpr uint64_t kMostBytes = uint64_t{1} << 46;

void AddOnce(std::vector<uint32_t>* list, uint32_t value) {
  if (std::find(list->begin(), list->end(), value) == list->end()) list->push_back(value);
}

template <typename Specs>
int32_t IndexOf(const Specs& specs, const std::string& name) {
  for (size_t i = 0; i < specs.size(); i++) {
    if (specs[i].name == name) return static_cast<int32_t>(i);
  }
  return -1;
}

}  // namespace

EnsembleGraph::EnsembleGraph(const EnsemblePlan& plan)
    : readers(plan.tensors),
      producers(plan.tensors),
      inputs(plan.steps.size()),
      region(plan.steps.size(), kRoot),
      origin(plan.tensors, kRoot),
      carried(plan.steps.size()) {
  for (uint32_t step = 0; step < plan.steps.size(); step++) {
    for (const auto& mapping : plan.steps[step].inputs) {
      AddOnce(&readers[mapping.tensor], step);
      AddOnce(&inputs[step], mapping.tensor);
    }
    for (const auto& mapping : plan.steps[step].outputs) AddOnce(&producers[mapping.tensor], step);
  }
  if (!plan.decoupled()) return;
  FindRegions(plan);
  FindCarried(plan);
}

std::string EnsemblePlan::NameOf(uint32_t tensor) const {
  return tensor < tensor_names.size() ? tensor_names[tensor] : std::to_string(tensor);
}

bool EnsemblePlan::decoupled() const {
  return std::any_of(steps.begin(), steps.end(), [](const auto& step) { return step.decoupled; });
}

bool EnsembleGraph::IsWithin(uint32_t region_of, uint32_t step) const {
  for (; region_of != kRoot; region_of = region[region_of]) {
    if (region_of == step) return true;
  }
  return false;
}

void EnsembleGraph::FindRegions(const EnsemblePlan& plan) {
  // Steps may be listed in any order, so each round propagates origins by at least one step.
  for (size_t round = 0; round <= plan.steps.size(); round++) {
    for (uint32_t step = 0; step < plan.steps.size(); step++) {
      for (const uint32_t input : inputs[step]) {
        // TypeScript has checked that there is one such origin.
        if (origin[input] != kRoot && origin[input] != step) region[step] = origin[input];
      }
      for (const auto& mapping : plan.steps[step].outputs) {
        origin[mapping.tensor] = plan.steps[step].decoupled ? step : region[step];
      }
    }
  }
}

void EnsembleGraph::FindCarried(const EnsemblePlan& plan) {
  for (uint32_t one = 0; one < plan.steps.size(); one++) {
    if (!plan.steps[one].decoupled) continue;
    for (uint32_t step = 0; step < plan.steps.size(); step++) {
      if (!IsWithin(region[step], one)) continue;
      for (const auto& mapping : plan.steps[step].inputs) {
        if (!IsWithin(origin[mapping.tensor], one)) AddOnce(&carried[one], mapping.tensor);
      }
    }
    for (const uint32_t output : plan.outputs) {
      if (!IsWithin(origin[output], one)) AddOnce(&carried[one], output);
    }
    for (const uint32_t tensor : carried[one]) {
      AddOnce(&readers[tensor], one);
      AddOnce(&inputs[one], tensor);
    }
  }
}

std::shared_ptr<const EnsembleBindings> EnsembleBindings::Make(
    const std::string& ensemble, const EnsemblePlan& plan,
    std::vector<std::shared_ptr<Served>> versions, Status* reason) {
  std::shared_ptr<EnsembleBindings> bindings(new EnsembleBindings());
  if (versions.size() != plan.steps.size()) {
    *reason = Status::Internal("model '" + ensemble + "': a step has no version");
    return nullptr;
  }
  bindings->most_rows_ = kMostTogether;
  bindings->steps_.reserve(versions.size());
  for (size_t i = 0; i < versions.size(); i++) {
    const ModelIo& io = versions[i]->io();
    const EnsembleStep& wanted = plan.steps[i];
    Step step;
    const auto miss = [&](const char* what, const std::string& name) {
      *reason = Status::InvalidArg("model '" + ensemble + "': the model '" + wanted.model +
                                   "' of a step has no " + what + " '" + name + "' any more");
      return nullptr;
    };
    for (const auto& mapping : wanted.inputs) {
      const int32_t index = IndexOf(io.inputs, mapping.name);
      if (index < 0) return miss("input", mapping.name);
      step.inputs.push_back(static_cast<uint32_t>(index));
    }
    step.mapping_of.assign(io.outputs.size(), -1);
    for (size_t k = 0; k < wanted.outputs.size(); k++) {
      const int32_t index = IndexOf(io.outputs, wanted.outputs[k].name);
      if (index < 0) return miss("output", wanted.outputs[k].name);
      step.wanted.push_back(static_cast<uint32_t>(index));
      step.mapping_of[static_cast<size_t>(index)] = static_cast<int32_t>(k);
    }
    if (versions[i]->decoupled() != wanted.decoupled) {
      *reason = Status::InvalidArg("model '" + ensemble + "': the model '" + wanted.model +
                                   "' of a step is " +
                                   (wanted.decoupled ? "not decoupled any more" : "decoupled now") +
                                   ": reload the ensemble");
      return nullptr;
    }
    bindings->most_rows_ = std::min(bindings->most_rows_, io.max_batch_size);
    // Requests that differ in the values of a shape tensor do not share the step's header.
    if (std::ranges::any_of(io.inputs, &TensorSpec::rows_in_values)) bindings->most_rows_ = 0;
    bindings->alone_ = bindings->alone_ || versions[i]->alone();
    step.version = std::move(versions[i]);
    step.version->Use();
    bindings->steps_.push_back(std::move(step));
  }
  // A request of a sequence that waits for a slot must not hold the others of its flight.
  if (bindings->alone_) bindings->most_rows_ = 0;
  if (plan.conditional || plan.decoupled()) bindings->most_rows_ = 0;
  return bindings;
}

EnsembleBindings::~EnsembleBindings() {
  for (const Step& step : steps_) step.version->DropUse();
}

uint32_t EnsembleBindings::Together(uint32_t rows) const {
  return std::max(1u, most_rows_ / std::max(1u, rows));
}

uint64_t EnsembleBindings::KnownOutputBytes(uint64_t rows) const {
  uint64_t bytes = 0;
  for (const Step& step : steps_) {
    bytes = std::min(bytes + step.version->KnownOutputBytes(rows), kMostBytes);
  }
  return bytes;
}

}  // namespace tritonts
