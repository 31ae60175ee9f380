#include "find_backend.h"

#include <map>

#include "backend_table.h"

namespace tritonts {

namespace {

const std::map<std::string, Backend*>& Backends() {
  static const auto* const backends = [] {
    auto* const made = new std::map<std::string, Backend*>();
    for (const BackendEntry& entry : kBackends) made->emplace(entry.name, entry.make());
    return made;
  }();
  return *backends;
}

}  // namespace

Backend* FindBackend(const std::string& name) {
  const auto known = Backends().find(name);
  return known == Backends().end() ? nullptr : known->second;
}

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const auto& [name, backend] : Backends()) names.push_back(name);
  return names;
}

}  // namespace tritonts
