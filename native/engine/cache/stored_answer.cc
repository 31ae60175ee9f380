#include "engine/cache/stored_answer.h"

#include <bit>
#include <cstring>
#include <limits>
#include <new>

#include "engine/cache/key_hash.h"

namespace tritonts {

static_assert(std::endian::native == std::endian::little, "stored answers are little endian");

namespace {

constexpr char kMagic[8] = {'t', 'r', 'i', 't', 'o', 'n', 't', 's'};
constexpr uint32_t kForm = 1;
// More dims than any tensor has.
constexpr uint32_t kMostDims = 64;

struct Head {
  char magic[8];
  uint32_t form;
  uint32_t outputs;
  uint64_t size;
  uint64_t key_size;
  uint64_t hash_low;
  uint64_t hash_high;
};
static_assert(sizeof(Head) == 48);
constexpr size_t kHashed = offsetof(Head, hash_low);

struct OutputHead {
  uint32_t index;
  uint32_t datatype;
  uint32_t dims;
  uint32_t zero;
  int64_t rows;
  uint64_t size;
};
static_assert(sizeof(OutputHead) == 32);

KeyHash HashOf(std::span<const char> stored) {
  KeyHasher hasher(kStoredSeed);
  hasher.Add(stored.data(), kHashed);
  hasher.Add(stored.data() + sizeof(Head), stored.size() - sizeof(Head));
  return hasher.Finish();
}

// Whether an element's length precedes each of so many elements, up to the last byte.
bool AreElements(const char* data, size_t size, uint64_t count) {
  size_t at = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint32_t length = 0;
    if (size - at < sizeof(length)) return false;
    std::memcpy(&length, data + at, sizeof(length));
    at += sizeof(length);
    if (size - at < length) return false;
    at += length;
  }
  return at == size;
}

// Whether an output may be one of a model with this `io` for a request of so many rows, and whether
// its bytes fit its shape.
bool Fits(const ModelIo& io, uint32_t rows, const OutputTensor& output) {
  if (output.index >= io.outputs.size()) return false;
  if (output.datatype != io.outputs[output.index].datatype) return false;
  if (output.batch >= 0 && (io.max_batch_size == 0 || output.batch != rows)) return false;
  if (output.size > kMostTensorBytes) return false;
  uint64_t elements = output.batch >= 0 ? static_cast<uint64_t>(output.batch) : 1;
  for (const int64_t dim : output.tail) {
    if (dim < 0) return false;
    if (dim > 0 && elements > kMostTensorBytes / static_cast<uint64_t>(dim)) return false;
    elements *= static_cast<uint64_t>(dim);
  }
  if (output.datatype == DataType::kBytes) {
    return AreElements(static_cast<const char*>(output.data), output.size, elements);
  }
  return elements * ByteSize(output.datatype) == output.size;
}

}  // namespace

size_t StoredAnswer::SizeOfKey(std::string_view identity, const KeyHead& head,
                               const Request& request) {
  return sizeof(Head) + sizeof(uint64_t) + identity.size() + head.SizeOf(request);
}

std::string StoredAnswer::Begin(std::string_view identity, const KeyHead& head,
                                const Request& request) noexcept {
  const size_t size = SizeOfKey(identity, head, request);
  std::string stored;
  try {
    stored.resize(size);
  } catch (const std::exception&) {
    return {};  // bad_alloc, or more bytes than a string may have
  }
  Head begin = {};
  std::memcpy(begin.magic, kMagic, sizeof(kMagic));
  begin.form = kForm;
  begin.key_size = size - sizeof(Head);
  char* to = stored.data();
  std::memcpy(to, &begin, sizeof(begin));
  to += sizeof(begin);
  const uint64_t length = identity.size();
  std::memcpy(to, &length, sizeof(length));
  to += sizeof(length);
  std::memcpy(to, identity.data(), identity.size());
  head.Write(request, to + identity.size());
  return stored;
}

bool StoredAnswer::Finish(const ModelIo& io, uint32_t rows, std::span<const OutputTensor> outputs,
                          size_t most, std::string* stored) noexcept {
  uint64_t size = stored->size();
  for (const OutputTensor& output : outputs) {
    if (output.tail.size() > kMostDims || !Fits(io, rows, output)) return false;
    size += sizeof(OutputHead) + output.tail.size() * sizeof(int64_t) + output.size;
    if (size > most) return false;
  }
  try {
    stored->reserve(size);
  } catch (const std::exception&) {
    return false;
  }
  const auto add = [stored](const void* data, size_t bytes) {
    if (bytes > 0) stored->append(static_cast<const char*>(data), bytes);
  };
  for (const OutputTensor& output : outputs) {
    const OutputHead begin = {output.index,
                              static_cast<uint32_t>(output.datatype),
                              static_cast<uint32_t>(output.tail.size()),
                              0,
                              output.batch >= 0 ? output.batch : -1,
                              output.size};
    add(&begin, sizeof(begin));
    add(output.tail.data(), output.tail.size() * sizeof(int64_t));
    add(output.data, output.size);
  }
  Head begin;
  std::memcpy(&begin, stored->data(), sizeof(begin));
  begin.outputs = static_cast<uint32_t>(outputs.size());
  begin.size = size;
  std::memcpy(stored->data(), &begin, sizeof(begin));
  const KeyHash hash = HashOf(*stored);
  begin.hash_low = hash.low;
  begin.hash_high = hash.high;
  std::memcpy(stored->data(), &begin, sizeof(begin));
  return true;
}

bool StoredAnswer::Read(std::span<const char> stored, std::string_view identity,
                        const KeyHead& head, const Request& request, const ModelIo& io) {
  outputs_.clear();
  dims_.clear();
  Head begin;
  if (stored.size() < sizeof(begin)) return false;
  std::memcpy(&begin, stored.data(), sizeof(begin));
  if (std::memcmp(begin.magic, kMagic, sizeof(kMagic)) != 0 || begin.form != kForm) return false;
  if (begin.size != stored.size() || begin.outputs > io.outputs.size()) return false;
  // The key, whose size must be that of the request's.
  if (begin.key_size != SizeOfKey(identity, head, request) - sizeof(Head)) return false;
  if (begin.key_size > stored.size() - sizeof(Head)) return false;
  std::span<const char> key = stored.subspan(sizeof(Head), begin.key_size);
  uint64_t length = 0;
  std::memcpy(&length, key.data(), sizeof(length));
  key = key.subspan(sizeof(length));
  if (length != identity.size() || std::memcmp(key.data(), identity.data(), length) != 0) {
    return false;
  }
  if (!head.Equals(request, key.subspan(length))) return false;
  const KeyHash hash = HashOf(stored);
  if (hash.low != begin.hash_low || hash.high != begin.hash_high) return false;
  // The hash is no proof: whoever writes to the cache can make one.
  std::span<const char> rest = stored.subspan(sizeof(Head) + begin.key_size);
  std::vector<size_t> first_dims;
  for (uint32_t i = 0; i < begin.outputs; i++) {
    OutputHead one;
    if (rest.size() < sizeof(one)) return false;
    std::memcpy(&one, rest.data(), sizeof(one));
    rest = rest.subspan(sizeof(one));
    if (one.dims > kMostDims || rest.size() < one.dims * sizeof(int64_t)) return false;
    if (one.datatype > std::numeric_limits<uint8_t>::max()) return false;
    OutputTensor& output = outputs_.emplace_back();
    output.index = one.index;
    output.datatype = static_cast<DataType>(one.datatype);
    output.batch = one.rows >= 0 ? one.rows : -1;
    const size_t known = dims_.size();
    first_dims.push_back(known);
    dims_.resize(known + one.dims);
    if (one.dims > 0) {
      std::memcpy(dims_.data() + known, rest.data(), one.dims * sizeof(int64_t));
    }
    rest = rest.subspan(one.dims * sizeof(int64_t));
    if (rest.size() < one.size) return false;
    output.data = rest.data();
    output.size = one.size;
    rest = rest.subspan(one.size);
  }
  if (!rest.empty()) return false;
  for (size_t i = 0; i < outputs_.size(); i++) {
    const size_t end = i + 1 < outputs_.size() ? first_dims[i + 1] : dims_.size();
    outputs_[i].tail = {dims_.data() + first_dims[i], end - first_dims[i]};
    if (!Fits(io, request.header->batch_size, outputs_[i])) return false;
    if (!request.header->Wants(outputs_[i].index)) return false;
    for (size_t k = 0; k < i; k++) {
      if (outputs_[k].index == outputs_[i].index) return false;
    }
  }
  return true;
}

}  // namespace tritonts
