#include "engine/memory/pool.h"

#include <bit>
#include <mutex>
#include <new>
#include <utility>

#include "platform/memory.h"

namespace tritonts {

namespace {
constexpr size_t kAlignment = 64;
constexpr size_t kSmallest = 4096;

// There are four size classes per octave, so at most a fifth of a block is wasted.
int ClassOf(size_t size, size_t* rounded) {
  if (size <= kSmallest) {
    *rounded = kSmallest;
    return 0;
  }
  const int octave = std::bit_width(size - 1) - 1;  // 2^octave < size <= 2^(octave+1)
  const size_t step = size_t{1} << (octave - 2);
  const size_t steps = (size - (size_t{1} << octave) + step - 1) / step;  // 1..4
  *rounded = (size_t{1} << octave) + steps * step;
  return 1 + (octave - 12) * 4 + static_cast<int>(steps) - 1;
}
}  // namespace

// The part of the pool to which blocks return. The pool and every block in use share it, so that
// blocks may outlive the pool.
class BlockPool::Core {
 public:
  explicit Core(size_t idle_limit) : idle_limit_(idle_limit) {}
  void Retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // Counts `size` bytes as idle. False: that would exceed the limit.
  bool Keep(size_t size) {
    if (idle_.fetch_add(size, std::memory_order_relaxed) + size <= idle_limit_) return true;
    idle_.fetch_sub(size, std::memory_order_relaxed);
    return false;
  }
  void Use(size_t size) { idle_.fetch_sub(size, std::memory_order_relaxed); }
  size_t idle() const { return idle_.load(std::memory_order_relaxed); }
  bool HasRoom(size_t size) const { return idle() + size <= idle_limit_; }

  std::atomic<PooledBlock*> returned{nullptr};  // a stack, linked by PooledBlock::next
  std::atomic<bool> closed{false};

 private:
  const size_t idle_limit_;
  std::atomic<size_t> idle_{0};  // bytes on the stack and in the pool's lists
  std::atomic<size_t> references_{1};
};

class BlockPool::PooledBlock final : public Block {
 public:
  // `size_class` is negative for blocks that are never kept.
  static PooledBlock* Create(size_t size, int size_class, Core* core) {
    void* memory = platform::AllocateBlock(size, kAlignment);
    if (!memory) return nullptr;
    auto* block = new (std::nothrow) PooledBlock(memory, size, size_class, core);
    if (!block) platform::FreeBlock(memory, size);
    return block;
  }
  void Renew() { Revive(); }
  void Destroy() {
    platform::FreeBlock(data(), size());
    delete this;
  }
  static void FreeReturned(Core* core) {
    PooledBlock* block = core->returned.exchange(nullptr, std::memory_order_acq_rel);
    while (block) {
      PooledBlock* following = block->next;
      block->Destroy();
      block = following;
    }
  }

  PooledBlock* next = nullptr;  // link of the stack, or of the pool's list
  const int size_class;

 private:
  PooledBlock(void* memory, size_t size, int size_class, Core* core)
      : Block(memory, size), size_class(size_class), core_(core) {
    core_->Retain();
  }
  ~PooledBlock() override { core_->Release(); }

  void Dispose() override {
    Core* core = core_;
    if (size_class < 0 || !core->Keep(size())) {
      Destroy();
      return;
    }
    core->Retain();  // another thread may free this block once it is on the stack
    PooledBlock* head = core->returned.load(std::memory_order_relaxed);
    do {
      next = head;
    } while (!core->returned.compare_exchange_weak(head, this, std::memory_order_acq_rel,
                                                   std::memory_order_relaxed));
    // If the pool was destroyed meanwhile, no other thread collects this block. The destructor sets
    // `closed` before it exchanges the stack. All changes of `returned` are acquire-release, and
    // have one order. If the exchange came before this thread's change, this thread sees `closed`.
    // Otherwise the exchange takes this block. So neither side needs sequential consistency.
    if (core->closed.load(std::memory_order_acquire)) FreeReturned(core);
    core->Release();
  }

  Core* core_;
};

void BlockPool::Idle::push(PooledBlock* block) {
  block->next = last;
  last = block;
}

BlockPool::PooledBlock* BlockPool::Idle::pop() {
  return std::exchange(last, last->next);
}

BlockPool::BlockPool(size_t idle_bytes) : core_(new Core(idle_bytes)) {}

BlockPool::~BlockPool() {
  core_->closed.store(true, std::memory_order_release);  // before the exchange: see Dispose
  PooledBlock::FreeReturned(core_);
  for (Idle& blocks : free_) {
    while (!blocks.empty()) blocks.pop()->Destroy();
  }
  core_->Release();
}

size_t BlockPool::idle_bytes() const {
  return core_->idle();
}

void BlockPool::Collect() {
  PooledBlock* block = core_->returned.exchange(nullptr, std::memory_order_acq_rel);
  while (block) {
    PooledBlock* following = block->next;
    free_[static_cast<size_t>(block->size_class)].push(block);
    block = following;
  }
}

void BlockPool::DestroyAll(Idle* blocks) {
  while (!blocks->empty()) blocks->pop()->Destroy();
}

void BlockPool::MakeRoom(size_t size) {
  Idle unused;
  {
    std::lock_guard lock(lock_);
    for (auto blocks = free_.rbegin(); blocks != free_.rend(); ++blocks) {
      while (!blocks->empty() && !core_->HasRoom(size)) {
        PooledBlock* block = blocks->pop();
        core_->Use(block->size());
        unused.push(block);
      }
    }
  }
  DestroyAll(&unused);
}

void BlockPool::Shrink() {
  Idle unused;
  {
    std::lock_guard lock(lock_);
    Collect();
    for (Idle& blocks : free_) {
      while (!blocks.empty()) {
        PooledBlock* block = blocks.pop();
        core_->Use(block->size());
        unused.push(block);
      }
    }
  }
  DestroyAll(&unused);
}

BlockPool::PooledBlock* BlockPool::TakeIdle(size_t size_class) {
  std::lock_guard lock(lock_);
  Idle& blocks = free_[size_class];
  if (blocks.empty()) Collect();
  return blocks.empty() ? nullptr : blocks.pop();
}

BlockRef BlockPool::Acquire(size_t size) {
  size_t rounded = 0;
  if (size > (size_t{1} << 46)) return {};
  const int size_class = ClassOf(size, &rounded);
  if (size_class >= kClasses) {
    // The block is beyond the size classes (about 256 MiB), so it is never kept.
    return BlockRef::Adopt(
        PooledBlock::Create((size + kAlignment - 1) / kAlignment * kAlignment, -1, core_));
  }
  if (PooledBlock* block = TakeIdle(static_cast<size_t>(size_class))) {
    core_->Use(block->size());
    block->Renew();
    return BlockRef::Adopt(block);
  }
  MakeRoom(rounded);
  return BlockRef::Adopt(PooledBlock::Create(rounded, size_class, core_));
}

}  // namespace tritonts
