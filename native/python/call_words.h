// Reads the words and the parameters of a call (protocol.h). The stub is another process, so every
// number is validated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "engine/request/request_builder.h"
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

// Parses parameters from private bytes. Returns false if they are invalid.
inline bool ReadParameters(std::string_view bytes, RequestBuilder* builder) {
  while (!bytes.empty()) {
    uint32_t numbers[3];
    if (bytes.size() < sizeof(numbers)) return false;
    std::memcpy(numbers, bytes.data(), sizeof(numbers));
    bytes.remove_prefix(sizeof(numbers));
    const auto [type, name, size] = numbers;
    if (name > bytes.size() || size > bytes.size() - name) return false;
    const std::string_view key = bytes.substr(0, name);
    const std::string_view value = bytes.substr(name, size);
    bytes.remove_prefix(size_t{name} + size);
    if (type == kSequenceType) {
      if (size != kSequenceBytes || name > kMostSequenceIdBytes) return false;
      uint64_t number = 0;
      uint32_t flags = 0;
      std::memcpy(&number, value.data(), 8);
      std::memcpy(&flags, value.data() + 8, 4);
      builder->SetSequence(0, number, key, (flags & kSequenceStart) != 0,
                           (flags & kSequenceEnd) != 0);
      continue;
    }
    if (type != 0 && size != 8) return false;
    int64_t whole = 0;
    double real = 0;
    if (type != 0) {
      std::memcpy(&whole, value.data(), 8);
      std::memcpy(&real, value.data(), 8);
    }
    if (type == 0) builder->AddParameter(key, std::string(value));
    if (type == 1) builder->AddParameter(key, whole);
    if (type == 2) builder->AddParameter(key, real);
    if (type == 3) builder->AddParameter(key, whole != 0);
    if (type > 3) return false;
  }
  return true;
}

}  // namespace tritonts::python
