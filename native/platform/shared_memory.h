// Memory that this process shares with another process, to which it gives a file descriptor.
//
// The file has no name once Create has returned. The system frees it when both processes have
// ended, in whatever way, or have dropped it. Addresses are reserved for the largest size at once.
// Pages are allocated when they are committed, so the memory grows without moving.
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

  // Reserves `size` bytes, or fewer if the system does not allow so many, but at least `least`.
  // False: not possible; `fault` has the reason. The system's lists of files show `name`.
  bool Create(const std::string& name, size_t size, size_t least, Place place, std::string* fault);

  // Allocates pages for a range. False: not possible; `fault` has the reason. Access to uncommitted
  // pages could end a process if the system has no pages left, so every page is committed first.
  bool Commit(size_t offset, size_t size, std::string* fault);
  // Gives the whole pages of a range back to the system, unless may_run_out().
  void Return(size_t offset, size_t size);

  // The bytes for which pages are allocated, by both processes. If the system does not tell, the
  // whole size.
  size_t TakenBytes() const;

  char* data() const { return data_; }
  size_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  // Whether uncommitted pages must not be accessed, because the folder may have no room for them.
  bool may_run_out() const { return !sealed_; }
  // Closes the descriptor. This process keeps the memory.
  void CloseDescriptor();

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
  int descriptor_ = -1;
  // A second descriptor, for Commit. Not every system has shared memory.
  [[maybe_unused]] int own_ = -1;
  bool sealed_ = false;  // no process can make the file shorter
  std::string where_;    // for messages
};

}  // namespace tritonts::platform
