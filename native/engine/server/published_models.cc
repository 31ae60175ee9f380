#include "engine/server/published_models.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tritonts {

void PublishedModels::Set(const ModelKey& model, std::string json) {
  std::lock_guard lock(mutex_);
  if (namespaces_) seen_.insert(model.name);
  models_[model] = {std::move(json), ++revision_};
}

bool PublishedModels::Remove(const ModelKey& model) {
  std::lock_guard lock(mutex_);
  return models_.erase(model) > 0;
}

PublishedModels::Snapshot PublishedModels::Read(const ModelKey& model,
                                                uint64_t known_revision) const {
  std::lock_guard lock(mutex_);
  Snapshot snapshot;
  const auto known = models_.find(model);
  if (known == models_.end()) return snapshot;
  snapshot.found = true;
  snapshot.revision = known->second.revision;
  snapshot.changed = known->second.revision != known_revision;
  if (snapshot.changed) snapshot.json = known->second.json;
  return snapshot;
}

StatusOr<std::optional<ModelKey>> PublishedModels::Resolve(std::string_view name) const {
  std::lock_guard lock(mutex_);
  const auto [first, end] = models_.equal_range(name);
  const auto count = std::distance(first, end);
  const std::string shown(name);
  if (count == 1) return std::optional(first->first);
  // src/model-key.ts begins with the same text.
  if (count > 1) {
    return Status::InvalidArg("There are " + std::to_string(count) + " identifiers of model '" +
                              shown +
                              "' in global map, model namespace must be provided to resolve "
                              "ambiguity.");
  }
  if (!namespaces_) return std::optional<ModelKey>();
  if (seen_.contains(name)) {
    return Status::NotFound("Identifier of model '" + shown + "' is not found in global map");
  }
  return Status::InvalidArg("Request for unknown model: '" + shown + "' is not found");
}

bool PublishedModels::IsCurrent(std::string_view name, uint64_t revision) const {
  std::lock_guard lock(mutex_);
  const auto [first, end] = models_.equal_range(name);
  return std::any_of(first, end,
                     [&](const auto& model) { return model.second.revision == revision; });
}

std::vector<ModelKey> PublishedModels::Keys() const {
  std::lock_guard lock(mutex_);
  std::vector<ModelKey> keys;
  for (const auto& [key, published] : models_) keys.push_back(key);
  return keys;
}

}  // namespace tritonts
