// Bytes in flight: one counter a server, which all of its ports charge.
//
// A request is charged when it is submitted, for the memory that its inputs take and for what is
// known of its outputs; what does not fit is refused. Its answer is charged when it is written, in
// place of that, and whatever the limit says: it is there, and new requests are refused meanwhile.
// What JavaScript has is not counted: a page until it comes back, a large output until it is taken.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

namespace tritonts {

// Any thread.
class Budget {
 public:
  explicit Budget(uint64_t limit) : limit_(limit) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

  // Counts bytes; false, with nothing counted, where that is more than may be. What takes nothing
  // is never too much.
  bool Reserve(uint64_t bytes) {
    if (bytes == 0) return true;
    uint64_t before = used();
    do {
      if (bytes > limit_ || before > limit_ - bytes) return false;
    } while (!used_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    return true;
  }
  // Counts `more` whatever the limit says, in place of `less` that was counted.
  void Exchange(uint64_t more, uint64_t less) {
    if (more != less) used_.fetch_add(more - less, std::memory_order_relaxed);
  }
  void Release(uint64_t bytes) { Exchange(0, bytes); }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

// A sum of bytes to be counted, or UINT64_MAX where it is beyond that: more than any limit.
inline uint64_t SumBytes(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

// What the range of a slab takes that JavaScript wrote `bytes` to: ranges come in powers of two, of
// 64 bytes at least (src/addon/slab.ts).
inline uint64_t RangeBytes(uint64_t bytes) {
  return std::bit_ceil(std::max<uint64_t>(bytes, 64));
}

}  // namespace tritonts
