// How a reader of a model file gives up: it throws a Refusal, which ReadForest makes a status of.
// No reader lets another exception out than this one and std::bad_alloc.
#pragma once

#include <string>
#include <string_view>

namespace tritonts::fil {

struct Refusal {
  std::string text;
  bool supported = true;  // false: the file is sound, but its model is of no kind that runs here
};

// The file is malformed.
[[noreturn]] void Refuse(std::string text);
// The file may be sound, but what it has is not supported.
[[noreturn]] void RefuseUnsupported(std::string text);

// Bytes of a file for a message: shortened, in quotes, each byte that is not printable as '?'.
std::string Shown(std::string_view bytes);

}  // namespace tritonts::fil
