// Reads JSON, such as the configuration of a model (Model::Configure). Immutable, so any thread may
// read a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace tritonts {

class Json {
 public:
  // A null.
  Json() = default;
  // Reads a whole text. INVALID_ARG, with the place, if it is no JSON or is nested too deeply.
  static StatusOr<Json> Parse(std::string_view text);

  // The member of an object; a null if there is none, or if this is no object. If a name occurs
  // twice, the last member counts.
  const Json& Member(std::string_view name) const;
  // The elements of an array, or the members of an object; empty for all else.
  const std::vector<Json>& items() const { return items_; }
  // The names of an object's members, in the order of `items`; empty for all else.
  const std::vector<std::string>& names() const { return names_; }
  // The string; null if this is none. Borrowed.
  const std::string* text() const { return kind_ == Kind::kText ? &text_ : nullptr; }
  bool is_null() const { return kind_ == Kind::kNull; }
  // Whether this is `true`.
  bool flag() const { return kind_ == Kind::kTrue; }
  // The whole number; nullopt if this is none, or does not fit.
  std::optional<int64_t> integer() const;

 private:
  friend class JsonReader;
  enum class Kind : uint8_t { kNull, kFalse, kTrue, kNumber, kText, kList, kObject };

  Kind kind_ = Kind::kNull;
  std::string text_;                // the string, or the digits of a number
  std::vector<Json> items_;         // elements or members
  std::vector<std::string> names_;  // of members, by position in items_
};

}  // namespace tritonts
