// The versions of a server by their uids, which are never given twice.
//
// Any thread. Versions are let go of with no lock held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace tritonts {

class ModelVersion;

class VersionTable {
 public:
  // A uid for one more.
  uint32_t Reserve();
  // Throws std::bad_alloc, and then did nothing.
  void Add(uint32_t uid, std::shared_ptr<ModelVersion> version);
  void Remove(uint32_t uid);
  // Null where there is none, or not any more.
  std::shared_ptr<ModelVersion> Find(uint32_t uid) const;
  bool Has(uint32_t uid) const;
  // Whether such a uid was ever given.
  bool Knew(uint32_t uid) const;
  bool empty() const;
  // The one of the next uid after this one, to go through all of them; null: there is none.
  std::shared_ptr<ModelVersion> After(uint32_t uid) const;

 private:
  mutable std::mutex mutex_;  // guards all below
  std::map<uint32_t, std::shared_ptr<ModelVersion>> versions_;
  uint32_t next_uid_ = 1;
};

}  // namespace tritonts
