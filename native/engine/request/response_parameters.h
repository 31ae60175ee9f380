// Collects the parameters of a response: what a model returns besides outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/status.h"
#include "engine/request/request.h"

namespace tritonts {

// The limit of a response. A port writes all of its parameters to one page (port_layout.h).
constexpr size_t kMostResponseParameterBytes = size_t{64} << 10;

// Words of 4 bytes that a parameter takes in a port's page.
inline size_t ParameterWords(const RequestParameter& parameter) {
  const auto words = [](size_t bytes) { return (bytes + 3) / 4; };
  const size_t name = words(parameter.name.size());
  if (const auto* text = std::get_if<std::string>(&parameter.value)) {
    return 3 + name + words(text->size());
  }
  return 3 + name + (std::holds_alternative<bool>(parameter.value) ? 1 : 2);
}

// Bytes that the parameters of a response take there.
inline size_t ParameterBytes(const ResponseParameters& parameters) {
  size_t words = 0;
  if (!parameters) return words;
  for (const RequestParameter& one : *parameters) words += ParameterWords(one);
  return words * 4;
}

// Not thread-safe.
class ResponseParameterList {
 public:
  // Adds a parameter, or replaces the one of that name. INVALID_ARG: they would exceed the limit,
  // and nothing has changed. Throws std::bad_alloc without effect.
  Status Set(std::string_view name, std::variant<std::string, int64_t, double, bool> value) {
    RequestParameter made{std::string(name), std::move(value)};
    const auto known = std::find_if(
        all_.begin(), all_.end(), [name](const RequestParameter& one) { return one.name == name; });
    const bool is_new = known == all_.end();
    const size_t words = words_ - (is_new ? 0 : ParameterWords(*known)) + ParameterWords(made);
    if (words * 4 > kMostResponseParameterBytes) {
      return Status::InvalidArg("parameter '" + std::string(name.substr(0, kShownBytes)) +
                                "': expected at most " +
                                std::to_string(kMostResponseParameterBytes) +
                                " bytes for the parameters of a response, but they would take " +
                                std::to_string(words * 4));
    }
    if (is_new) {
      all_.push_back(std::move(made));
    } else {
      *known = std::move(made);
    }
    words_ = words;
    return Status::Ok();
  }
  bool empty() const { return all_.empty(); }
  // Gives the parameters, and is empty then. Throws std::bad_alloc without effect.
  ResponseParameters Take() {
    if (all_.empty()) return nullptr;
    auto taken = std::make_shared<std::vector<RequestParameter>>();
    taken->swap(all_);
    words_ = 0;
    return taken;
  }
  void Clear() {
    all_.clear();
    words_ = 0;
  }

 private:
  static constexpr size_t kShownBytes = 256;  // of a name, in messages

  std::vector<RequestParameter> all_;
  size_t words_ = 0;
};

}  // namespace tritonts
