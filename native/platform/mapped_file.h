// A range of an existing file, mapped so that other processes that map it see what is written, and
// the other way round: POSIX shared memory is a file, too.
//
// If another process makes the file shorter, the lost part becomes zeros (bus_guard.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "bus_guard.h"

namespace tritonts::platform {

// Which bytes of which file.
struct FileRange {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t offset = 0;
  uint64_t size = 0;  // 0: no file

  bool Overlaps(const FileRange& other) const {
    return device == other.device && inode == other.inode && offset < other.offset + other.size &&
           other.offset < offset + size;
  }
};

// Removes the file of this name if it is the one of `bytes`.
void RemoveFile(const std::string& path, const FileRange& bytes);

// Not thread-safe; the bytes may be accessed by any thread.
class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // How many ranges a process maps at most. The system has a limit for all mappings of a process
  // (65,530 on Linux), beyond which no memory can be allocated.
  static constexpr uint32_t kMost = 32'768;

  // Maps `size` bytes from `offset` on, which must be in the file, and allocates their pages if the
  // file system can. False: not possible; `fault` has the reason. Call it once. Throws
  // std::bad_alloc.
  bool Map(const std::string& path, uint64_t offset, uint64_t size, std::string* fault);

  char* data() const { return mapped_ + before_; }
  size_t size() const { return mapped_size_ - before_; }
  // Whether the file got shorter, and a part was lost that was accessed. Any thread may call it.
  bool lost() const { return guard_ && guard_->lost(); }
  const FileRange& bytes() const { return bytes_; }

 private:
  char* mapped_ = nullptr;  // begins at a page
  size_t mapped_size_ = 0;
  size_t before_ = 0;  // bytes of the page before the range
  FileRange bytes_;
  std::optional<BusGuard> guard_;
};

}  // namespace tritonts::platform
