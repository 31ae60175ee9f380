// Reads the little-endian values of a binary file, from front to back. Each count is checked
// against the bytes that are left before anything of its size is made.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "refusal.h"

namespace tritonts::fil {

static_assert(std::endian::native == std::endian::little, "values are read as they lie");

// An array in a file, which may lie at any address. It may also be a field of the structs of an
// array: each value is then `stride` bytes behind the last one. Borrowed.
template <typename T>
class PackedArray {
 public:
  PackedArray() = default;
  PackedArray(const char* bytes, size_t size, size_t stride = sizeof(T))
      : bytes_(bytes), size_(size), stride_(stride) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // `count` of the values, from a position on.
  PackedArray From(size_t begin, size_t count) const {
    return {bytes_ + begin * stride_, count, stride_};
  }
  T operator[](size_t i) const {
    T value;
    std::memcpy(&value, bytes_ + i * stride_, sizeof(T));
    return value;
  }

 private:
  const char* bytes_ = nullptr;
  size_t size_ = 0;
  size_t stride_ = sizeof(T);
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  size_t at() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }
  // What messages begin with, such as "tree 3: ".
  void SetPlace(std::string place) { place_ = std::move(place); }

  template <typename T>
  T Value(const char* field) {
    return Values<T>(field, 1)[0];
  }

  // As many values.
  template <typename T>
  PackedArray<T> Values(const char* field, uint64_t count) {
    Need(field, count, sizeof(T));
    const PackedArray<T> values(bytes_.data() + at_, static_cast<size_t>(count));
    at_ += static_cast<size_t>(count) * sizeof(T);
    return values;
  }

  // A count of 64 bits, and as many values.
  template <typename T>
  PackedArray<T> Array(const char* field) {
    return Values<T>(field, Value<uint64_t>(field));
  }

  // A string with its length of 64 bits in front. Borrowed.
  std::string_view Text(const char* field) {
    const size_t size = Array<char>(field).size();
    return bytes_.substr(at_ - size, size);
  }

  // As many structs of this size. Borrowed.
  const char* Structs(const char* field, uint64_t count, size_t size) {
    Need(field, count, size);
    at_ += static_cast<size_t>(count) * size;
    return bytes_.data() + at_ - count * size;
  }

  void Skip(const char* field, uint64_t bytes) { Values<char>(field, bytes); }

 private:
  void Need(const char* field, uint64_t count, size_t size) const {
    if (count <= left() / size) return;
    Refuse(place_ + "expected " + std::to_string(count) + " values of " + std::to_string(size) +
           " bytes for " + field + ", but only " + std::to_string(left()) +
           " bytes are left at byte " + std::to_string(at_));
  }

  std::string_view bytes_;
  size_t at_ = 0;
  std::string place_;
};

}  // namespace tritonts::fil
