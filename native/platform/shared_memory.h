// Memory that this process shares with one that it gives a file descriptor to.
//
// The file has no name once Create has returned: the system frees it when both processes are gone
// or have dropped it, however they end. Addresses are reserved for the largest size at once, and
// pages are taken as they are committed, so that nothing moves when the memory grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tritonts::platform {

class SharedMemory {
 public:
  // Where the file is made. kAny: in memory alone (memfd) if the system has that, else in /dev/shm,
  // else in the folder for temporary files.
  enum class Place { kAny, kFile };

  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // Reserves `size` bytes, or as large a part of that as the system lets it, at least `least`.
  // False: `fault` says why that is not possible. `name` is seen in the lists of the system.
  bool Create(const std::string& name, size_t size, size_t least, Place place, std::string* fault);

  // Takes pages for a range. False: the system has none, and `fault` says so. A process that
  // touched pages that nobody has taken could be ended for it, so each is committed first.
  bool Commit(size_t offset, size_t size, std::string* fault);
  // Gives whole pages of a range back, if nobody can be harmed by that.
  void Return(size_t offset, size_t size);

  // Bytes for which there are pages, of both processes; what the system does not tell counts as
  // all.
  size_t TakenBytes() const;

  char* data() const { return data_; }
  size_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  // Whether pages that nobody has committed must not be touched, because there may be none.
  bool may_run_out() const { return !sealed_; }
  // This process keeps the memory without the descriptor.
  void CloseDescriptor();

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
  int descriptor_ = -1;
  int own_ = -1;         // a second descriptor, to commit with
  bool sealed_ = false;  // nobody can make the file shorter
  std::string where_;    // for messages
};

}  // namespace tritonts::platform
