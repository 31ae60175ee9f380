#include "engine/memory/region.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>

#include "engine/memory/memory_copier.h"

namespace tritonts {

namespace {

// Files that the exit of the process removes. It is never freed: other threads may run then.
struct Files {
  std::mutex mutex;
  std::map<std::string, platform::FileRange> all;
};

Files& FilesAtExit() {
  static auto* const files = [] {
    std::atexit([] {
      Files& left = FilesAtExit();
      std::lock_guard lock(left.mutex);
      for (const auto& [file, bytes] : left.all) platform::RemoveFile(file, bytes);
    });
    return new Files;
  }();
  return *files;
}

}  // namespace

Region::Region(std::string name, BlockRef memory, platform::FileRange bytes, RegionOrigin origin)
    : name_(std::move(name)),
      memory_(std::move(memory)),
      bytes_(bytes),
      origin_(std::move(origin)) {
  if (origin_.file.empty()) return;
  Files& files = FilesAtExit();
  std::lock_guard lock(files.mutex);
  files.all.insert_or_assign(origin_.file, bytes_);
}

Region::~Region() {
  if (origin_.file.empty()) return;
  Files& files = FilesAtExit();
  std::lock_guard lock(files.mutex);
  files.all.erase(origin_.file);
  platform::RemoveFile(origin_.file, bytes_);
}

int Region::device() const {
  return IsHostMemory(memory_->kind()) ? -1 : memory_->device();
}

Status Region::CheckWhole() const {
  if (!memory_->lost()) return Status::Ok();
  return Status::InvalidArg("shared memory region '" + name_ +
                            "': the shared memory was made shorter than the region; unregister the "
                            "region, and keep the size of registered memory");
}

StatusOr<Buffer> Region::Range(uint64_t offset, uint64_t size) const {
  const uint64_t all = memory_->size();
  if (offset <= all && size <= all - offset) {
    return Buffer{static_cast<char*>(memory_->data()) + offset, static_cast<size_t>(size),
                  memory_->kind(), memory_->device(), memory_};
  }
  return Status::InvalidArg("shared memory region '" + name_ + "' has " + std::to_string(all) +
                            " bytes, but a request names " + std::to_string(size) +
                            " bytes at offset " + std::to_string(offset));
}

StatusOr<uint32_t> RegionTable::Add(std::string name, BlockRef memory, platform::FileRange bytes,
                                    RegionOrigin origin) {
  if (memory->size() == 0) {
    return Status::InvalidArg("shared memory region '" + name + "': it has no bytes");
  }
  const auto region =
      std::make_shared<const Region>(std::move(name), std::move(memory), bytes, std::move(origin));
  std::lock_guard lock(mutex_);
  ForgetUnused();
  if (closed_) {
    return Status::Unavailable(
        Reason::kClosed, "shared memory region '" + region->name() + "': the server is closed");
  }
  if (Status taken = CheckNameLocked(region->name()); !taken.ok()) return taken;
  const auto named = ids_.emplace(region->name(), last_ + 1).first;
  try {
    regions_.emplace(last_ + 1, region);
  } catch (const std::bad_alloc&) {
    ids_.erase(named);
    throw;
  }
  for (const auto& [id, known] : regions_) {
    if (known == region || !known->bytes_.Overlaps(bytes)) continue;
    known->aliased_.store(true, std::memory_order_relaxed);
    region->aliased_.store(true, std::memory_order_relaxed);
  }
  return ++last_;
}

Status RegionTable::CheckName(const std::string& name) {
  std::lock_guard lock(mutex_);
  ForgetUnused();
  return CheckNameLocked(name);
}

Status RegionTable::CheckNameLocked(const std::string& name) const {
  const auto has_name = [&](const auto& one) { return one.entry.name == name; };
  if (NamedLocked(name) == 0 && std::ranges::none_of(leaving_, has_name)) return Status::Ok();
  return Status(Code::kAlreadyExists, "shared memory region '" + name + "' already in manager");
}

bool RegionTable::Remove(uint32_t id) {
  std::shared_ptr<const Region> region;  // dropped after the lock is released
  std::lock_guard lock(mutex_);
  const auto known = regions_.find(id);
  if (known == regions_.end()) return false;
  const Region& found = *known->second;
  leaving_.push_back(
      {{0, found.name(), found.size(), found.origin(), found.device()}, known->second});
  region = std::move(known->second);
  regions_.erase(known);
  ids_.erase(region->name());
  return true;
}

void RegionTable::ForgetUnused() {
  std::erase_if(leaving_, [](const Leaving& one) { return one.region.expired(); });
}

uint32_t RegionTable::NamedLocked(std::string_view name) const {
  const auto known = ids_.find(std::string(name));
  return known == ids_.end() ? 0 : known->second;
}

uint32_t RegionTable::Named(std::string_view name) const {
  std::lock_guard lock(mutex_);
  return NamedLocked(name);
}

std::vector<RegionEntry> RegionTable::All() {
  std::vector<RegionEntry> all;
  std::lock_guard lock(mutex_);
  ForgetUnused();
  all.reserve(regions_.size() + leaving_.size());
  for (const auto& [id, region] : regions_) {
    all.push_back({id, region->name(), region->size(), region->origin(), region->device()});
  }
  std::ranges::sort(all, {}, &RegionEntry::id);
  for (const Leaving& one : leaving_) all.push_back(one.entry);
  return all;
}

std::shared_ptr<const Region> RegionTable::Find(uint32_t id) const {
  std::lock_guard lock(mutex_);
  const auto known = regions_.find(id);
  return known == regions_.end() ? nullptr : known->second;
}

void RegionTable::Close() {
  std::unordered_map<uint32_t, std::shared_ptr<const Region>> regions;  // dropped after the lock
  std::lock_guard lock(mutex_);
  closed_ = true;
  regions.swap(regions_);
  ids_.clear();
  leaving_.clear();
}

}  // namespace tritonts
