#include "engine/base/json_text.h"

#include <cstddef>

namespace tritonts {

namespace {

// The length of the UTF-8 character at the beginning of `text`; 0: there is none.
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || length > text.size()) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and numbers beyond the last character.
  if (byte(0) == 0xe0 && byte(1) < 0xa0) return 0;
  if (byte(0) == 0xed && byte(1) > 0x9f) return 0;
  if (byte(0) == 0xf0 && byte(1) < 0x90) return 0;
  if (byte(0) == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

}  // namespace

void AppendJsonOfUtf8(std::string* text, std::string_view from) {
  for (const char c : from) {
    if (c == '"' || c == '\\') {
      text->push_back('\\');
      text->push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view kHex = "0123456789abcdef";
      text->append("\\u00");
      text->push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      text->push_back(kHex[static_cast<unsigned char>(c) & 15]);
    } else {
      text->push_back(c);
    }
  }
}

void AppendJson(std::string* text, std::string_view from) {
  while (!from.empty()) {
    const size_t length = CharacterLength(from);
    if (length == 0) {
      text->append("\xef\xbf\xbd");
      from.remove_prefix(1);
      continue;
    }
    AppendJsonOfUtf8(text, from.substr(0, length));
    from.remove_prefix(length);
  }
}

}  // namespace tritonts
