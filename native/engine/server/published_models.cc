#include "engine/server/published_models.h"

#include <utility>

namespace tritonts {

void PublishedModels::Set(const std::string& name, std::string json) {
  std::lock_guard lock(mutex_);
  models_[name] = {std::move(json), ++revision_};
}

bool PublishedModels::Remove(const std::string& name) {
  std::lock_guard lock(mutex_);
  return models_.erase(name) > 0;
}

PublishedModels::Snapshot PublishedModels::Read(const std::string& name,
                                                uint64_t known_revision) const {
  std::lock_guard lock(mutex_);
  Snapshot snapshot;
  const auto known = models_.find(name);
  if (known == models_.end()) return snapshot;
  snapshot.found = true;
  snapshot.revision = known->second.revision;
  snapshot.changed = known->second.revision != known_revision;
  if (snapshot.changed) snapshot.json = known->second.json;
  return snapshot;
}

std::vector<std::string> PublishedModels::Names() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, published] : models_) names.push_back(name);
  return names;
}

}  // namespace tritonts
