#include "refusal.h"

#include <utility>

namespace tritonts::fil {

void Refuse(std::string text) {
  throw Refusal{std::move(text), true};
}

void RefuseUnsupported(std::string text) {
  throw Refusal{std::move(text), false};
}

std::string Shown(std::string_view bytes) {
  constexpr size_t kShown = 64;
  std::string text(bytes.substr(0, kShown));
  for (char& one : text) {
    if (one < ' ' || one > '~') one = '?';
  }
  return "'" + text + (bytes.size() > kShown ? "...'" : "'");
}

}  // namespace tritonts::fil
