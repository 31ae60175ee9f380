#include "byte_strings.h"

#include <cstring>
#include <limits>
#include <string>

namespace tritonts::onnxruntime {

namespace {

constexpr size_t kLengthBytes = 4;

uint32_t ReadLength(const char* bytes) {
  const auto* digits = reinterpret_cast<const unsigned char*>(bytes);
  return static_cast<uint32_t>(digits[0]) | static_cast<uint32_t>(digits[1]) << 8 |
         static_cast<uint32_t>(digits[2]) << 16 | static_cast<uint32_t>(digits[3]) << 24;
}

void WriteLength(char* bytes, uint32_t length) {
  for (size_t i = 0; i < kLengthBytes; i++) bytes[i] = static_cast<char>(length >> (8 * i) & 0xff);
}

// The number of elements of a shape, or `limit` + 1 if that is greater than `limit`.
size_t CountUpTo(std::span<const int64_t> shape, size_t limit) {
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

}  // namespace

Status ReadStrings(const Session& session, std::span<const char> bytes,
                   std::span<const int64_t> shape, OrtValue** value) {
  // Each element takes at least the bytes of its length field, so a wrong shape cannot allocate
  // much memory.
  const size_t most = bytes.size() / kLengthBytes;
  const size_t count = CountUpTo(shape, most);
  if (count > most) {
    return Status::InvalidArg("its shape has more elements than its " +
                              std::to_string(bytes.size()) + " bytes can hold");
  }
  const Library& library = session.library();
  const Table& api = session.table();
  Status status = library.Take(api.Call(kCreateTensor, session.environment().allocator,
                                        shape.data(), shape.size(), ElementType::kString, value));
  size_t position = 0;
  for (size_t i = 0; status.ok() && i < count; i++) {
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
    char* element = nullptr;
    status = library.Take(api.Call(kResizeStringElement, *value, i, length, &element));
    if (status.ok() && length > 0) std::memcpy(element, bytes.data() + position, length);
    position += length;
  }
  if (status.ok() && position != bytes.size()) {
    return Status::InvalidArg(std::to_string(bytes.size() - position) + " bytes are left after " +
                              std::to_string(count) + " elements");
  }
  return status;
}

Status WriteStrings(const Session& session, Run& run, const OrtValue* value, size_t count,
                    size_t rows, SerialisedStrings* out) {
  const Library& library = session.library();
  const Table& api = session.table();
  size_t text = 0;
  Status status = library.Take(api.Call(kGetStringsLength, value, &text));
  if (!status.ok()) return status;
  const size_t lengths = count * kLengthBytes;
  out->size = lengths + text;
  out->block = run.pool().Acquire(out->size);
  if (!out->block) {
    return Status::Unavailable(Reason::kNoMemory,
                               "no memory for " + std::to_string(out->size) + " bytes of strings");
  }
  char* data = static_cast<char*>(out->block->data());
  auto& offsets = out->element_offsets;
  offsets.resize(count + 1);
  offsets[count] = text;
  if (count > 0) {
    // The strings are first written behind the space for all lengths. Then each can be moved
    // forward without overwriting the next.
    status =
        library.Take(api.Call(kGetStrings, value, data + lengths, text, offsets.data(), count));
    if (!status.ok()) return status;
  }
  out->row_offsets.resize(rows + 1);
  const size_t row_elements = rows > 0 ? count / rows : 0;
  for (size_t row = 0; row <= rows; row++) {
    const size_t first = row * row_elements;
    out->row_offsets[row] = first * kLengthBytes + offsets[first];
  }
  for (size_t i = 0; i < count; i++) {
    const size_t length = offsets[i + 1] - offsets[i];
    if (length > std::numeric_limits<uint32_t>::max()) {
      return Status::Internal("element " + std::to_string(i) + " has " + std::to_string(length) +
                              " bytes, more than a BYTES element can have");
    }
    char* target = data + i * kLengthBytes + offsets[i];
    std::memmove(target + kLengthBytes, data + lengths + offsets[i], length);
    WriteLength(target, static_cast<uint32_t>(length));
  }
  return Status::Ok();
}

}  // namespace tritonts::onnxruntime
