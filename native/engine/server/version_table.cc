#include "engine/server/version_table.h"

#include <utility>

namespace tritonts {

uint32_t VersionTable::Reserve() {
  std::lock_guard lock(mutex_);
  return next_uid_++;
}

void VersionTable::Add(uint32_t uid, std::shared_ptr<Served> version) {
  std::lock_guard lock(mutex_);
  versions_.emplace(uid, std::move(version));
}

void VersionTable::Remove(uint32_t uid) {
  std::shared_ptr<Served> version;  // dropped after the lock is released
  std::lock_guard lock(mutex_);
  const auto known = versions_.find(uid);
  if (known == versions_.end()) return;
  version = std::move(known->second);
  versions_.erase(known);
}

std::shared_ptr<Served> VersionTable::Find(uint32_t uid) const {
  std::lock_guard lock(mutex_);
  const auto known = versions_.find(uid);
  return known == versions_.end() ? nullptr : known->second;
}

bool VersionTable::Has(uint32_t uid) const {
  std::lock_guard lock(mutex_);
  return versions_.contains(uid);
}

bool VersionTable::WasGiven(uint32_t uid) const {
  std::lock_guard lock(mutex_);
  return uid > 0 && uid < next_uid_;
}

bool VersionTable::empty() const {
  std::lock_guard lock(mutex_);
  return versions_.empty();
}

std::shared_ptr<Served> VersionTable::After(uint32_t uid) const {
  std::lock_guard lock(mutex_);
  const auto next = versions_.upper_bound(uid);
  return next == versions_.end() ? nullptr : next->second;
}

}  // namespace tritonts
