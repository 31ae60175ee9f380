#include "engine/request/shape_values.h"

#include <cstring>

#include "engine/memory/memory_copier.h"

namespace tritonts {

int64_t ShapeValueAt(const void* data, DataType datatype, size_t index) {
  const char* const at = static_cast<const char*>(data) + index * ByteSize(datatype);
  if (datatype == DataType::kInt64) {
    int64_t value = 0;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  int32_t value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

void SetShapeValue(void* data, DataType datatype, size_t index, int64_t value) {
  char* const at = static_cast<char*>(data) + index * ByteSize(datatype);
  if (datatype == DataType::kInt64) {
    std::memcpy(at, &value, sizeof(value));
    return;
  }
  const auto narrow = static_cast<int32_t>(value);
  std::memcpy(at, &narrow, sizeof(narrow));
}

bool CopyShapeValues(const Request& request, const InputTensor& input, void* to) {
  char* at = static_cast<char*>(to);
  for (size_t i = 0; i < input.first_chunks.size(); i++) {
    if (request.released) return false;
    const Buffer chunk = request.chunk(input, i);
    if (chunk.size == 0) continue;
    if (!IsHostMemory(chunk.kind)) return false;
    std::memcpy(at, chunk.data, chunk.size);
    at += chunk.size;
  }
  return true;
}

void AppendShapeValues(const RequestHeader& header, uint32_t index, size_t first,
                       std::vector<int64_t>* values) {
  const InputTensor* const input = header.input(index);
  const size_t width = input ? ByteSize(input->datatype) : 0;
  char element[sizeof(int64_t)] = {};
  size_t filled = 0;
  size_t number = 0;
  // A value may span several chunks.
  for (size_t i = 0; width > 0 && i < input->first_chunks.size(); i++) {
    const Buffer& chunk = input->first_chunks[i];
    if (!IsHostMemory(chunk.kind)) return;
    for (size_t at = 0; at < chunk.size; at++) {
      element[filled++] = static_cast<const char*>(chunk.data)[at];
      if (filled < width) continue;
      filled = 0;
      if (number++ >= first) values->push_back(ShapeValueAt(element, input->datatype, 0));
    }
  }
}

}  // namespace tritonts
