#include "engine/port/input_memory.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "engine/memory/port_memory.h"

namespace tritonts {

namespace {
constexpr size_t kIdleInputBytes = size_t{64} << 20;
}  // namespace

InputMemory::InputMemory() : pool_(kIdleInputBytes) {}

Block* InputMemory::AddSlab() {
  BlockRef memory = PortMemory::Create(layout::kSlabBytes);
  if (!memory) return nullptr;
  const auto free =
      std::find_if(slabs_.begin(), slabs_.end(), [](const auto& one) { return !one; });
  if (free != slabs_.end()) {
    *free = std::move(memory);
    return free->get();
  }
  try {
    slabs_.push_back(std::move(memory));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  return slabs_.back().get();
}

void InputMemory::DropSlab(size_t number) {
  if (number < slabs_.size()) slabs_[number].reset();
}

char* InputMemory::Range(const InputRecord& input, uint32_t requests,
                         const char* const* sources) const {
  const Block* memory = slab(input.place);
  if (!memory || (sources && !sources[input.place])) return nullptr;
  char* data = static_cast<char*>(memory->data()) + input.offset;
  if (sources) std::memcpy(data, sources[input.place] + input.offset, input.size * requests);
  return data;
}

Block* InputMemory::Stage(size_t size, uint32_t* id, uint32_t uid, BlockRef own) {
  BlockRef block = own ? std::move(own) : pool_.Acquire(size);
  if (!block) return nullptr;
  if (free_.empty()) {
    try {
      staged_.emplace_back();
      free_.reserve(staged_.capacity());
    } catch (const std::bad_alloc&) {
      if (free_.capacity() < staged_.size()) staged_.pop_back();
      return nullptr;
    }
    free_.push_back(static_cast<uint32_t>(staged_.size() - 1));
  }
  *id = free_.back();
  free_.pop_back();
  staged_[*id] = {std::move(block), false, uid};
  return staged_[*id].block.get();
}

void InputMemory::Unstage(uint32_t id) {
  if (id >= staged_.size() || !staged_[id].block) return;
  staged_[id] = {};
  free_.push_back(id);
}

BlockRef InputMemory::Take(uint32_t id, uint32_t uid) {
  if (id >= staged_.size() || staged_[id].taken) return {};
  BlockRef& block = staged_[id].block;
  if (block && block->kind() == MemoryKind::kShared && staged_[id].uid != uid) {
    BlockRef copy = pool_.Acquire(block->size());
    if (!copy) throw std::bad_alloc();
    std::memcpy(copy->data(), block->data(), block->size());
    block = std::move(copy);
  }
  staged_[id].taken = static_cast<bool>(staged_[id].block);
  return staged_[id].block;
}

void InputMemory::PutBack(uint32_t id) {
  staged_[id].taken = false;
}

void InputMemory::Shrink() {
  pool_.Shrink();
}

}  // namespace tritonts
