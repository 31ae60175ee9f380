#include "shared_memory.h"

#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <vector>
#endif

namespace tritonts::platform {

#if defined(__linux__)

namespace {

constexpr size_t kPage = 4096;

std::string TextOf(int error) {
  return strerror(error);
}

// Makes a file without a name in a folder. Returns its descriptor, or -1.
int FileIn(const std::string& folder, const std::string& name) {
  std::string path = folder + "/" + name + "-XXXXXX";
  std::vector<char> text(path.begin(), path.end());
  text.push_back('\0');
  const int descriptor = mkostemp(text.data(), O_CLOEXEC);
  if (descriptor >= 0) unlink(text.data());
  return descriptor;
}

// The free bytes of a file's file system, as text.
std::string RoomIn(int descriptor) {
  struct statvfs found{};
  if (fstatvfs(descriptor, &found) != 0) return "";
  const uint64_t bytes = uint64_t{found.f_bavail} * found.f_frsize;
  return ", where " + std::to_string(bytes) + " bytes are left";
}

}  // namespace

SharedMemory::~SharedMemory() {
  if (data_) munmap(data_, size_);
  CloseDescriptor();
  if (own_ >= 0) close(own_);
}

void SharedMemory::CloseDescriptor() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

bool SharedMemory::Create(const std::string& name, size_t size, size_t least, Place place,
                          std::string* fault) {
  if (place == Place::kAny) {
    descriptor_ = memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
    where_ = "memory";
  }
  const bool in_memory = descriptor_ >= 0;
  if (!in_memory) {
    const char* const temporary = getenv("TMPDIR");
    for (const std::string& folder :
         {std::string("/dev/shm"), std::string(temporary && *temporary ? temporary : "/tmp")}) {
      descriptor_ = FileIn(folder, name);
      where_ = folder;
      if (descriptor_ >= 0) break;
      *fault = "no file for shared memory in '" + folder + "': " + TextOf(errno);
    }
    if (descriptor_ < 0) return false;
  }
  own_ = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (own_ < 0) {
    *fault = "no second descriptor of shared memory: " + TextOf(errno);
    return false;
  }
  // The system would end this process if a file exceeded the process' limit of file sizes.
  rlimit files{};
  if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
    size = std::min<size_t>(size, files.rlim_cur / kPage * kPage);
    if (size < least) {
      *fault = "shared memory needs " + std::to_string(least) +
               " bytes, and this process' limit of file sizes is " +
               std::to_string(files.rlim_cur) + " bytes (ulimit -f)";
      return false;
    }
  }
  for (;; size /= 2) {
    if (size < least) {
      *fault =
          "no addresses for " + std::to_string(least) + " bytes of shared memory: " + TextOf(errno);
      return false;
    }
    if (ftruncate(own_, static_cast<off_t>(size)) != 0) continue;
    void* const data =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, own_, 0);
    if (data == MAP_FAILED) continue;
    data_ = static_cast<char*>(data);
    size_ = size;
    break;
  }
  // If the other process could make the file shorter, the next access would end this process.
  if (in_memory) {
    sealed_ = fcntl(own_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) == 0;
    if (!sealed_) {
      *fault = "shared memory cannot be sealed: " + TextOf(errno);
      return false;
    }
  }
  // Without this, a core dump would contain all of the memory.
  madvise(data_, size_, MADV_DONTDUMP);
  return true;
}

bool SharedMemory::Commit(size_t offset, size_t size, std::string* fault) {
  if (size == 0) return true;
  if (offset > size_ || size > size_ - offset) {
    *fault = "shared memory has only " + std::to_string(size_) + " bytes";
    return false;
  }
  int error = 0;
  do {
    error = posix_fallocate(own_, static_cast<off_t>(offset), static_cast<off_t>(size));
  } while (error == EINTR);
  if (error == 0) return true;
  *fault = "no room for " + std::to_string(size) + " bytes of shared memory in " + where_ +
           (sealed_ ? "" : RoomIn(own_)) + ": " + TextOf(error);
  return false;
}

size_t SharedMemory::TakenBytes() const {
  struct stat found{};
  if (fstat(own_, &found) != 0) return size_;
  return static_cast<size_t>(found.st_blocks) * 512;
}

void SharedMemory::Return(size_t offset, size_t size) {
  // If pages may run out, committed pages stay, because the other process relies on them.
  if (!sealed_) return;
  const size_t begin = (offset + kPage - 1) / kPage * kPage;
  const size_t end = (offset + size) / kPage * kPage;
  if (end <= begin) return;
  (void)!fallocate(own_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                   static_cast<off_t>(end - begin));
}

#else

SharedMemory::~SharedMemory() = default;
void SharedMemory::CloseDescriptor() {}
bool SharedMemory::Create(const std::string&, size_t, size_t, Place, std::string* fault) {
  *fault = "shared memory is not supported on this system";
  return false;
}
bool SharedMemory::Commit(size_t, size_t, std::string* fault) {
  *fault = "shared memory is not supported on this system";
  return false;
}
size_t SharedMemory::TakenBytes() const {
  return size_;
}
void SharedMemory::Return(size_t, size_t) {}

#endif

}  // namespace tritonts::platform
