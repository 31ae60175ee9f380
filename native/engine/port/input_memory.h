// Where the inputs of a port's requests lie: slabs, which JavaScript divides into ranges, and
// blocks for large ones, which it stages before it submits them. The JS thread's; blocks are
// returned by whichever thread lets go of them last.
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

  // One more slab of layout::kSlabBytes, of the lowest number that is free; null without memory.
  Block* AddSlab();
  // Forgets a slab, of which no request in flight has a range.
  void DropSlab(size_t number);
  size_t slabs() const { return slabs_.size(); }
  Block* slab(size_t number) const {
    return number < slabs_.size() ? slabs_[number].get() : nullptr;
  }
  // The first request's bytes of an input in a slab; null where there is no such slab. With
  // `sources`, copies of the slabs, all requests' bytes are taken from there.
  char* Range(const InputRecord& input, uint32_t requests, const char* const* sources) const;

  // A block of at least `size` bytes, under an id; null without memory.
  Block* Stage(size_t size, uint32_t* id);
  // Forgets a staged block; nothing where there is none.
  void Unstage(uint32_t id);
  // A staged block, for a request to share; empty where there is none, or it is taken.
  BlockRef Take(uint32_t id);
  // It is not taken any more.
  void PutBack(uint32_t id);

  // Gives memory that nobody uses back to the system.
  void Shrink();
  size_t idle_bytes() const { return pool_.idle_bytes(); }

 private:
  struct Staged {
    BlockRef block;
    bool taken = false;
  };

  std::vector<BlockRef> slabs_;  // empty: free
  BlockPool pool_;
  std::vector<Staged> staged_;  // by id
  std::vector<uint32_t> free_;  // ids; with room for all of them
};

}  // namespace tritonts
