#include "engine/cache/cache_key.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

#include "engine/memory/memory_copier.h"

namespace tritonts {

namespace {

// Calls `each` with every chunk of a request's input that has bytes, until it returns false.
template <typename Each>
bool ForChunksOf(const Request& request, const InputTensor& input, const Each& each) {
  for (size_t i = 0; i < input.first_chunks.size(); i++) {
    const Buffer& first = input.first_chunks[i];
    if (first.size == 0) continue;
    const char* const data =
        static_cast<const char*>(first.data) + (input.of_one ? 0 : request.position * first.size);
    if (!each(data, first.size)) return false;
  }
  return true;
}

// The same for all inputs.
template <typename Each>
bool ForChunks(const Request& request, const Each& each) {
  for (const InputTensor& input : request.inputs()) {
    if (!ForChunksOf(request, input, each)) return false;
  }
  return true;
}

// A key of fewer bytes of inputs has no sample.
constexpr size_t kLeastSampled = size_t{16} << 10;
// Of a larger input a sample has blocks, and of any other one all bytes.
constexpr size_t kMostWhole = 4096;
constexpr size_t kBlocks = 64;
constexpr size_t kBlock = 64;
static_assert(kMostWhole >= kBlocks * kBlock, "blocks of a sample must not overlap");

// Adds the blocks of the sample of an input of `size` bytes. They are at the same places, however
// its bytes are divided.
void AddBlocks(const Request& request, const InputTensor& input, size_t size, KeyHasher* hasher) {
  size_t block = 0;
  size_t done = 0;   // bytes of the block that were added
  size_t begin = 0;  // of the chunk
  ForChunksOf(request, input, [&](const char* data, size_t chunk) {
    const size_t end = begin + chunk;
    while (block < kBlocks) {
      const size_t from = block * (size - kBlock) / (kBlocks - 1) + done;
      if (from >= end) break;
      const size_t some = std::min(kBlock - done, end - from);
      hasher->Add(data + (from - begin), some);
      done += some;
      if (done < kBlock) break;
      done = 0;
      block++;
    }
    begin = end;
    return block < kBlocks;
  });
}

}  // namespace

bool KeyHead::Has(const RequestHeader& header) {
  if (header.regions || header.streams || !header.marks().empty() || header.null_row) return false;
  for (const InputTensor& input : header.inputs()) {
    for (const Buffer& chunk : input.first_chunks) {
      if (!IsPrivateHostMemory(chunk.kind)) return false;
    }
  }
  return true;
}

void KeyHead::Put(const void* data, size_t size) {
  if (size == 0) return;
  if (size > capacity_ - size_) {
    const bool few = data_ == few_;
    many_.resize(2 * (size_ + size));
    if (few) std::memcpy(many_.data(), few_, size_);
    data_ = many_.data();
    capacity_ = many_.size();
  }
  std::memcpy(data_ + size_, data, size);
  size_ += size;
}

void KeyHead::Set(const RequestHeader& header) {
  size_ = 0;
  PutValue(scope_);
  PutValue(header.batch_size);
  // Each list begins with its length, so that two different requests never have equal bytes.
  PutValue(static_cast<uint32_t>(header.wanted.size()));
  Put(header.wanted.data(), header.wanted.size() * sizeof(uint32_t));
  PutValue(static_cast<uint32_t>(header.parameters.size()));
  const auto put_text = [this](const std::string& text) {
    PutValue(static_cast<uint64_t>(text.size()));
    Put(text.data(), text.size());
  };
  for (const RequestParameter& parameter : header.parameters) {
    put_text(parameter.name);
    PutValue(static_cast<uint8_t>(parameter.value.index()));
    if (const auto* text = std::get_if<std::string>(&parameter.value)) {
      put_text(*text);
    } else if (const auto* whole = std::get_if<int64_t>(&parameter.value)) {
      PutValue(*whole);
    } else if (const auto* number = std::get_if<double>(&parameter.value)) {
      PutValue(*number);
    } else {
      PutValue(static_cast<uint8_t>(std::get<bool>(parameter.value)));
    }
  }
  PutValue(static_cast<uint32_t>(header.inputs().size()));
  for (const InputTensor& input : header.inputs()) {
    PutValue(input.index);
    PutValue(static_cast<uint8_t>(input.datatype));
    PutValue(static_cast<uint32_t>(input.shape.size()));
    Put(input.shape.data(), input.shape.size() * sizeof(int64_t));
    PutValue(static_cast<uint64_t>(input.byte_size()));
  }
  hasher_ = KeyHasher(seed_);
  hasher_.Add(data_, size_);
}

KeyHash KeyHead::HashOf(const Request& request) const {
  KeyHasher hasher = hasher_;
  ForChunks(request, [&](const char* data, size_t size) {
    hasher.Add(data, size);
    return true;
  });
  return hasher.Finish();
}

uint64_t KeyHead::SampleOf(const Request& request) const {
  size_t all = 0;
  for (const InputTensor& input : request.inputs()) all += input.byte_size();
  if (all < kLeastSampled) return 0;
  KeyHasher hasher = hasher_;
  for (const InputTensor& input : request.inputs()) {
    const size_t size = input.byte_size();
    if (size > kMostWhole) {
      AddBlocks(request, input, size, &hasher);
      continue;
    }
    ForChunksOf(request, input, [&](const char* data, size_t chunk) {
      hasher.Add(data, chunk);
      return true;
    });
  }
  return std::max<uint64_t>(1, hasher.Finish().low);
}

size_t KeyHead::SizeOf(const Request& request) const {
  size_t size = size_;
  for (const InputTensor& input : request.inputs()) size += input.byte_size();
  return size;
}

void KeyHead::Write(const Request& request, char* to) const {
  std::memcpy(to, data_, size_);
  to += size_;
  ForChunks(request, [&](const char* data, size_t size) {
    std::memcpy(to, data, size);
    to += size;
    return true;
  });
}

bool KeyHead::Equals(const Request& request, std::span<const char> key) const {
  if (key.size() != SizeOf(request)) return false;
  if (std::memcmp(key.data(), data_, size_) != 0) return false;
  const char* next = key.data() + size_;
  return ForChunks(request, [&](const char* data, size_t size) {
    const bool equal = std::memcmp(next, data, size) == 0;
    next += size;
    return equal;
  });
}

}  // namespace tritonts
