// Texts as the content of JSON strings. Any thread may call these functions. They throw
// std::bad_alloc.
#pragma once

#include <string>
#include <string_view>

namespace tritonts {

// Appends the content of the JSON string that stands for a text in UTF-8.
void AppendJsonOfUtf8(std::string* text, std::string_view from);
// The same for bytes that may be no UTF-8: a byte that is part of no character becomes U+FFFD.
void AppendJson(std::string* text, std::string_view from);
// A whole JSON string.
inline std::string JsonText(std::string_view from) {
  std::string text = "\"";
  AppendJson(&text, from);
  text.push_back('"');
  return text;
}

}  // namespace tritonts
