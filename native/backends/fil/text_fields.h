// Reads a text of lines such as name=value, of which LightGBM's files consist. Views point into the
// text. Everything that is malformed throws a Refusal, which names the line or the field.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "read_number.h"
#include "refusal.h"

namespace tritonts::fil {

// The lines of a text. Numbers count from 1.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  // False at the end.
  bool Next(std::string_view* line) {
    if (rest_.empty()) return false;
    const size_t end = rest_.find('\n');
    *line = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    if (!line->empty() && line->back() == '\r') line->remove_suffix(1);
    number_++;
    return true;
  }
  size_t number() const { return number_; }

 private:
  std::string_view rest_;
  size_t number_ = 0;
};

inline std::string LineName(size_t number) {
  return "line " + std::to_string(number);
}

// The next word of a text, which is removed from it; empty if there is none.
inline std::string_view TakeWord(std::string_view* text) {
  const size_t begin = text->find_first_not_of(" \t");
  if (begin == std::string_view::npos) {
    *text = {};
    return {};
  }
  const size_t end = text->find_first_of(" \t", begin);
  const std::string_view word = text->substr(begin, end - begin);
  *text = end == std::string_view::npos ? std::string_view() : text->substr(end);
  return word;
}

// Lines of the form name=value, of which only those with known names are kept.
template <typename Field, size_t count>
class LineFields {
 public:
  using Names = std::array<const char*, count>;
  explicit LineFields(const Names& names) : names_(names) {}

  void Clear() { values_.fill(std::nullopt); }
  void Add(std::string_view line, size_t number) {
    const size_t equals = line.find('=');
    const std::string_view name = line.substr(0, equals);
    for (size_t i = 0; i < count; i++) {
      if (name != names_[i]) continue;
      if (values_[i]) Refuse(LineName(number) + ": " + names_[i] + " is there twice");
      values_[i] = equals == std::string_view::npos ? std::string_view() : line.substr(equals + 1);
    }
  }
  bool Has(Field field) const { return values_[Index(field)].has_value(); }
  // The value; empty if there is none.
  std::string_view Text(Field field) const { return values_[Index(field)].value_or(""); }
  const char* Name(Field field) const { return names_[Index(field)]; }

  // A whole number of at least `least`.
  int32_t Count(const std::string& place, Field field, int32_t least,
                std::optional<int32_t> absent = std::nullopt) const {
    if (!Has(field) && absent) return *absent;
    Require(place, field);
    int32_t value = 0;
    if (!ReadWhole(Text(field), &value) || value < least) {
      Refuse(place + ": expected " + Name(field) + " to be a whole number from " +
             std::to_string(least) + ", but it is " + Shown(Text(field)));
    }
    return value;
  }

  // As many numbers, with spaces between them.
  template <typename T>
  void Numbers(const std::string& place, Field field, size_t expected,
               std::vector<T>* numbers) const {
    Require(place, field);
    std::string_view rest = Text(field);
    numbers->clear();
    // The file has two characters for a number at least.
    if (expected > (rest.size() + 1) / 2) Wrong(place, field, expected, rest);
    numbers->reserve(expected);
    for (std::string_view word = TakeWord(&rest); !word.empty(); word = TakeWord(&rest)) {
      if (numbers->size() == expected) Wrong(place, field, expected, Text(field));
      T number = 0;
      if (!ReadWhole(word, &number)) {
        Refuse(place + ": " + Name(field) + "[" + std::to_string(numbers->size()) + "] is " +
               Shown(word) + ": expected a " + (std::is_floating_point_v<T> ? "" : "whole ") +
               "number" + (std::is_floating_point_v<T> ? "" : " of 32 bits"));
      }
      numbers->push_back(number);
    }
    if (numbers->size() != expected) Wrong(place, field, expected, Text(field));
  }

 private:
  static size_t Index(Field field) { return static_cast<size_t>(field); }
  void Require(const std::string& place, Field field) const {
    if (!Has(field))
      Refuse(place + ": expected a line '" + Name(field) + "=...', but there is none");
  }
  [[noreturn]] void Wrong(const std::string& place, Field field, size_t expected,
                          std::string_view text) const {
    size_t came = 0;
    while (!TakeWord(&text).empty()) came++;
    Refuse(place + ": expected " + std::to_string(expected) + " numbers of " + Name(field) +
           ", but " + std::to_string(came) + " came");
  }

  Names names_;
  std::array<std::optional<std::string_view>, count> values_;
};

}  // namespace tritonts::fil
