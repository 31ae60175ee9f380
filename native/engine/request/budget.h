// Bytes in flight. A server has one counter, which all of its ports charge. The server owns it.
//
// A request is charged when it is submitted: for the memory of its inputs, and for the outputs
// whose size is known. If that exceeds the limit, the request is refused. When its response is
// written, that charge is replaced by the bytes that the response holds, even beyond the limit; new
// requests are refused meanwhile. A page is charged until JavaScript recycles it, a large output
// until JavaScript has taken it.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

namespace tritonts {

// Any thread may call any function.
class Budget {
 public:
  explicit Budget(uint64_t limit) : limit_(limit) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  const std::atomic<uint64_t>& counter() const { return used_; }

  // Charges bytes. False: that would exceed the limit, and nothing was charged. 0 bytes always fit.
  bool Reserve(uint64_t bytes) {
    if (bytes == 0) return true;
    uint64_t before = used();
    do {
      if (bytes > limit_ || before > limit_ - bytes) return false;
    } while (!used_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    return true;
  }
  // Replaces a charge of `less` by one of `more`, regardless of the limit.
  void Exchange(uint64_t more, uint64_t less) {
    if (more != less) used_.fetch_add(more - less, std::memory_order_relaxed);
  }
  void Release(uint64_t bytes) { Exchange(0, bytes); }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

// A sum of bytes, or UINT64_MAX if it overflows.
inline uint64_t SumBytes(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

// The size of the slab range that holds `bytes`. Ranges are powers of two, at least 64 bytes
// (src/dispatch/requests/slabs.ts).
inline uint64_t RangeBytes(uint64_t bytes) {
  return std::bit_ceil(std::max<uint64_t>(bytes, 64));
}

}  // namespace tritonts
