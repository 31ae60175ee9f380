// The models that the owner of a server has published, for every environment to read. Each model
// has one JSON text, with a revision that changes with every publication. Several namespaces may
// have a model of the same name.
//
// The server owns it. Any thread may call any function. No callback runs under the lock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/server/model_key.h"

namespace tritonts {

class PublishedModels {
 public:
  struct Snapshot {
    bool found = false;
    bool changed = false;  // the revision is not `known_revision`
    uint64_t revision = 0;
    std::string json;  // empty unless `changed`
  };

  // `namespaces`: the server has several. Names that were published are remembered then.
  explicit PublishedModels(bool namespaces = false) : namespaces_(namespaces) {}

  void Set(const ModelKey& model, std::string json);
  // False: the model is not published.
  bool Remove(const ModelKey& model);
  Snapshot Read(const ModelKey& model, uint64_t known_revision) const;
  // The model that a name alone means: the one namespace's that has it. Empty: there is none, and
  // the server has no namespaces. With namespaces Triton's statuses: INVALID_ARG for a name that
  // was never published or that several namespaces have, NOT_FOUND for one that has gone.
  StatusOr<std::optional<ModelKey>> Resolve(std::string_view name) const;
  // Whether a model of this name still has this revision, whatever its namespace. No two
  // publications of a server have the same revision, so it identifies the model, too.
  bool IsCurrent(std::string_view name, uint64_t revision) const;
  // The published models, sorted by name, then by namespace.
  std::vector<ModelKey> Keys() const;

 private:
  struct Published {
    std::string json;
    uint64_t revision = 0;
  };

  const bool namespaces_;
  mutable std::mutex mutex_;  // guards all below
  std::map<ModelKey, Published, ByName> models_;
  std::set<std::string, std::less<>> seen_;  // names that were published; empty without namespaces
  uint64_t revision_ = 0;
};

}  // namespace tritonts
