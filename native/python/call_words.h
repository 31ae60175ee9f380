// Reads the words and the parameters of a call (protocol.h). The stub is another process, so every
// number is validated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/request/request_builder.h"
#include "python/parameter_bytes.h"
#include "python/protocol.h"

namespace tritonts::python {

// Reads the words of a call and detects when there are too few.
class CallWords {
 public:
  explicit CallWords(std::span<const int64_t> words) : words_(words) {}
  int64_t Take() {
    if (at_ == words_.size()) {
      good_ = false;
      return 0;
    }
    return words_[at_++];
  }
  // A count of items that take at least one word each.
  size_t TakeCount() {
    const int64_t count = Take();
    if (count < 0 || static_cast<uint64_t>(count) > words_.size() - at_) good_ = false;
    return good_ ? static_cast<size_t>(count) : 0;
  }
  bool good() const { return good_; }

 private:
  std::span<const int64_t> words_;
  size_t at_ = 0;
  bool good_ = true;
};

// Parses the parameters of a call from private bytes. Returns false if they are invalid.
inline bool ReadParameters(std::string_view bytes, RequestBuilder* builder) {
  while (!bytes.empty()) {
    uint32_t type = 0;
    std::string_view name;
    std::string_view value;
    if (!NextParameter(&bytes, &type, &name, &value)) return false;
    if (type == kSequenceType) {
      if (value.size() != kSequenceBytes || name.size() > kMostSequenceIdBytes) return false;
      uint64_t number = 0;
      uint32_t flags = 0;
      std::memcpy(&number, value.data(), 8);
      std::memcpy(&flags, value.data() + 8, 4);
      builder->SetSequence(0, number, name, (flags & kSequenceStart) != 0,
                           (flags & kSequenceEnd) != 0);
      continue;
    }
    std::variant<std::string, int64_t, double, bool> read;
    if (!ReadValue(type, value, &read)) return false;
    builder->AddParameter(name, std::move(read));
  }
  return true;
}

}  // namespace tritonts::python
