// The process-wide limits and counts of a pool.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tritonts::device {

struct PoolLimit {
  explicit PoolLimit(size_t most) : limit(most) {}
  std::atomic<size_t> limit;
  std::atomic<size_t> owned{0};  // by pools, including idle ranges
  std::atomic<size_t> used{0};
  std::atomic<uint64_t> plain{0};
};

// The limit of device `id`. Devices beyond the last separate limit share it.
PoolLimit& DeviceLimit(int id);

// The size class of a block. There are few, so that blocks are reused: powers of two, from 4096 on.
inline size_t SizeClass(size_t size) {
  return static_cast<size_t>(std::bit_width((size < 4096 ? size_t{4096} : size) - 1));
}
inline size_t RoundedSize(size_t size) {
  return size_t{1} << SizeClass(size);
}

}  // namespace tritonts::device
