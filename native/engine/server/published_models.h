// The models that the owner of a server has published, for every environment to read. Each model
// has one JSON text, with a revision that changes with every publication.
//
// The server owns it. Any thread may call any function. No callback runs under the lock.
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
    bool changed = false;  // the revision is not `known_revision`
    uint64_t revision = 0;
    std::string json;  // empty unless `changed`
  };

  void Set(const std::string& name, std::string json);
  // False: the model is not published.
  bool Remove(const std::string& name);
  Snapshot Read(const std::string& name, uint64_t known_revision) const;
  // The published models, sorted.
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
