// The memory of the inputs of a port's requests: slabs, which JavaScript divides into ranges, and
// blocks for large inputs, which JavaScript stages before it submits them.
//
// The port owns it, and only the JS thread may call it. A block returns to the pool on the thread
// that drops its last reference.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/memory/buffer.h"
#include "engine/memory/pool.h"
#include "engine/port/reader.h"

namespace tritonts {

class InputMemory {
 public:
  InputMemory();

  // Adds a slab of layout::kSlabBytes, with the lowest free number. Null: there is no memory.
  Block* AddSlab();
  // Frees a slab. No request in flight may have a range of it.
  void DropSlab(size_t number);
  size_t slabs() const { return slabs_.size(); }
  Block* slab(size_t number) const {
    return number < slabs_.size() ? slabs_[number].get() : nullptr;
  }
  // The address of the first request's bytes of an input in a slab; null if there is no such slab.
  // `sources` are JavaScript's copies of the slabs, or null. If they are given, the bytes of all
  // requests of the group are copied from there first.
  char* Range(const InputRecord& input, uint32_t requests, const char* const* sources) const;

  // A block of at least `size` bytes; empty: there is no memory.
  BlockRef Acquire(size_t size) { return pool_.Acquire(size); }

  // Stages a block of at least `size` bytes under an id, for the executor `uid`. The block is
  // `own`, memory of the executor (Executor::InputBlock), or if that is empty, a block of the pool.
  // Null: there is no memory.
  Block* Stage(size_t size, uint32_t* id, uint32_t uid = 0, BlockRef own = {});
  // Frees the id, and drops the block. Does nothing if the id has none.
  void Unstage(uint32_t id);
  // Takes a staged block for a request to the executor `uid`; the block stays staged. Empty: no
  // such block, or it is already taken. Memory shared with another executor's process is replaced
  // by a copy.
  BlockRef Take(uint32_t id, uint32_t uid = 0);
  // Undoes Take.
  void PutBack(uint32_t id);

  // Returns unused memory to the system.
  void Shrink();
  size_t idle_bytes() const { return pool_.idle_bytes(); }

 private:
  struct Staged {
    BlockRef block;
    bool taken = false;
    uint32_t uid = 0;
  };

  std::vector<BlockRef> slabs_;  // by number; empty: free
  BlockPool pool_;
  std::vector<Staged> staged_;  // by id
  std::vector<uint32_t> free_;  // free ids; has capacity for all
};

}  // namespace tritonts
