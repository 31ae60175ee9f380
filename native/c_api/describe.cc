// What a server and its models report about themselves.
#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "c_api/model.h"

namespace tritonts::c_api {

namespace {

struct ModelList : tritonts_model_list {
  struct Entry : tritonts_model_entry {
    std::string texts[4];
  };
  std::deque<Entry> all;
  std::vector<const tritonts_model_entry*> pointers;

  void Add(const ModelKey& key, int64_t number, const Json& state) {
    const auto text = [&](const char* member) {
      const std::string* found = state.Member(member).text();
      return found ? *found : std::string();
    };
    Entry& entry = all.emplace_back();
    entry.texts[0] = key.model_namespace;
    entry.texts[1] = key.name;
    entry.texts[2] = text("state");
    entry.texts[3] = text("reason");
    entry.model_namespace = entry.texts[0].c_str();
    entry.name = entry.texts[1].c_str();
    entry.state = entry.texts[2].c_str();
    entry.reason = entry.texts[3].c_str();
    entry.version = number;
    pointers.push_back(&entry);
  }
};

struct ModelInfo : tritonts_model_info {
  std::shared_ptr<const Binding> binding;  // has the names and dims
  std::deque<tritonts_tensor_info> tensors;
  std::vector<const tritonts_tensor_info*> pointers[2];

  void Add(const std::vector<TensorSpec>& specs, std::vector<const tritonts_tensor_info*>* list) {
    for (const TensorSpec& spec : specs) {
      if (spec.internal) continue;
      const std::vector<int64_t>& dims = spec.outer.empty() ? spec.dims : spec.outer;
      list->push_back(&tensors.emplace_back(
          tritonts_tensor_info{spec.name.c_str(), dims.data(), dims.size(),
                               static_cast<int32_t>(spec.datatype), spec.optional ? 1 : 0}));
    }
  }
};

tritonts_duration DurationOf(const Duration& duration) {
  return {duration.count, duration.ns};
}

}  // namespace

const tritonts_model_list* ListModels(const Client& client) {
  auto list = std::make_unique<ModelList>();
  Server& server = client.server();
  for (const ModelKey& key : server.ModelKeys()) {
    const Server::Snapshot read = server.Read(key, UINT64_MAX);
    if (!read.found) continue;  // it was removed meanwhile
    auto parsed = Json::Parse(read.json);
    const Json published = parsed.ok() ? parsed.take() : Json();
    const std::vector<Json>& versions = published.Member("versions").items();
    for (const Json& one : versions) {
      list->Add(key, one.Member("version").integer().value_or(-1), one);
    }
    if (versions.empty()) list->Add(key, -1, published);
  }
  list->entries = list->pointers.data();
  list->count = list->pointers.size();
  return list.release();
}

void DeleteList(const tritonts_model_list* list) noexcept {
  delete static_cast<const ModelList*>(list);
}

StatusOr<const tritonts_model_info*> Describe(Model* model) {
  auto bound = model->Bind();
  if (!bound.ok()) return bound.status();
  auto info = std::make_unique<ModelInfo>();
  info->binding = bound.take();
  const Binding& binding = *info->binding;
  info->Add(binding.io().inputs, &info->pointers[0]);
  info->Add(binding.io().outputs, &info->pointers[1]);
  info->model_namespace = binding.key.model_namespace.c_str();
  info->name = binding.key.name.c_str();
  info->version = binding.version;
  info->max_batch_size = binding.io().max_batch_size;
  info->decoupled = binding.served->decoupled() ? 1 : 0;
  info->inputs = info->pointers[0].data();
  info->input_count = info->pointers[0].size();
  info->outputs = info->pointers[1].data();
  info->output_count = info->pointers[1].size();
  return static_cast<const tritonts_model_info*>(info.release());
}

void DeleteInfo(const tritonts_model_info* info) noexcept {
  delete static_cast<const ModelInfo*>(info);
}

Status ReadStatistics(Model* model, tritonts_statistics* statistics) {
  auto bound = model->Bind();
  if (!bound.ok()) return bound.status();
  const Binding& binding = *bound.value();
  const Statistics read = binding.served->statistics();
  tritonts_statistics told = {};
  told.version = binding.version;
  told.last_inference_ms = read.last_inference_ms;
  told.inference_count = read.inference_count;
  told.execution_count = read.execution_count;
  told.success = DurationOf(read.success);
  told.fail = DurationOf(read.fail);
  told.queue = DurationOf(read.queue);
  told.compute_input = DurationOf(read.compute_input);
  told.compute_infer = DurationOf(read.compute_infer);
  told.compute_output = DurationOf(read.compute_output);
  told.cache_hit = DurationOf(read.cache_hit);
  told.cache_miss = DurationOf(read.cache_miss);
  told.cancelled = read.cancelled;
  told.timed_out = read.rejected;
  told.refused = read.refused;
  told.in_flight_bytes = model->client()->server().in_flight_bytes();
  // The caller may have been compiled with a shorter or longer structure.
  told.size = std::min(statistics->size, sizeof(told));
  std::memcpy(statistics, &told, told.size);
  return Status::Ok();
}

}  // namespace tritonts::c_api
