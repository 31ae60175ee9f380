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
    : readers(plan.tensors), producers(plan.tensors), inputs(plan.steps.size()) {
  for (uint32_t step = 0; step < plan.steps.size(); step++) {
    for (const auto& mapping : plan.steps[step].inputs) {
      AddOnce(&readers[mapping.tensor], step);
      AddOnce(&inputs[step], mapping.tensor);
    }
    for (const auto& mapping : plan.steps[step].outputs) AddOnce(&producers[mapping.tensor], step);
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
    bindings->most_rows_ = std::min(bindings->most_rows_, io.max_batch_size);
    step.version = std::move(versions[i]);
    step.version->Use();
    bindings->steps_.push_back(std::move(step));
  }
  if (plan.conditional) bindings->most_rows_ = 0;
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
