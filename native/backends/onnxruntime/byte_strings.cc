#include "byte_strings.h"

#include <cstring>
#include <limits>
#include <string>

#include "../common/serialised.h"

namespace tritonts::onnxruntime {

Status ReadStrings(const Session& session, std::span<const char> bytes,
                   std::span<const int64_t> shape, OrtValue** value) {
  auto count = CountSerialised(bytes, shape);
  if (!count.ok()) return count.status();
  const Library& library = session.library();
  const Table& api = session.table();
  Status status = library.Take(api.Call(kCreateTensor, session.environment().allocator,
                                        shape.data(), shape.size(), ElementType::kString, value));
  if (!status.ok()) return status;
  return ReadSerialised(bytes, count.value(), [&](size_t i, std::span<const char> text) {
    char* element = nullptr;
    Status resized = library.Take(api.Call(kResizeStringElement, *value, i, text.size(), &element));
    if (resized.ok() && !text.empty()) std::memcpy(element, text.data(), text.size());
    return resized;
  });
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
