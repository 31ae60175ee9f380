#include "engine/cache/key_hash.h"

#include <algorithm>
#include <cstring>

namespace tritonts {

namespace {

// Digits of the fraction of the square roots of the first primes, as SHA-512 has them.
constexpr uint64_t kSecret[] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};
// Odd numbers with about as many ones as zeros.
constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
constexpr uint64_t kFirst = 0xbf58476d1ce4e5b9;
constexpr uint64_t kSecond = 0x94d049bb133111eb;

uint64_t Mixed(uint64_t value, uint64_t factor) {
  value = (value ^ value >> 31) * factor;
  return value ^ value >> 29;
}

}  // namespace

void KeyHasher::AddStripes(const char* data, size_t stripes) {
  uint64_t lanes[kLanes];
  uint64_t keys[kLanes];
  for (size_t i = 0; i < kLanes; i++) {
    lanes[i] = lanes_[i];
    keys[i] = kSecret[i] + seed_ + stripes_ * kStep;
  }
  for (size_t stripe = 0; stripe < stripes; stripe++, data += kStripe) {
    uint64_t words[kLanes];
    std::memcpy(words, data, kStripe);
    for (size_t i = 0; i < kLanes; i++) {
      const uint64_t keyed = words[i] ^ keys[i];
      lanes[i] += (keyed & 0xffffffff) * (keyed >> 32);
      // The key differs from stripe to stripe, so the order of stripes counts.
      keys[i] += kStep;
    }
    // A product loses a factor if the other one is 0, so the neighbouring lane has the word, too.
    for (size_t i = 0; i < kLanes; i += 2) {
      lanes[i] += words[i + 1];
      lanes[i + 1] += words[i];
    }
  }
  std::copy(lanes, lanes + kLanes, lanes_);
  stripes_ += stripes;
}

void KeyHasher::Add(const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  if (waiting_ > 0) {
    const size_t some = std::min(size, kStripe - waiting_);
    if (some > 0) std::memcpy(rest_ + waiting_, from, some);
    waiting_ += some;
    from += some;
    size -= some;
    if (waiting_ < kStripe) return;
    AddStripes(rest_, 1);
    waiting_ = 0;
  }
  const size_t stripes = size / kStripe;
  if (stripes > 0) AddStripes(from, stripes);
  waiting_ = size - stripes * kStripe;
  if (waiting_ > 0) std::memcpy(rest_, from + stripes * kStripe, waiting_);
}

KeyHash KeyHasher::Finish() const {
  KeyHasher last = *this;
  std::memset(last.rest_ + waiting_, 0, kStripe - waiting_);
  last.AddStripes(last.rest_, 1);
  KeyHash hash;
  hash.low = seed_ + (stripes_ * kStripe + waiting_) * kFirst;
  hash.high = hash.low ^ kSecret[0];
  for (size_t i = 0; i < kLanes; i++) {
    hash.low = Mixed(hash.low ^ last.lanes_[i], kFirst);
    hash.high = Mixed(hash.high + last.lanes_[i], kSecond);
  }
  hash.low = Mixed(hash.low, kSecond);
  hash.high = Mixed(hash.high, kFirst);
  return hash;
}

}  // namespace tritonts
