// The memory of a channel, and the blocks that keep parts of it alive longer than the channel needs
// them, such as outputs until JavaScript has copied them.
//
// Ownership: shared by the channel and the blocks below, which may outlive it. Blocks may be
// released on any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/base/clock.h"
#include "engine/memory/buffer.h"
#include "engine/memory/pool.h"
#include "platform/shared_memory.h"
#include "python/offset_heap.h"
#include "python/protocol.h"

namespace tritonts::python {

struct Segment {
  platform::SharedMemory memory;
  std::mutex mutex;  // guards `heap`; nothing is called with it held
  OffsetHeap heap;   // the heap "down"
  // Copies of large outputs that a reader retains. JavaScript releases them by the hundred, at
  // garbage collection, and fresh pages cost more than the copy. So the pool keeps up to this many
  // bytes until the instance is idle.
  BlockPool copies{size_t{256} << 20};
  std::atomic<uint64_t> copied_ns{0};  // when the pool was last used

  BlockPool* Copies() {
    copied_ns.store(NowNs(), std::memory_order_relaxed);
    return &copies;
  }
};

// The memory of a batch's inputs, in the heap "down" and in the version's shared inputs. It is
// freed once the batch has ended and no response refers to its inputs.
class BatchMemory final : public Block {
 public:
  struct Input {
    uint64_t place;
    uint64_t size;
    BlockRef block;
  };

  // Returns null if there is no memory, and frees `place`.
  static BlockRef Create(std::shared_ptr<Segment> segment, uint64_t place,
                         std::vector<Input> inputs) {
    auto* const made = new (std::nothrow) BatchMemory(segment, place, std::move(inputs));
    if (made) return BlockRef::Adopt(made);
    const std::lock_guard lock(segment->mutex);
    segment->heap.Free(place);
    return {};
  }

  uint64_t place() const { return place_; }
  const std::vector<Input>& inputs() const { return inputs_; }
  BlockPool* copies() const override { return segment_->Copies(); }

 private:
  BatchMemory(std::shared_ptr<Segment> segment, uint64_t place, std::vector<Input> inputs)
      : Block(segment->memory.data() + place, 0, MemoryKind::kShared),
        segment_(std::move(segment)),
        place_(place),
        inputs_(std::move(inputs)) {}

  void Dispose() override {
    {
      const std::lock_guard lock(segment_->mutex);
      segment_->heap.Free(place_);
    }
    delete this;
  }

  const std::shared_ptr<Segment> segment_;
  const uint64_t place_;
  const std::vector<Input> inputs_;
};

// The outputs of an answer that the stub has lent. The destructor gives them back to the stub.
class LentAnswer final : public Block {
 public:
  // Throws std::bad_alloc. `word` is the offset of the release word that the stub polls
  // (protocol.h).
  LentAnswer(std::shared_ptr<Segment> segment, uint64_t word)
      : Block(segment->memory.data() + word, 0, MemoryKind::kShared),
        segment_(std::move(segment)) {}
  BlockPool* copies() const override { return segment_->Copies(); }

 private:
  void Dispose() override {
    reinterpret_cast<std::atomic<uint32_t>*>(data())->store(1, std::memory_order_release);
    delete this;
  }

  const std::shared_ptr<Segment> segment_;
};

}  // namespace tritonts::python
