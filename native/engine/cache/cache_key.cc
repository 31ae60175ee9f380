#include "engine/cache/cache_key.h"

#include <cstring>
#include <string>
#include <utility>
#include <variant>

#include "engine/memory/memory_copier.h"

namespace tritonts {

namespace {

// Calls `each` with every chunk of a request's inputs that has bytes, until it returns false.
template <typename Each>
bool ForChunks(const Request& request, Each each) {
  for (const InputTensor& input : request.inputs()) {
    for (size_t i = 0; i < input.first_chunks.size(); i++) {
      const Buffer& first = input.first_chunks[i];
      if (first.size == 0) continue;
      const char* const data =
          static_cast<const char*>(first.data) + (input.of_one ? 0 : request.position * first.size);
      if (!each(data, first.size)) return false;
    }
  }
  return true;
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
  const size_t before = bytes_.size();
  bytes_.resize(before + size);
  std::memcpy(bytes_.data() + before, data, size);
}

void KeyHead::Set(const RequestHeader& header) {
  bytes_.clear();
  bytes_.reserve(256);
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
  hasher_.Add(bytes_.data(), bytes_.size());
}

KeyHash KeyHead::HashOf(const Request& request) const {
  KeyHasher hasher = hasher_;
  ForChunks(request, [&](const char* data, size_t size) {
    hasher.Add(data, size);
    return true;
  });
  return hasher.Finish();
}

size_t KeyHead::SizeOf(const Request& request) const {
  size_t size = bytes_.size();
  for (const InputTensor& input : request.inputs()) size += input.byte_size();
  return size;
}

void KeyHead::Write(const Request& request, char* to) const {
  std::memcpy(to, bytes_.data(), bytes_.size());
  to += bytes_.size();
  ForChunks(request, [&](const char* data, size_t size) {
    std::memcpy(to, data, size);
    to += size;
    return true;
  });
}

bool KeyHead::Equals(const Request& request, std::span<const char> key) const {
  if (key.size() != SizeOf(request)) return false;
  if (std::memcmp(key.data(), bytes_.data(), bytes_.size()) != 0) return false;
  const char* next = key.data() + bytes_.size();
  return ForChunks(request, [&](const char* data, size_t size) {
    const bool equal = std::memcmp(next, data, size) == 0;
    next += size;
    return equal;
  });
}

}  // namespace tritonts
