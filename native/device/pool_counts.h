// Limits and counts of a pool, of the process.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tritonts::device {

struct PoolLimit {
  explicit PoolLimit(size_t most) : limit(most) {}
  std::atomic<size_t> limit;
  std::atomic<size_t> owned{0};  // by pools, used or not
  std::atomic<size_t> used{0};
  std::atomic<uint64_t> plain{0};
};

// The pool of device `id`. Beyond the last one that is counted, devices share it.
PoolLimit& DeviceLimit(int id);

// Blocks have few sizes, so that they are used again: powers of two, from a page on.
inline size_t SizeClass(size_t size) {
  return static_cast<size_t>(std::bit_width((size < 4096 ? size_t{4096} : size) - 1));
}
inline size_t RoundedSize(size_t size) {
  return size_t{1} << SizeClass(size);
}

}  // namespace tritonts::device
