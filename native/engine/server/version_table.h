// The versions of a server by uid. A uid is never assigned twice.
//
// The server owns the table, and the table shares ownership of the versions. Any thread may call
// any function. References to versions are dropped with no lock held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace tritonts {

class Served;

class VersionTable {
 public:
  // Returns a new uid.
  uint32_t Reserve();
  // If Add throws std::bad_alloc, nothing was added.
  void Add(uint32_t uid, std::shared_ptr<Served> version);
  void Remove(uint32_t uid);
  // Null: the version does not exist or was removed.
  std::shared_ptr<Served> Find(uint32_t uid) const;
  bool Has(uint32_t uid) const;
  // Whether Reserve ever returned this uid.
  bool WasGiven(uint32_t uid) const;
  bool empty() const;
  // The version with the next greater uid, to iterate over all versions; null: none.
  std::shared_ptr<Served> After(uint32_t uid) const;

 private:
  mutable std::mutex mutex_;  // guards all below
  std::map<uint32_t, std::shared_ptr<Served>> versions_;
  uint32_t next_uid_ = 1;
};

}  // namespace tritonts
