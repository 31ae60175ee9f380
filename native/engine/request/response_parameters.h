// Collects the parameters of a response: what a model returns besides outputs.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/status.h"
#include "engine/request/parameter_list.h"
#include "engine/request/request.h"

namespace tritonts {

// The limit of a response. A port writes all of its parameters to one page (port_layout.h).
constexpr size_t kMostResponseParameterBytes = size_t{64} << 10;

// Bytes that the parameters of a response take there, and that they count while it is unread.
inline size_t ParameterBytes(const ResponseParameters& parameters) {
  return parameters ? ParameterBytes(*parameters) : 0;
}

// Not thread-safe.
class ResponseParameterList {
 public:
  // Adds a parameter, or replaces the one of that name. INVALID_ARG: they would exceed the limit,
  // or the name has a zero byte, at which C would cut it; nothing has changed. Throws
  // std::bad_alloc without effect.
  Status Set(std::string_view name, std::variant<std::string, int64_t, double, bool> value) {
    if (name.find('\0') != std::string_view::npos) {
      return Status::InvalidArg("expected names of parameters without a zero byte");
    }
    RequestParameter made{std::string(name), std::move(value)};
    const size_t known = names_.Find(all_, name);
    const bool is_new = known == ParameterNames::kNone;
    const size_t words = words_ - (is_new ? 0 : ParameterWords(all_[known])) + ParameterWords(made);
    if (words * 4 > kMostResponseParameterBytes) {
      return Status::InvalidArg("parameter '" + std::string(name.substr(0, kShownBytes)) +
                                "': expected at most " +
                                std::to_string(kMostResponseParameterBytes) +
                                " bytes for the parameters of a response, but they would take " +
                                std::to_string(words * 4));
    }
    if (is_new) {
      names_.Add(all_, name);
      all_.push_back(std::move(made));
    } else {
      all_[known].value = std::move(made.value);
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
    Clear();
    return taken;
  }
  void Clear() {
    all_.clear();
    names_.Clear();
    words_ = 0;
  }

 private:
  static constexpr size_t kShownBytes = 256;  // of a name, in messages

  std::vector<RequestParameter> all_;
  ParameterNames names_;
  size_t words_ = 0;
};

}  // namespace tritonts
