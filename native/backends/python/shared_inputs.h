// Memory for the inputs of a version that the processes of all its instances see. Inputs are
// collected in it as they come (Executor::InputBlock), so that a batch only says where they are.
//
// Ownership: shared by the version's inboxes, its channels, and its blocks, which may outlive both.
// Any thread may call any function. Who writes to a block is its request's sender, once; a process
// of the version may write to any of them later, so nothing is read back to be relied on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "backends/javascript/javascript.h"
#include "backends/python/offset_heap.h"
#include "platform/shared_memory.h"

namespace tritonts::python {

class SharedInputs final : public InputSource, public std::enable_shared_from_this<SharedInputs> {
 public:
  // Makes the memory, if that was not done yet: steps of `growth_bytes`, of which `initial_bytes`
  // are kept when it is idle. False: there is none, and `fault` says why.
  bool Prepare(const std::string& name, uint64_t initial_bytes, uint64_t growth_bytes,
               platform::SharedMemory::Place place, std::string* fault);

  BlockRef Acquire(size_t size) override;
  // Gives back what is free, if nothing was asked for lately.
  void ShrinkIfIdle(uint64_t now_ns);

  // After Prepare.
  int descriptor() const { return memory_.descriptor(); }
  uint64_t size() const { return memory_.size(); }
  // The offset of memory of its own; negative: it is not from here.
  int64_t OffsetOf(const void* data, size_t size) const;
  const char* data() const { return memory_.data(); }
  // Bytes that are taken.
  uint64_t used();

 private:
  class Piece;
  void Free(uint64_t offset);

  std::atomic<bool> ready_{false};
  std::mutex mutex_;  // guards all below; the memory does not change once it is made
  platform::SharedMemory memory_;
  OffsetHeap heap_;
  uint64_t initial_bytes_ = 0;
  uint64_t asked_ns_ = 0;
};

}  // namespace tritonts::python
