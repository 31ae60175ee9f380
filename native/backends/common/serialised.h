// The serialised form of BYTES tensors: each element follows its length (4 bytes, little endian).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "engine/base/status.h"

namespace tritonts {

constexpr size_t kLengthBytes = 4;

inline uint32_t ReadLength(const char* bytes) {
  const auto* digits = reinterpret_cast<const unsigned char*>(bytes);
  return static_cast<uint32_t>(digits[0]) | static_cast<uint32_t>(digits[1]) << 8 |
         static_cast<uint32_t>(digits[2]) << 16 | static_cast<uint32_t>(digits[3]) << 24;
}

inline void WriteLength(char* bytes, uint32_t length) {
  for (size_t i = 0; i < kLengthBytes; i++) bytes[i] = static_cast<char>(length >> (8 * i) & 0xff);
}

// The number of elements of a shape, or `limit` + 1 if that is greater than `limit`.
inline size_t CountUpTo(std::span<const int64_t> shape, size_t limit) {
  size_t count = 1;
  for (const int64_t dim : shape) {
    if (dim <= 0) return 0;
  }
  for (const int64_t dim : shape) {
    if (static_cast<uint64_t>(dim) > limit / count) return limit + 1;
    count *= static_cast<size_t>(dim);
  }
  return count;
}

// The number of elements that `bytes` should have by its shape. INVALID_ARG: they cannot have so
// many. Each element takes at least the bytes of its length, so a wrong shape cannot make anyone
// allocate much memory.
inline StatusOr<size_t> CountSerialised(std::span<const char> bytes,
                                        std::span<const int64_t> shape) {
  const size_t most = bytes.size() / kLengthBytes;
  const size_t count = CountUpTo(shape, most);
  if (count <= most) return count;
  return Status::InvalidArg("its shape has more elements than its " + std::to_string(bytes.size()) +
                            " bytes can hold");
}

// Calls `take` with the index and the bytes of each of `count` elements, until it returns an error.
// INVALID_ARG: there are fewer elements, or more bytes.
template <typename Take>
Status ReadSerialised(std::span<const char> bytes, size_t count, const Take& take) {
  size_t position = 0;
  for (size_t i = 0; i < count; i++) {
    if (bytes.size() - position < kLengthBytes) {
      return Status::InvalidArg("expected " + std::to_string(count) + " elements but found " +
                                std::to_string(i));
    }
    const uint32_t length = ReadLength(bytes.data() + position);
    position += kLengthBytes;
    if (bytes.size() - position < length) {
      return Status::InvalidArg("element " + std::to_string(i) + " has " + std::to_string(length) +
                                " bytes, but only " + std::to_string(bytes.size() - position) +
                                " are left");
    }
    if (Status status = take(i, bytes.subspan(position, length)); !status.ok()) return status;
    position += length;
  }
  if (position == bytes.size()) return Status::Ok();
  return Status::InvalidArg(std::to_string(bytes.size() - position) + " bytes are left after " +
                            std::to_string(count) + " elements");
}

}  // namespace tritonts
