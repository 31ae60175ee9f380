// Shared memory for the inputs of a version, which the processes of all its instances map. Inputs
// are written there when a request is made (Executor::InputBlock), so that a batch only carries
// offsets.
//
// Ownership: shared by the version's inboxes, channels and blocks; blocks may outlive both.
// Thread-safe. Only the sender of a request writes to its block, once. A process of the version may
// modify any block later, so this process must not rely on bytes read back.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "inbox/inboxes.h"
#include "platform/shared_memory.h"
#include "python/offset_heap.h"

namespace tritonts::python {

class SharedInputs final : public InputSource, public std::enable_shared_from_this<SharedInputs> {
 public:
  // Creates the memory, unless it exists. The heap grows by `growth_bytes` and keeps
  // `initial_bytes` when idle. Returns false if there is no memory, with the reason in `fault`.
  bool Prepare(const std::string& name, uint64_t initial_bytes, uint64_t growth_bytes,
               platform::SharedMemory::Place place, std::string* fault);

  BlockRef Acquire(size_t size) override;
  // Returns free memory to the system if nothing was allocated lately.
  void ShrinkIfIdle(uint64_t now_ns);

  // Valid after Prepare.
  int descriptor() const { return memory_.descriptor(); }
  uint64_t size() const { return memory_.size(); }
  // Returns the offset of data in this memory; negative: the data lies elsewhere.
  int64_t OffsetOf(const void* data, size_t size) const;
  const char* data() const { return memory_.data(); }
  // The number of allocated bytes.
  uint64_t used();

 private:
  class Piece;
  void Free(uint64_t offset);

  std::atomic<bool> ready_{false};
  std::mutex mutex_;  // guards all members below; the mapping is constant once made
  platform::SharedMemory memory_;
  OffsetHeap heap_;
  uint64_t initial_bytes_ = 0;
  uint64_t asked_ns_ = 0;
};

}  // namespace tritonts::python
