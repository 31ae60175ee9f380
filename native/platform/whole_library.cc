#include "platform/whole_library.h"

#if defined(__linux__)

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>

namespace tritonts::platform {

std::string WhatIsMissing(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const auto size = static_cast<uint64_t>(file.tellg());
  ElfW(Ehdr) head{};
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(&head), sizeof head) ||
      std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(ElfW(Phdr))) {
    return "";
  }
  // Its segments are what the system maps.
  uint64_t end = 0;
  for (int i = 0; i < head.e_phnum; i++) {
    ElfW(Phdr) segment{};
    file.seekg(
        static_cast<std::streamoff>(head.e_phoff + static_cast<uint64_t>(i) * sizeof segment));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return "it is cut short";
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_filesz > std::numeric_limits<uint64_t>::max() - segment.p_offset) return "";
    end = std::max<uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  if (end <= size) return "";
  return "it is cut short: it has " + std::to_string(size) + " bytes, but needs at least " +
         std::to_string(end) + ". Install it again";
}

}  // namespace tritonts::platform

#else

namespace tritonts::platform {

std::string WhatIsMissing(const std::string&) {
  return "";
}

}  // namespace tritonts::platform

#endif
