// The hash under which the response cache keeps an answer.
//
// Equal keys have equal hashes, however their bytes are divided. The cache compares whole keys, so
// a collision costs time, and is never a wrong answer. The hash is fast for large inputs: four
// lanes take 64 bytes at a time, each with one wide multiplication that waits for no other lane.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tritonts {

struct KeyHash {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const KeyHash&) const = default;
};

// Hashes one key. Copying a hasher copies its state, so keys with a common beginning hash that only
// once. Not thread-safe.
class KeyHasher {
 public:
  explicit KeyHasher(uint64_t seed);

  void Add(const void* data, size_t size);
  KeyHash Finish() const;

 private:
  static constexpr size_t kLanes = 4;
  static constexpr size_t kStripe = kLanes * 2 * sizeof(uint64_t);

  // Adds whole stripes.
  void AddStripes(const char* data, size_t stripes);

  uint64_t seed_;
  uint64_t lanes_[kLanes];
  uint64_t size_ = 0;   // bytes of whole stripes
  size_t waiting_ = 0;  // bytes in `rest_`
  char rest_[kStripe];  // bytes that are no whole stripe yet
};

}  // namespace tritonts
