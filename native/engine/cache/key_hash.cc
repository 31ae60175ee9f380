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

// The upper and the lower half of a product, folded.
uint64_t Folded(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#else
  const uint64_t low_a = a & 0xffffffff;
  const uint64_t high_a = a >> 32;
  const uint64_t low_b = b & 0xffffffff;
  const uint64_t high_b = b >> 32;
  const uint64_t middle = high_a * low_b + (low_a * low_b >> 32);
  const uint64_t other = low_a * high_b + (middle & 0xffffffff);
  return a * b ^ (high_a * high_b + (middle >> 32) + (other >> 32));
#endif
}

}  // namespace

KeyHasher::KeyHasher(uint64_t seed) : seed_(seed) {
  for (size_t i = 0; i < kLanes; i++) lanes_[i] = seed ^ kSecret[kLanes + i];
}

void KeyHasher::AddStripes(const char* data, size_t stripes) {
  uint64_t lanes[kLanes];
  uint64_t keys[kLanes];
  for (size_t i = 0; i < kLanes; i++) {
    lanes[i] = lanes_[i];
    // Nobody knows the seed, so nobody can choose a factor that is 0.
    keys[i] = seed_ ^ kSecret[i];
  }
  for (size_t stripe = 0; stripe < stripes; stripe++, data += kStripe) {
    uint64_t words[2 * kLanes];
    std::memcpy(words, data, kStripe);
    for (size_t i = 0; i < kLanes; i++) {
      lanes[i] = Folded(words[2 * i] ^ keys[i], words[2 * i + 1] ^ lanes[i]);
    }
  }
  std::copy(lanes, lanes + kLanes, lanes_);
  size_ += stripes * kStripe;
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
  hash.low = seed_ ^ (size_ + waiting_);
  hash.high = hash.low + kSecret[0];
  for (size_t i = 0; i < kLanes; i++) {
    hash.low = Folded(hash.low ^ last.lanes_[i], kSecret[2 * i]);
    hash.high = Folded(hash.high + last.lanes_[i], kSecret[2 * i + 1]);
  }
  return hash;
}

}  // namespace tritonts
