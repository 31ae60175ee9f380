// Parameters as bytes in shared memory (protocol.h): those of requests and those of responses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/request/request.h"

namespace tritonts::python {

// Appends a parameter of any type. The value is in its bytes.
inline void AppendParameter(uint32_t type, std::string_view name, std::string_view value,
                            std::string* bytes) {
  const uint32_t numbers[] = {type, static_cast<uint32_t>(name.size()),
                              static_cast<uint32_t>(value.size())};
  bytes->append(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  bytes->append(name);
  bytes->append(value);
}

inline void AppendParameter(const RequestParameter& parameter, std::string* bytes) {
  const auto type = static_cast<uint32_t>(parameter.value.index());
  if (const auto* text = std::get_if<std::string>(&parameter.value)) {
    return AppendParameter(type, parameter.name, *text, bytes);
  }
  char value[8] = {};
  if (const auto* whole = std::get_if<int64_t>(&parameter.value)) {
    std::memcpy(value, whole, sizeof(value));
  } else if (const auto* real = std::get_if<double>(&parameter.value)) {
    std::memcpy(value, real, sizeof(value));
  } else {
    value[0] = std::get<bool>(parameter.value) ? 1 : 0;
  }
  AppendParameter(type, parameter.name, {value, sizeof(value)}, bytes);
}

// Reads the next parameter of private bytes: its type, its name, and the bytes of its value. False:
// they are invalid.
inline bool NextParameter(std::string_view* bytes, uint32_t* type, std::string_view* name,
                          std::string_view* value) {
  uint32_t numbers[3];
  if (bytes->size() < sizeof(numbers)) return false;
  std::memcpy(numbers, bytes->data(), sizeof(numbers));
  bytes->remove_prefix(sizeof(numbers));
  *type = numbers[0];
  if (numbers[1] > bytes->size() || numbers[2] > bytes->size() - numbers[1]) return false;
  *name = bytes->substr(0, numbers[1]);
  *value = bytes->substr(numbers[1], numbers[2]);
  bytes->remove_prefix(size_t{numbers[1]} + numbers[2]);
  return true;
}

// Converts the bytes of a value. False: they are not those of this type.
inline bool ReadValue(uint32_t type, std::string_view bytes,
                      std::variant<std::string, int64_t, double, bool>* value) {
  if (type == 0) {
    *value = std::string(bytes);
    return true;
  }
  if (type > 3 || bytes.size() != 8) return false;
  int64_t whole = 0;
  double real = 0;
  std::memcpy(&whole, bytes.data(), 8);
  std::memcpy(&real, bytes.data(), 8);
  if (type == 1) {
    *value = whole;
  } else if (type == 2) {
    *value = real;
  } else {
    *value = whole != 0;
  }
  return true;
}

}  // namespace tritonts::python
