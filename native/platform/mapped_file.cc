#include "mapped_file.h"

#if !defined(_WIN32)
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#endif

namespace tritonts::platform {

#if defined(_WIN32)

void RemoveFile(const std::string&, const FileRange&) {}

MappedFile::~MappedFile() = default;

bool MappedFile::Map(const std::string&, uint64_t, uint64_t, std::string* fault) {
  *fault = "files are not mapped on Windows";
  return false;
}

#else

namespace {

// Allocates the pages of a range, so that an access does not end the process when there is no room.
// False: there is none. File systems that cannot do so allocate at the first access.
bool Allocate([[maybe_unused]] int descriptor, [[maybe_unused]] uint64_t offset,
              [[maybe_unused]] uint64_t size) {
#if defined(__linux__)
  // posix_fallocate may write to the bytes, which other processes use.
  int result = 0;
  do {
    result = fallocate(descriptor, 0, static_cast<off_t>(offset), static_cast<off_t>(size));
  } while (result != 0 && errno == EINTR);
  return result == 0 || errno == EOPNOTSUPP;
#else
  return true;
#endif
}

// How many ranges are mapped.
std::atomic<uint32_t> mapped_files{0};

// Closes a descriptor at the end of a scope.
class Closer {
 public:
  explicit Closer(int descriptor) : descriptor_(descriptor) {}
  ~Closer() { close(descriptor_); }
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;

 private:
  const int descriptor_;
};

}  // namespace

void RemoveFile(const std::string& path, const FileRange& bytes) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) return;
  if (static_cast<uint64_t>(found.st_dev) != bytes.device) return;
  if (static_cast<uint64_t>(found.st_ino) == bytes.inode) unlink(path.c_str());
}

MappedFile::~MappedFile() {
  guard_.reset();
  if (!mapped_) return;
  munmap(mapped_, mapped_size_);
  mapped_files.fetch_sub(1);
}

bool MappedFile::Map(const std::string& path, uint64_t offset, uint64_t size, std::string* fault) {
  // A pipe of that name would wait for a reader. A link may have been made by another user, and
  // lead to a file that only this one may open. (shm_open follows none, either.)
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (descriptor < 0) {
    *fault = "cannot open '" + path + "': " + strerror(errno);
    return false;
  }
  const Closer closer(descriptor);
  if (mapped_files.load() >= kMost) {
    *fault = "this process has mapped " + std::to_string(kMost) +
             " ranges of shared memory, which is the limit: unregister some";
    return false;
  }
  struct stat found{};
  if (fstat(descriptor, &found) != 0) {
    *fault = "cannot read the size of '" + path + "': " + strerror(errno);
  } else if (!S_ISREG(found.st_mode)) {
    *fault = "'" + path + "' is no regular file";
  } else if (const auto all = static_cast<uint64_t>(found.st_size);
             size == 0 || offset > all || size > all - offset) {
    *fault = "'" + path + "' has " + std::to_string(all) + " bytes, and so not " +
             std::to_string(size) + " at offset " + std::to_string(offset);
  } else if (!Allocate(descriptor, offset, size)) {
    *fault = "no room for " + std::to_string(size) + " bytes of '" + path + "': " + strerror(errno);
  } else {
    before_ = static_cast<size_t>(offset % static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
    void* const data = mmap(nullptr, before_ + size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                            static_cast<off_t>(offset - before_));
    if (data == MAP_FAILED) {
      *fault = "cannot map '" + path + "': " + strerror(errno);
    } else {
      mapped_ = static_cast<char*>(data);
      mapped_size_ = before_ + size;
      mapped_files.fetch_add(1);
      guard_.emplace(data, mapped_size_);
      bytes_ = {static_cast<uint64_t>(found.st_dev), static_cast<uint64_t>(found.st_ino), offset,
                size};
    }
  }
  return mapped_ != nullptr;
}

#endif

}  // namespace tritonts::platform
