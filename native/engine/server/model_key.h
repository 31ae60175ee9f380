// Which model of a server: its name, unique within its namespace. A server without namespaces has
// all its models in the default namespace, which is empty.
#pragma once

#include <string>
#include <string_view>
#include <tuple>

namespace tritonts {

struct ModelKey {
  std::string model_namespace;
  std::string name;

  friend bool operator==(const ModelKey& a, const ModelKey& b) {
    return a.name == b.name && a.model_namespace == b.model_namespace;
  }
};

// Orders keys by name, then by namespace. A map of this order finds all models of one name by the
// name alone, and copies no string for that.
struct ByName {
  using is_transparent = void;
  bool operator()(const ModelKey& a, const ModelKey& b) const {
    return std::tie(a.name, a.model_namespace) < std::tie(b.name, b.model_namespace);
  }
  bool operator()(const ModelKey& key, std::string_view name) const { return key.name < name; }
  bool operator()(std::string_view name, const ModelKey& key) const { return name < key.name; }
};

}  // namespace tritonts
