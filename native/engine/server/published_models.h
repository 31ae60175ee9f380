// What the owner of a server has published of its models, for every environment to read: one JSON
// text a model, with a revision that is another one each time.
//
// Any thread. Nothing is called with the lock held.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tritonts {

class PublishedModels {
 public:
  struct Snapshot {
    bool found = false;
    bool changed = false;  // the revision is not the one that is known
    uint64_t revision = 0;
    std::string json;  // where it changed
  };

  void Set(const std::string& name, std::string json);
  // False: there is no such model.
  bool Remove(const std::string& name);
  Snapshot Read(const std::string& name, uint64_t known_revision) const;
  // Sorted.
  std::vector<std::string> Names() const;

 private:
  struct Published {
    std::string json;
    uint64_t revision = 0;
  };

  mutable std::mutex mutex_;  // guards all below
  std::map<std::string, Published> models_;
  uint64_t revision_ = 0;
};

}  // namespace tritonts
