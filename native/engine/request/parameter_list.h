// Lists of parameters: the bytes that they count, and how to find one by its name.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/request/request.h"

namespace tritonts {

// Words of 4 bytes that a parameter takes in a port's page, and that it counts in bytes in flight.
inline size_t ParameterWords(const RequestParameter& parameter) {
  const auto words = [](size_t bytes) { return (bytes + 3) / 4; };
  const size_t name = words(parameter.name.size());
  if (const auto* text = std::get_if<std::string>(&parameter.value)) {
    return 3 + name + words(text->size());
  }
  return 3 + name + (std::holds_alternative<bool>(parameter.value) ? 1 : 2);
}

// Bytes that a list of parameters counts.
inline size_t ParameterBytes(const std::vector<RequestParameter>& all) {
  size_t words = 0;
  for (const RequestParameter& one : all) words += ParameterWords(one);
  return words * 4;
}

// Finds parameters by name. A few are compared one after the other. More have an index, so that
// the time to add thousands does not grow with their square. This is the index of one list of
// parameters, which its owner keeps and passes to each call. Any number of threads may call Find
// while no other function runs.
class ParameterNames {
 public:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // The position of the parameter of this name; kNone: there is none.
  size_t Find(const std::vector<RequestParameter>& all, std::string_view name) const {
    if (positions_.empty()) {
      for (size_t i = 0; i < all.size(); i++) {
        if (all[i].name == name) return i;
      }
      return kNone;
    }
    auto [at, end] = positions_.equal_range(Hash(name));
    for (; at != end; ++at) {
      if (at->second < all.size() && all[at->second].name == name) return at->second;
    }
    return kNone;
  }

  // Called before a parameter of this name is added behind the others. If it is not added after
  // all, that has no effect. Throws std::bad_alloc without effect.
  void Add(const std::vector<RequestParameter>& all, std::string_view name) {
    if (all.size() < kFew) return;
    if (positions_.empty()) AddAll(all);
    positions_.emplace(Hash(name), all.size());
  }
  // Begins the index of a list that is complete. Throws std::bad_alloc without effect.
  void AddAll(const std::vector<RequestParameter>& all) {
    if (all.size() < kFew) return;
    Positions made;
    for (size_t i = 0; i < all.size(); i++) made.emplace(Hash(all[i].name), i);
    positions_ = std::move(made);
  }

  void Clear() { positions_.clear(); }

 private:
  static constexpr size_t kFew = 16;
  // By the hashes of the names, because the names move when the list grows.
  using Positions = std::unordered_multimap<size_t, size_t>;

  static size_t Hash(std::string_view name) { return std::hash<std::string_view>()(name); }

  Positions positions_;  // empty: the list is short
};

}  // namespace tritonts
