#include "platform/whole_library.h"

#if defined(__linux__)

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>

namespace tritonts::platform {

namespace {

// A file of a library. Only as much of it is read as is asked for.
class LibraryFile {
 public:
  explicit LibraryFile(const std::string& path) : file_(path, std::ios::binary | std::ios::ate) {
    if (!file_) return;
    size_ = static_cast<uint64_t>(file_.tellg());
    is_library_ = Read(0, &head_, sizeof head_) &&
                  std::memcmp(head_.e_ident, ELFMAG, SELFMAG) == 0 &&
                  head_.e_phentsize == sizeof(ElfW(Phdr));
  }

  bool is_library() const { return is_library_; }
  uint64_t size() const { return size_; }
  int segments() const { return head_.e_phnum; }
  // False: the file is cut short.
  bool Segment(int number, ElfW(Phdr) * segment) {
    return Read(head_.e_phoff + static_cast<uint64_t>(number) * sizeof *segment, segment,
                sizeof *segment);
  }
  bool Read(uint64_t offset, void* target, size_t size) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(
        file_.read(static_cast<char*>(target), static_cast<std::streamsize>(size)));
  }
  // The text at an offset, up to its end or the file's.
  std::string Text(uint64_t offset) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    std::string text;
    std::getline(file_, text, '\0');
    return text;
  }

 private:
  std::ifstream file_;
  uint64_t size_ = 0;
  ElfW(Ehdr) head_ {};
  bool is_library_ = false;
};

}  // namespace

std::string WhatIsMissing(const std::string& path) {
  LibraryFile file(path);
  if (!file.is_library()) return "";
  // Its segments are what the system maps.
  uint64_t end = 0;
  for (int i = 0; i < file.segments(); i++) {
    ElfW(Phdr) segment{};
    if (!file.Segment(i, &segment)) return "it is cut short";
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_filesz > std::numeric_limits<uint64_t>::max() - segment.p_offset) return "";
    end = std::max<uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  if (end <= file.size()) return "";
  return "it is cut short: it has " + std::to_string(file.size()) + " bytes, but needs at least " +
         std::to_string(end) + ". Install it again";
}

namespace {

// What the dynamic segment of a library says of its names.
struct Names {
  uint64_t begin = 0;  // where they lie in the file; 0: unknown
  uint64_t size = 0;
  std::vector<uint64_t> needed;  // the names of libraries, from `begin`
};

Names NamesOf(LibraryFile* file) {
  if (!file->is_library()) return {};
  std::vector<ElfW(Phdr)> mapped;
  ElfW(Phdr) dynamic{};
  for (int i = 0; i < file->segments(); i++) {
    ElfW(Phdr) segment{};
    if (!file->Segment(i, &segment)) return {};
    if (segment.p_type == PT_LOAD) mapped.push_back(segment);
    if (segment.p_type == PT_DYNAMIC) dynamic = segment;
  }
  Names names;
  uint64_t address = 0;  // 0: unknown
  for (uint64_t at = 0; at + sizeof(ElfW(Dyn)) <= dynamic.p_filesz; at += sizeof(ElfW(Dyn))) {
    ElfW(Dyn) entry{};
    if (!file->Read(dynamic.p_offset + at, &entry, sizeof entry)) return {};
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) names.needed.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) names.size = entry.d_un.d_val;
  }
  for (const ElfW(Phdr) & segment : mapped) {
    if (address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz) continue;
    names.begin = segment.p_offset + (address - segment.p_vaddr);
    return names;
  }
  return {};
}

}  // namespace

std::vector<std::string> NamesNeeded(const std::string& path) {
  LibraryFile file(path);
  const Names known = NamesOf(&file);
  std::vector<std::string> names;
  for (const uint64_t offset : known.needed) names.push_back(file.Text(known.begin + offset));
  return names;
}

bool MayName(const std::string& path, std::string_view part) {
  LibraryFile file(path);
  const Names known = NamesOf(&file);
  if (known.begin == 0 || known.size > file.size()) return true;
  std::string all(known.size, '\0');
  if (!file.Read(known.begin, all.data(), all.size())) return true;
  return all.find(part) != std::string::npos;
}

}  // namespace tritonts::platform

#else

namespace tritonts::platform {

std::string WhatIsMissing(const std::string&) {
  return "";
}

std::vector<std::string> NamesNeeded(const std::string&) {
  return {};
}

bool MayName(const std::string&, std::string_view) {
  return true;
}

}  // namespace tritonts::platform

#endif
